# SPDX-License-Identifier: Apache-2.0
# The example plug-in and the faulty ones, where the tests of tests/cli find them.
set(ASSAY_PLUGIN_DIR ${CMAKE_CURRENT_BINARY_DIR}/plugins)
add_subdirectory(${CMAKE_SOURCE_DIR}/examples/plugin ${ASSAY_PLUGIN_DIR}/example)

# Not linked with a sanitizer: a plug-in is somebody else's code, and its crash must be a crash.
function(assay_faulty_plugin file fault name)
  string(TOUPPER ${fault} constant)
  add_library(plugin_${file} MODULE ${CMAKE_CURRENT_LIST_DIR}/faulty.c)
  target_compile_definitions(plugin_${file} PRIVATE FAULT=FAULT_${constant} NAME="${name}" _GNU_SOURCE)
  target_compile_options(plugin_${file} PRIVATE -Wall -Wextra -fvisibility=hidden)
  target_include_directories(plugin_${file} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(plugin_${file} PROPERTIES PREFIX "" OUTPUT_NAME ${file} LIBRARY_OUTPUT_DIRECTORY ${ASSAY_PLUGIN_DIR})
endfunction()
foreach(fault wrong_abi refuses crashes_loading hangs_loading prepare_crashes run_crashes hangs eats_memory wrong_result unwritten
    exits unsupported short_table bad_name prints no_room output_fails keeps_program close_crashes crashes_later
    does_nothing mask_unwritten release_crashes no_status no_message bad_message output_breaks output_of_nothing
    output_without_sizes odd_precision writes_behind writes_before harms_others
    writes_input wrong_later skips_later keeps_result)
  assay_faulty_plugin(${fault} ${fault} ${fault})
endforeach()
foreach(twin a b) # names that differ where those of files are cut
  assay_faulty_plugin(long_name_${twin} keeps_program
    a_name_of_more_than_sixty_four_characters_which_are_alike_but_for_the_last_one_${twin})
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
  add_library(plugin_circumstances MODULE ${CMAKE_CURRENT_LIST_DIR}/circumstances_text.cpp ${CMAKE_SOURCE_DIR}/plugins/torch/circumstances.cpp)
  target_compile_features(plugin_circumstances PRIVATE cxx_std_20)
  target_compile_options(plugin_circumstances PRIVATE -Wall -Wextra)
  target_include_directories(plugin_circumstances PRIVATE ${CMAKE_SOURCE_DIR}/plugins/torch)
  set_target_properties(plugin_circumstances PROPERTIES PREFIX "" OUTPUT_NAME circumstances LIBRARY_OUTPUT_DIRECTORY ${ASSAY_PLUGIN_DIR})
endif()
