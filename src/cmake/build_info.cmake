# Run at every build (cmake -P): writes the source file that says from which commit the program was made, and the date of
# that commit. It touches the file only when the answer changed. Without git, or outside a checkout of this repository (a
# tarball), the commit is "unknown" and the date that of SOURCE_DATE_EPOCH, if a packager has set it.
set(HEADWAY_GIT_COMMIT "unknown")
set(HEADWAY_DATE "")
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  string(TIMESTAMP HEADWAY_DATE "%Y-%m-%d" UTC)  # uses that variable as the time
endif()
find_program(git NAMES git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${SOURCE_DIR} here)
  if(top STREQUAL here)  # else: unpacked inside some other repository
    execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse HEAD RESULT_VARIABLE failed
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${git} -C ${SOURCE_DIR} show -s --format=%cd --date=short HEAD
                    OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${git} -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT failed)
      set(HEADWAY_GIT_COMMIT "${commit}")
      set(HEADWAY_DATE "${date}")
      if(changes)
        string(APPEND HEADWAY_GIT_COMMIT " with changes")
      endif()
    endif()
  endif()
endif()
configure_file(${SOURCE_DIR}/src/cmake/build_info.cpp.in ${OUTPUT} @ONLY)
