# SPDX-License-Identifier: Apache-2.0
# The example plug-in and the faulty ones, where the tests of tests/cli find them.
set(ASSAY_PLUGIN_DIR ${CMAKE_CURRENT_BINARY_DIR}/plugins)
add_subdirectory(${CMAKE_SOURCE_DIR}/examples/plugin ${ASSAY_PLUGIN_DIR}/example)

# Not linked with a sanitizer: a plug-in is somebody else's code, and its crash must be a crash.
foreach(fault wrong_abi refuses crashes_loading prepare_crashes run_crashes hangs eats_memory wrong_result unwritten
    exits unsupported short_table bad_name prints no_room output_fails keeps_program close_crashes release_crashes no_status
    no_message bad_message output_breaks output_of_nothing output_without_sizes odd_precision
    writes_behind writes_before harms_others
    writes_input wrong_later skips_later keeps_result does_nothing)
  string(TOUPPER ${fault} constant)
  add_library(plugin_${fault} MODULE ${CMAKE_CURRENT_LIST_DIR}/faulty.c)
  target_compile_definitions(plugin_${fault} PRIVATE FAULT=FAULT_${constant} NAME="${fault}" _GNU_SOURCE)
  target_compile_options(plugin_${fault} PRIVATE -Wall -Wextra -fvisibility=hidden)
  target_include_directories(plugin_${fault} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(plugin_${fault} PROPERTIES PREFIX "" OUTPUT_NAME ${fault} LIBRARY_OUTPUT_DIRECTORY ${ASSAY_PLUGIN_DIR})
endforeach()
add_library(plugin_no_entry MODULE ${CMAKE_CURRENT_LIST_DIR}/no_entry.c)
set_target_properties(plugin_no_entry PROPERTIES PREFIX "" OUTPUT_NAME no_entry LIBRARY_OUTPUT_DIRECTORY ${ASSAY_PLUGIN_DIR})

# The part of the torch plug-in that knows nothing of PyTorch, in a plug-in of its own. The tests of it skip without C++.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  add_library(plugin_asks_helper MODULE ${CMAKE_CURRENT_LIST_DIR}/asks_helper.cpp ${CMAKE_SOURCE_DIR}/plugins/torch/helper.cpp)
  target_compile_features(plugin_asks_helper PRIVATE cxx_std_20)
  target_compile_options(plugin_asks_helper PRIVATE -Wall -Wextra -fvisibility=hidden)
  target_include_directories(plugin_asks_helper PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/plugins/torch)
  set_target_properties(plugin_asks_helper PROPERTIES PREFIX "" OUTPUT_NAME asks_helper LIBRARY_OUTPUT_DIRECTORY ${ASSAY_PLUGIN_DIR})
endif()
