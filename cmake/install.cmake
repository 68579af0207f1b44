# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the program with its man page and suites; the engine as a library, with its headers and
# a pkg-config file. Of the lab's library include/assay/profile.h alone is public.
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS assay-engine assay-lab ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
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
