# The one mechanical step after linking (cmake -P), on the glue that emcc wrote. It stops the build when it finds nothing
# to do, so a newer emcc that writes other glue is noticed.
file(READ ${GLUE} glue)

function(replace_in_glue from to)
  string(FIND "${glue}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${GLUE}: no '${from}' to replace; has emcc's glue changed?")
  endif()
  string(REPLACE "${from}" "${to}" glue "${glue}")
  set(glue "${glue}" PARENT_SCOPE)
endfunction()

# Bundlers read the options of `new Worker` from the source text and refuse a variable (emscripten#22394).
if(THREADS)
  string(REGEX MATCH "var workerOptions ?= ?({[^}]*})" found "${glue}")
  if(NOT found)
    message(FATAL_ERROR "${GLUE}: no workerOptions; has emcc's glue changed?")
  endif()
  set(options "${CMAKE_MATCH_1}")
  replace_in_glue(",workerOptions)" ",${options})")
endif()

# Both glues load the same module, under the web's name.
if(NOT NAME STREQUAL "lookback")
  replace_in_glue("${NAME}.wasm" "lookback.wasm")
endif()
# tsc follows imports into the glue, which was not written for it.
string(PREPEND glue "// @ts-nocheck\n")
file(WRITE ${GLUE} "${glue}")
