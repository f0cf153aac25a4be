# Defines headway::hdf5, the serial C library of HDF5. Used by Headway's own build and, installed beside
# headwayConfig.cmake, by its users. CMake's FindHDF5 needs the C language enabled and drags in HDF5's own
# dependencies; a shared libhdf5 needs neither.
if(NOT TARGET headway::hdf5)
  find_library(HEADWAY_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
  find_path(HEADWAY_HDF5_INCLUDE_DIR NAMES hdf5.h PATH_SUFFIXES hdf5/serial)
  mark_as_advanced(HEADWAY_HDF5_LIBRARY HEADWAY_HDF5_INCLUDE_DIR)
  if(NOT HEADWAY_HDF5_LIBRARY OR NOT HEADWAY_HDF5_INCLUDE_DIR)
    message(FATAL_ERROR "HDF5 is missing. Debian and Ubuntu: apt-get install libhdf5-dev; "
                        "elsewhere set HEADWAY_HDF5_LIBRARY and HEADWAY_HDF5_INCLUDE_DIR.")
  endif()
  add_library(headway::hdf5 INTERFACE IMPORTED)
  set_target_properties(headway::hdf5 PROPERTIES
    INTERFACE_LINK_LIBRARIES ${HEADWAY_HDF5_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${HEADWAY_HDF5_INCLUDE_DIR})
endif()
