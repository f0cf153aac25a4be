# Run by ctest: see CMakeLists.txt here. Variables: BUILD SOURCE WORK GENERATOR CXX LAUNCHER.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "'${command}' ended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(sh -c "umask 077 && exec \"$@\"" sh ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
run(find ${WORK}/first -type d ! -perm 755)
if(output)
  message(FATAL_ERROR "others cannot read these folders:\n${output}")
endif()
file(RENAME ${WORK}/first ${WORK}/moved)

# Nothing of the source or build tree may be left in what users get.
file(GLOB_RECURSE package_files ${WORK}/moved/*.cmake)
list(LENGTH package_files count)
if(count LESS 4)
  message(FATAL_ERROR "only ${count} CMake files are installed: ${package_files}")
endif()
foreach(package_file IN LISTS package_files)
  file(READ ${package_file} text)
  foreach(place IN ITEMS ${SOURCE} ${BUILD} ${WORK}/first)
    string(FIND "${text}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${package_file} names ${place}")
    endif()
  endforeach()
endforeach()

run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${WORK}/consumer -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK}/moved -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
    -D CMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/theory_consumer)
message(STATUS "${output}")
run(${WORK}/consumer/second_tier_consumer)
message(STATUS "${output}")
run(${WORK}/consumer/io_consumer ${WORK}/moved/share/headway/studies/hmm-four-paths.toml)
message(STATUS "${output}")
run(${WORK}/moved/bin/headway --version)
message(STATUS "${output}")

foreach(page IN ITEMS man/man1/headway.1 man/man1/headway-solve.1 bash-completion/completions/headway
                      zsh/site-functions/_headway)
  if(NOT EXISTS ${WORK}/moved/share/${page})
    message(FATAL_ERROR "share/${page} is not installed")
  endif()
endforeach()

# Every shipped study of training finds the files that it names (a plan reads them, and trains nothing).
file(GLOB studies ${WORK}/moved/share/headway/studies/*.toml)
foreach(study IN LISTS studies)
  file(READ ${study} text)
  if(text MATCHES "\n\\[train\\]" AND NOT text MATCHES "level = \"bpe\"")  # that may need a library of its own
    run(${WORK}/moved/bin/headway train ${study} --dry-run)
  endif()
endforeach()

# As apps/cli/README.md says how to remove it.
file(RENAME ${WORK}/moved ${WORK}/first)
run(sh -c "xargs -d '\\n' rm < '${BUILD}/install_manifest.txt'")
file(GLOB_RECURSE left ${WORK}/first/*)
if(left)
  message(FATAL_ERROR "files that install_manifest.txt does not list: ${left}")
endif()
