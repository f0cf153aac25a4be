# Install and find_package(headway): the program and what it reads (component program), the training engine and MPI in
# components of their own, the Python package (python), headers and one library per module (development).
include(CMakePackageConfigHelpers)
get_property(modules GLOBAL PROPERTY HEADWAY_MODULES)
list(TRANSFORM modules PREPEND headway_ OUTPUT_VARIABLE targets)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headway)
install(TARGETS ${targets} EXPORT headwayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT headwayTargets NAMESPACE headway:: DESTINATION ${package_dir} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/headway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/src/cmake/headwayConfig.cmake.in headwayConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(headwayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headwayConfig.cmake ${PROJECT_BINARY_DIR}/headwayConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/src/cmake/HeadwayFindOpenBlas.cmake ${PROJECT_SOURCE_DIR}/src/cmake/HeadwayFindHdf5.cmake
              ${PROJECT_SOURCE_DIR}/src/cmake/HeadwayFindLibzip.cmake
        DESTINATION ${package_dir} COMPONENT development)

# Studies and the data that they name. own_prefix() of core says where programs and packages look for them.
foreach(folder studies omniglot digits texts)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/headway COMPONENT program)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/CITATION.cff ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
include(HeadwayPackages)
