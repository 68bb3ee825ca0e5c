# Header-only libraries from the system: Eigen (reference and small dense algebra), nlohmann/json (JSON headers and
# config.json), SIMDe (tests only: the wasm intrinsics on the native machine). They are looked up on the build machine in
# cross builds too. /usr/include itself must not reach emcc, so each goes through a folder of links.
set(lookback_third_party ${CMAKE_BINARY_DIR}/third_party)
file(MAKE_DIRECTORY ${lookback_third_party})

function(lookback_header_library name marker)
  find_path(LOOKBACK_${name}_INCLUDE ${marker} PATHS /usr/include/eigen3 /usr/include /usr/local/include
            NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  string(REGEX REPLACE "/.*" "" top ${marker})
  file(MAKE_DIRECTORY ${lookback_third_party}/${name})
  file(CREATE_LINK ${LOOKBACK_${name}_INCLUDE}/${top} ${lookback_third_party}/${name}/${top} SYMBOLIC)
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE ${lookback_third_party}/${name})
endfunction()

lookback_header_library(eigen Eigen/Core)
target_compile_definitions(eigen INTERFACE EIGEN_MPL2_ONLY EIGEN_NO_IO)
lookback_header_library(nlohmann_json nlohmann/json.hpp)
target_compile_definitions(nlohmann_json INTERFACE JSON_NO_IO)
if(NOT EMSCRIPTEN)
  lookback_header_library(simde simde/wasm/simd128.h)
endif()

find_package(Threads)
