# SPDX-License-Identifier: Apache-2.0
# test_cache removes files just before they get their names, as another process may.
target_link_options(test_cache PRIVATE -Wl,--wrap=rename)
