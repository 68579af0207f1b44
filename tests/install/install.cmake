# SPDX-License-Identifier: Apache-2.0
# Installing, and the man page. A library built with a sanitizer would ask its user for the sanitizer too.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND AND NOT ASSAY_SANITIZE)
  add_test(NAME install/check_install COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_install.py
    ${CMAKE_COMMAND} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(install/check_install PROPERTIES LABELS install TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
add_test(NAME install/man_page COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/check_man_page.sh $<TARGET_FILE:assay>
  ${CMAKE_SOURCE_DIR}/docs/assay.1)
set_tests_properties(install/man_page PROPERTIES LABELS install TIMEOUT 60 SKIP_RETURN_CODE 77)
