# Defines headway::libzip. Used by Headway's own build and, installed beside headwayConfig.cmake, by its users.
# Debian's libzip-config.cmake fails unless libzip's command-line tools are installed too, so it is not used.
if(NOT TARGET headway::libzip)
  find_library(HEADWAY_LIBZIP_LIBRARY NAMES zip)
  find_path(HEADWAY_LIBZIP_INCLUDE_DIR NAMES zip.h)
  mark_as_advanced(HEADWAY_LIBZIP_LIBRARY HEADWAY_LIBZIP_INCLUDE_DIR)
  if(NOT HEADWAY_LIBZIP_LIBRARY OR NOT HEADWAY_LIBZIP_INCLUDE_DIR)
    message(FATAL_ERROR "libzip is missing. Debian and Ubuntu: apt-get install libzip-dev; "
                        "elsewhere set HEADWAY_LIBZIP_LIBRARY and HEADWAY_LIBZIP_INCLUDE_DIR.")
  endif()
  add_library(headway::libzip INTERFACE IMPORTED)
  set_target_properties(headway::libzip PROPERTIES
    INTERFACE_LINK_LIBRARIES ${HEADWAY_LIBZIP_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${HEADWAY_LIBZIP_INCLUDE_DIR})
endif()
