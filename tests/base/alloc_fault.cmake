# SPDX-License-Identifier: Apache-2.0
# The programs that make allocations fail (tests/alloc_fault.h).
foreach(program test_base_memory test_lab_memory)
  target_link_options(${program} PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=strdup)
endforeach()
