# SPDX-License-Identifier: Apache-2.0
# The tests of the program as a user runs it: one per tests/cli/test_*.py. They need Python, without packages.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(test ${cli_tests})
    get_filename_component(name ${test} NAME_WE)
    add_test(NAME cli/${name} COMMAND ${Python3_EXECUTABLE} -B ${test} $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR}
      ${CMAKE_CURRENT_BINARY_DIR}/plugins "${ASSAY_SANITIZE}")
    set_tests_properties(cli/${name} PROPERTIES LABELS cli TIMEOUT 600)
  endforeach()
endif()
