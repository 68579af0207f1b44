# SPDX-License-Identifier: Apache-2.0
# What a call through the C API costs in instructions. Not under a sanitizer: its instructions are not the engine's.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND AND NOT ASSAY_SANITIZE)
  add_executable(callgrind_add engine/callgrind_add.c)
  target_link_libraries(callgrind_add PRIVATE assay-flags assay-engine)
  add_test(NAME engine/callgrind_add COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/callgrind_add.py
    $<TARGET_FILE:callgrind_add> 500)
  set_tests_properties(engine/callgrind_add PROPERTIES LABELS engine TIMEOUT 120 SKIP_RETURN_CODE 77)
endif()
