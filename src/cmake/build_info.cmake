# Run at every build (cmake -P): writes the source file that says from which commit the program was made. It touches the
# file only when the answer changed. Without git, or outside a checkout of this repository (a tarball), it says "unknown".
set(HEADWAY_GIT_COMMIT "unknown")
find_program(git NAMES git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${SOURCE_DIR} here)
  if(top STREQUAL here)  # else: unpacked inside some other repository
    execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse HEAD RESULT_VARIABLE failed
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${git} -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT failed)
      set(HEADWAY_GIT_COMMIT "${commit}")
      if(changes)
        string(APPEND HEADWAY_GIT_COMMIT " with changes")
      endif()
    endif()
  endif()
endif()
configure_file(${SOURCE_DIR}/src/cmake/build_info.cpp.in ${OUTPUT} @ONLY)
