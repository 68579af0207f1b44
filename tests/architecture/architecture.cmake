# SPDX-License-Identifier: Apache-2.0
# Who may include whom, and what every file must have.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME architecture/plan COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_architecture.py
    ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(architecture/plan PROPERTIES LABELS architecture TIMEOUT 120)
endif()

if(Python3_FOUND AND CMAKE_NM)
  foreach(target assay-engine assay-lab assay)
    list(APPEND architecture_objects "$<JOIN:$<TARGET_OBJECTS:${target}>,\n>")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/objects.txt CONTENT "$<JOIN:${architecture_objects},\n>\n$<JOIN:${isa_objects},\n>\n")
  add_test(NAME architecture/circles COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_circles.py ${CMAKE_NM}
    ${CMAKE_BINARY_DIR}/objects.txt)
  set_tests_properties(architecture/circles PROPERTIES LABELS architecture TIMEOUT 120)
endif()

# Most builds are by gcc: what clang has to say is asked of clang.
find_program(ASSAY_CLANG clang)
if(Python3_FOUND)
  add_test(NAME architecture/clang COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_clang.py "${ASSAY_CLANG}"
    ${CMAKE_BINARY_DIR}/compile_commands.json)
  set_tests_properties(architecture/clang PROPERTIES LABELS architecture TIMEOUT 600 SKIP_REGULAR_EXPRESSION "skipped: ")
endif()
