# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers, for the project's own targets only.
add_library(assay-flags INTERFACE)
target_compile_options(assay-flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wno-unknown-pragmas -fvisibility=hidden)
target_compile_definitions(assay-flags INTERFACE _GNU_SOURCE)
if(ASSAY_WERROR)
  target_compile_options(assay-flags INTERFACE -Werror)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay-flags INTERFACE -fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(assay-flags INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_FUZZ)
  # Coverage in the libraries too: without it the fuzzer is blind to all but its own entry.
  target_compile_options(assay-flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
