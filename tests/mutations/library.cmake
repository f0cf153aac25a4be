# How draw.py builds the library that it changes: each source by itself, so that one change costs one compilation, at -O1,
# and with the assertions that the sanitized tree of `make test` has, too. Tests and program are built as always.
function(headway_prepare_mutations)
  get_property(targets GLOBAL PROPERTY HEADWAY_MODULES)
  list(TRANSFORM targets PREPEND headway_)
  if(TARGET headway_python)  # with its own flags: some of its tests compare its bits with the program's
    set_target_properties(headway_python PROPERTIES UNITY_BUILD OFF)
  endif()
  foreach(target ${targets} headway_torch headway_bpe headway_mpi)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(type ${target} TYPE)
    if(type MATCHES "STATIC_LIBRARY|MODULE_LIBRARY")
      set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
      target_compile_options(${target} PRIVATE -O1 -UNDEBUG -D_GLIBCXX_ASSERTIONS)
    endif()
  endforeach()
  if(TARGET headway_torch)  # a minute a source without
    target_precompile_headers(headway_torch PRIVATE ${CMAKE_SOURCE_DIR}/src/training/torch/headers.hpp)
  endif()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL headway_prepare_mutations)
