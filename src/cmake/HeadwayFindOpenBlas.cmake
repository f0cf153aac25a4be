# Defines headway::openblas. Used by Headway's own build and, installed beside headwayConfig.cmake, by its users.
#
# OpenBLAS by name, not "any BLAS": the reference BLAS is about 30 times slower and would be picked up silently.
if(NOT TARGET headway::openblas)
  set(headway_openblas_flavours openblas-pthread openblas-openmp openblas-serial openblas)
  find_library(HEADWAY_OPENBLAS_LIBRARY NAMES openblas PATH_SUFFIXES ${headway_openblas_flavours})
  set(headway_openblas_suffixes ${headway_openblas_flavours})
  if(CMAKE_LIBRARY_ARCHITECTURE)  # Debian keeps each flavour's cblas.h under include/<architecture>/<flavour>
    list(TRANSFORM headway_openblas_flavours PREPEND ${CMAKE_LIBRARY_ARCHITECTURE}/
         OUTPUT_VARIABLE headway_openblas_multiarch)
    list(PREPEND headway_openblas_suffixes ${headway_openblas_multiarch})
  endif()
  find_path(HEADWAY_OPENBLAS_INCLUDE_DIR NAMES openblas_config.h PATH_SUFFIXES ${headway_openblas_suffixes})
  mark_as_advanced(HEADWAY_OPENBLAS_LIBRARY HEADWAY_OPENBLAS_INCLUDE_DIR)
  if(NOT HEADWAY_OPENBLAS_LIBRARY OR NOT HEADWAY_OPENBLAS_INCLUDE_DIR)
    message(FATAL_ERROR "OpenBLAS is missing. Debian and Ubuntu: apt-get install libopenblas-pthread-dev; "
                        "elsewhere set HEADWAY_OPENBLAS_LIBRARY and HEADWAY_OPENBLAS_INCLUDE_DIR.")
  endif()
  add_library(headway::openblas INTERFACE IMPORTED)
  set_target_properties(headway::openblas PROPERTIES
    INTERFACE_LINK_LIBRARIES ${HEADWAY_OPENBLAS_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${HEADWAY_OPENBLAS_INCLUDE_DIR})
endif()
