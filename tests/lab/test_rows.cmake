# SPDX-License-Identifier: Apache-2.0
# Every row on every input: about a minute of one core, several under a sanitizer.
set_tests_properties(lab/test_rows PROPERTIES TIMEOUT 1800)
