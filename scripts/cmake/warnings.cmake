# Warnings of our own targets; libraries come in as SYSTEM and stay silent.
add_library(lookback_warnings INTERFACE)
target_compile_options(lookback_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
# The core reports by Result and CHECK, natively as in wasm, so that the tests run what ships.
target_compile_options(lookback_warnings INTERFACE -fno-exceptions)
