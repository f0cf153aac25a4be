# Install and find_package(headway): headers, one library per module, the program, the shipped studies.
include(CMakePackageConfigHelpers)
get_property(modules GLOBAL PROPERTY HEADWAY_MODULES)
list(TRANSFORM modules PREPEND headway_ OUTPUT_VARIABLE targets)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headway)
install(TARGETS ${targets} EXPORT headwayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT headwayTargets NAMESPACE headway:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/headway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/studies ${PROJECT_SOURCE_DIR}/data/omniglot
                  ${PROJECT_SOURCE_DIR}/data/digits ${PROJECT_SOURCE_DIR}/data/texts DESTINATION ${CMAKE_INSTALL_DATADIR}/headway)
configure_package_config_file(${PROJECT_SOURCE_DIR}/src/cmake/headwayConfig.cmake.in headwayConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(headwayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headwayConfig.cmake ${PROJECT_BINARY_DIR}/headwayConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/src/cmake/HeadwayFindOpenBlas.cmake ${PROJECT_SOURCE_DIR}/src/cmake/HeadwayFindHdf5.cmake
              ${PROJECT_SOURCE_DIR}/src/cmake/HeadwayFindLibzip.cmake
        DESTINATION ${package_dir})
