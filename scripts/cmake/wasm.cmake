# Everything that is special about Emscripten builds, in one place.
if(EMSCRIPTEN)
  add_compile_options(-msimd128)
  if(LOOKBACK_RELAXED_SIMD)
    add_compile_options(-mrelaxed-simd)
    # Node 20 runs relaxed SIMD only when told to; later ones do it anyway and may not know the flag.
    set(relaxed_flag --experimental-wasm-relaxed-simd)
    execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${relaxed_flag} --version OUTPUT_QUIET ERROR_QUIET
                    RESULT_VARIABLE relaxed_flag_unknown)
    if(NOT relaxed_flag_unknown)
      list(APPEND CMAKE_CROSSCOMPILING_EMULATOR ${relaxed_flag})
    endif()
  endif()
  if(LOOKBACK_THREADS)
    add_compile_options(-pthread)
    add_link_options(-pthread)
  endif()
endif()

# Test programs are CommonJS; without this, Node would go by the type that the repository's own package.json states.
if(EMSCRIPTEN)
  file(WRITE ${CMAKE_BINARY_DIR}/package.json "{ \"type\": \"commonjs\" }\n")
endif()

# lookback_wasm_test: a test program for Node. Tests read files, so they get Node's file system; growth stays on
# except with threads, where a growable shared memory would slow every access from JavaScript.
function(lookback_wasm_test target)
  if(NOT EMSCRIPTEN)
    return()
  endif()
  # Objects are compiled as they ship; folding each test program once more would only cost minutes.
  target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_options(${target} PRIVATE -sNODERAWFS=1 -sEXIT_RUNTIME=1 -sSTACK_SIZE=1MB -sABORTING_MALLOC=0)
  if(LOOKBACK_THREADS)
    target_link_options(${target} PRIVATE -sINITIAL_MEMORY=1GB -sPTHREAD_POOL_SIZE=4)
  else()
    target_link_options(${target} PRIVATE -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=2GB)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_link_options(${target} PRIVATE -sASSERTIONS=2 -sSTACK_OVERFLOW_CHECK=2)
  endif()
endfunction()

# lookback_wasm_glue(TARGET NAME ENVIRONMENT): one JavaScript module around the core. Glue for the web and glue for Node
# differ; the .wasm is the same.
function(lookback_wasm_glue target name environment)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SUFFIX .mjs RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/wasm)
  target_link_options(${target} PRIVATE
    -lembind -sMODULARIZE=1 -sEXPORT_ES6=1 -sENVIRONMENT=${environment} -sDYNAMIC_EXECUTION=0 -sFILESYSTEM=0
    -sMALLOC=emmalloc -sABORTING_MALLOC=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=2GB -sSTACK_SIZE=1MB
    -sMEMORY_GROWTH_GEOMETRIC_STEP=0.03)  # a fifth, the default, would be 40 MB that nobody uses
  # The border copies; it computes nothing. Binaryen may fold for size too: the kernels' loops come out of LLVM as they run.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Oz>)
  target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-Oz>)
  if(LOOKBACK_THREADS)
    # JavaScript makes the shared memory and says how many threads; a pool that is too small must fail, not wait for a
    # worker that the blocked caller would have to start. Growth is on so that the memory may have any size.
    # PThread lets a disposed engine end its threads.
    target_link_options(${target} PRIVATE -sPTHREAD_POOL_SIZE=Module.threads -sPTHREAD_POOL_SIZE_STRICT=2 -sEXPORTED_RUNTIME_METHODS=PThread
      -sDEFAULT_PTHREAD_STACK_SIZE=256KB -Wno-pthreads-mem-growth)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_link_options(${target} PRIVATE -sASSERTIONS=2 -sSTACK_OVERFLOW_CHECK=2)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -D GLUE=$<TARGET_FILE:${target}> -D NAME=${name} -D ENVIRONMENT=${environment}
            -D THREADS=${LOOKBACK_THREADS} -P ${CMAKE_SOURCE_DIR}/scripts/cmake/post_link.cmake)
endfunction()
