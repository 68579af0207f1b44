# SPDX-License-Identifier: Apache-2.0
# The JSON of `assay utilization` against its schema, where Python can check one.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME cli/utilization_schema COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/utilization_schema.py
    $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR}/docs/utilization.schema.json ${ASSAY_TEST_DATA})
  set_tests_properties(cli/utilization_schema PROPERTIES LABELS cli TIMEOUT 120 SKIP_RETURN_CODE 77)
endif()
