# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where.
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS assay-engine assay-lab ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY suites/ DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/suites)
