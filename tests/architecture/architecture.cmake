# SPDX-License-Identifier: Apache-2.0
# Who may include whom, and what every file must have.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME architecture/plan COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_architecture.py
    ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(architecture/plan PROPERTIES LABELS architecture TIMEOUT 120)
endif()
