# LOOKBACK_SANITIZE (for example "address,undefined") reaches every target, tests and gtest included.
if(LOOKBACK_SANITIZE)
  add_compile_options(-fsanitize=${LOOKBACK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOOKBACK_SANITIZE})
endif()
# The code under libFuzzer counts its own edges; only the fuzz targets link the fuzzer's main.
if(LOOKBACK_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
