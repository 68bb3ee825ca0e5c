# lookback_layer(NAME SOURCES … LINKS …): one static library per folder of src, seeing only the folders it names.
function(lookback_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(lookback_${name} STATIC ${ARG_SOURCES})
  target_include_directories(lookback_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(lookback_${name} PRIVATE lookback_warnings)
  # Time is spent in the kernels; all the rest is download.
  if(EMSCRIPTEN AND NOT name STREQUAL "kernels")
    target_compile_options(lookback_${name} PRIVATE $<$<CONFIG:Release>:-Oz>)
  endif()
  foreach(link IN LISTS ARG_LINKS)
    target_link_libraries(lookback_${name} PUBLIC ${link})
  endforeach()
endfunction()
