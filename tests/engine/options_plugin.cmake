# SPDX-License-Identifier: Apache-2.0
# Plug-ins that take options, for the test of how options reach them.
# Two plug-ins of one source: one that takes options, one whose table has the ABI's first length.
foreach(which new old)
  add_library(options_plugin_${which} MODULE ${CMAKE_CURRENT_LIST_DIR}/options_plugin.c)
  set_target_properties(options_plugin_${which} PROPERTIES PREFIX "")
  target_include_directories(options_plugin_${which} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(options_plugin_${which} PRIVATE assay-flags)
endforeach()
target_compile_definitions(options_plugin_old PRIVATE FIRST_LENGTH)
add_dependencies(test_plugin_options options_plugin_new options_plugin_old)
target_compile_definitions(test_plugin_options PRIVATE NEW_PLUGIN="$<TARGET_FILE:options_plugin_new>"
  OLD_PLUGIN="$<TARGET_FILE:options_plugin_old>")
