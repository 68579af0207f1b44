# SPDX-License-Identifier: Apache-2.0
# Lets the test fail the libraries' allocations (see the test).
target_link_options(test_inputs_memory PRIVATE -Wl,--wrap=malloc,--wrap=realloc)
