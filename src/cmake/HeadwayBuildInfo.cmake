# Version, commit and build type as one generated source of the module results, refreshed at every build.
set(build_info_source ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
add_custom_target(headway_build_info
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${build_info_source}
          -DHEADWAY_VERSION=${PROJECT_VERSION} -DHEADWAY_BUILD_TYPE=${CMAKE_BUILD_TYPE}
          -P ${PROJECT_SOURCE_DIR}/src/cmake/build_info.cmake
  BYPRODUCTS ${build_info_source} COMMENT "" VERBATIM)
target_sources(headway_results PRIVATE ${build_info_source})
add_dependencies(headway_results headway_build_info)
