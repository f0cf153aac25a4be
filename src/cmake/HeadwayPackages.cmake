# `make packages`: Debian packages of the components that were built. dpkg-shlibdeps finds what a package's files are
# linked with. What is loaded by name is listed here.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headway)
set(CPACK_PACKAGE_CONTACT "Headway contributors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENTS_ALL program development)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME headway)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "theory solver and sampler for attention networks
 The program headway, its studies and the data that they read.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "headway-training, python3-headway")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libheadway-dev)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "theory solver and sampler for attention networks (library)
 Headers, static libraries and the files that find_package(headway) reads.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "g++, libeigen3-dev, libceres-dev, libboost-dev, libopenblas-pthread-dev, libfmt-dev, libhdf5-dev, libpng-dev, zlib1g-dev, libzip-dev, libtomlplusplus-dev, nlohmann-json3-dev")

if(TARGET headway_torch)
  list(APPEND CPACK_COMPONENTS_ALL training)
  set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME headway-training)
  set(CPACK_COMPONENT_TRAINING_DESCRIPTION "training engine of headway
 What headway train needs: fused attention kernels on LibTorch.")
  set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS "headway (= ${PROJECT_VERSION})")
endif()
if(TARGET headway_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME headway-mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "headway over several machines
 What mpirun -n R headway needs.")
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "headway (= ${PROJECT_VERSION}), openmpi-bin")
endif()
if(HEADWAY_PYTHON_FOLDER)  # the package is there
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-headway)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "what attention networks learn: headway in Python
 Computes on arrays in memory, reads, tabulates and draws results of headway.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "headway (= ${PROJECT_VERSION}), python3-numpy, python3-h5py, python3-matplotlib, ${HEADWAY_PYTHON_NEEDED}")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-tqdm, python3-sklearn")
endif()
# Debian looks for the licence in a folder of each package's own. `cmake --install` of everything leaves them out.
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
endforeach()
include(CPack)

set(packaged ${targets})
foreach(target headway_cli headway_python)
  if(TARGET ${target})
    list(APPEND packaged ${target})
  endif()
endforeach()
add_custom_target(headway_packaged DEPENDS ${packaged})
