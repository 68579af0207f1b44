# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the program with its man page and suites; the engine as a library, with its headers and
# a pkg-config file. Of the lab's library include/assay/profile.h alone is public.
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# One library of both, made then (cmake/library.cmake). With -flto it holds machine code all the same, for any compiler to link.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
separate_arguments(library_link UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND library_link -flinker-output=nolto-rel)
endif()
file(GLOB public_headers CONFIGURE_DEPENDS include/assay/*.h)
install(CODE "
  set(ASSAY_ARCHIVES \"$<TARGET_FILE:assay-lab>;$<TARGET_FILE:assay-engine>\")
  set(ASSAY_HEADERS \"${public_headers}\")
  set(ASSAY_LIBRARY \"${CMAKE_CURRENT_BINARY_DIR}/libassay.a\")
  set(ASSAY_LINK \"${CMAKE_C_COMPILER};${library_link}\")
  set(ASSAY_OBJCOPY \"${CMAKE_OBJCOPY}\")
  set(ASSAY_AR \"${CMAKE_AR}\")
  include(\"${CMAKE_CURRENT_SOURCE_DIR}/cmake/library.cmake\")")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libassay.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY suites/ DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/suites)
install(FILES docs/assay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/record.schema.json docs/utilization.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/assay)

# The prefix that `cmake --install --prefix` names is known only when it runs, so the file is made then.
set(ASSAY_AT "@")
configure_file(cmake/assay.pc.in assay.pc.template @ONLY)
install(CODE "
  set(ASSAY_PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
  configure_file(\"${CMAKE_CURRENT_BINARY_DIR}/assay.pc.template\" \"${CMAKE_CURRENT_BINARY_DIR}/assay.pc\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
