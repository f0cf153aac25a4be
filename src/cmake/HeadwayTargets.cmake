# headway_module(NAME PUBLIC deps... PRIVATE deps...): one static library headway_<name> = headway::<name>, made of
# src/<name>/**/*.cpp and include/headway/<name>/*.hpp. A module of headers alone becomes an interface library.
# The folders torch/, bpe/ and mpi/ are libraries of their own, loaded when they are needed.
add_library(headway_options INTERFACE)
# Refuses a word that would count as neither of the three in one place or another.
function(headway_require_choice name)
  if(NOT "${${name}}" MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${name} = \"${${name}}\": must be AUTO, ON or OFF")
  endif()
endfunction()
# Threads are those of core/parallel.hpp, as many as --threads says. Eigen's own threads wait for each other in every
# product, and take ten times as long on processors with other work.
target_compile_definitions(headway_options INTERFACE EIGEN_DONT_PARALLELIZE)
# An index outside of a std::vector ends the process, also in what users get. Kernels work on plain pointers.
target_compile_definitions(headway_options INTERFACE _GLIBCXX_ASSERTIONS)
target_compile_options(headway_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                       -Wno-unknown-pragmas -Werror=switch)  # a new enumerator is handled everywhere, or nothing builds
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on std::string: "text" + it (GCC bug 105651), a short one that is copied.
  target_compile_options(headway_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # half a gigabyte a compiler; else a tenth of its time is garbage collection
  target_compile_options(headway_options INTERFACE --param=ggc-min-expand=300 --param=ggc-min-heapsize=2097152)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Else clang refuses a precompiled header from ccache, since the headers in it have other times.
  target_compile_options(headway_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(HEADWAY_NATIVE)
  target_compile_options(headway_options INTERFACE -march=native)
endif()
if(HEADWAY_BUILD_FUZZERS)
  target_compile_options(headway_options INTERFACE
                         -fsanitize-coverage-allowlist=${PROJECT_SOURCE_DIR}/tests/fuzz/counted_code.txt)
endif()
# headway_sanitize(TARGET address,undefined): what links TARGET is compiled and linked with these sanitizers.
function(headway_sanitize target sanitizers)
  foreach(sanitizer address thread)  # GCC and clang tell the code in different ways
    if(sanitizers MATCHES "${sanitizer}")
      string(TOUPPER ${sanitizer} upper)
      target_compile_definitions(${target} INTERFACE HEADWAY_${upper}_SANITIZER)
    endif()
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # the sanitizers' checks cause false alarms, in std::regex for example
    target_compile_options(${target} INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(${target} INTERFACE -fsanitize=${sanitizers}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(${target} INTERFACE -fsanitize=${sanitizers})
  if(sanitizers MATCHES "undefined" AND NOT HEADWAY_BUILD_FUZZERS)
    # Checks of every pointer that is followed or moved are half of the time to compile. Without them the address sanitizer
    # still reports accesses through null pointers and out of objects, and Eigen asserts alignment. Fuzzers keep the checks.
    target_compile_options(${target} INTERFACE -fno-sanitize=null,alignment,pointer-overflow,object-size)
  endif()
endfunction()
if(HEADWAY_SANITIZERS)
  headway_sanitize(headway_options "${HEADWAY_SANITIZERS}")
endif()

# Folders below the prefix that a full installation makes, before anything else is installed into them. Those of
# install(DIRECTORY) need no such help. Components go into packages, which must not have empty folders.
function(headway_install_folders)
  install(CODE "set(folders \"${ARGN}\")")
  install(SCRIPT ${PROJECT_SOURCE_DIR}/src/cmake/install_folders.cmake)
endfunction()

# -O2 with the cost model that the vectorizer has at -O3: `solve`, `prune` and `latents` are as fast as with -O3. The kernels
# of training keep -O3.
set(HEADWAY_OPTIMISATION $<$<CONFIG:Release>:-O2>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HEADWAY_OPTIMISATION $<$<CONFIG:Release>:-fvect-cost-model=dynamic>)
endif()
# For code without loops that matter (options, records, files, verbs): half the time to compile. The run time is the same as
# long as the modules that it calls keep their own instances of Eigen (headway_linked_first).
set(HEADWAY_LIGHT_OPTIMISATION $<$<CONFIG:Release>:-Og>)
if(HEADWAY_BUILD_FUZZERS)
  set(HEADWAY_LIGHT_OPTIMISATION -O2)  # readers are what fuzzers run
elseif(HEADWAY_SANITIZERS)
  set(HEADWAY_LIGHT_OPTIMISATION -O0)
endif()
set(HEADWAY_LIGHT_MODULES study results verbs io jobs)
# In these modules the address sanitizer does not check use after scope, which saves a fifth of the time to compile. An
# expression that outlives its matrix is still found, since the matrix frees its numbers. Other modules have the views of
# texts.
set(HEADWAY_MATRIX_MODULES model theory posterior sampling training analysis)

# headway_linked_first(TARGET modules...): whoever links TARGET links those modules before it, and whole. If two objects
# instantiate a template, the linker keeps the first instance that it meets: here the one compiled for speed.
function(headway_linked_first target)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:headway::\\1>")
  list(JOIN ARGN "," archives)
  target_link_options(${target} INTERFACE "LINKER:--whole-archive,${archives},--no-whole-archive")
endfunction()

function(headway_module name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(torch|bpe|mpi)/")
  set(include_dirs $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(sources)
    add_library(headway_${name} STATIC ${sources})
    set_target_properties(headway_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)  # each template is instantiated once
    target_compile_features(headway_${name} PUBLIC cxx_std_20)
    target_include_directories(headway_${name} PUBLIC ${include_dirs} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(headway_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE}
                          $<BUILD_INTERFACE:headway_options>)
    if(name IN_LIST HEADWAY_LIGHT_MODULES)
      target_compile_options(headway_${name} PRIVATE ${HEADWAY_LIGHT_OPTIMISATION})
    else()
      target_compile_options(headway_${name} PRIVATE ${HEADWAY_OPTIMISATION})
    endif()
    if(HEADWAY_SANITIZERS MATCHES "address" AND name IN_LIST HEADWAY_MATRIX_MODULES AND NOT HEADWAY_BUILD_FUZZERS)
      target_compile_options(headway_${name} PRIVATE -fno-sanitize-address-use-after-scope)
    endif()
    # One precompiled header a level of optimisation.
    if(name MATCHES "^(core|study)$")
      target_precompile_headers(headway_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/precompiled.hpp)
    elseif(name IN_LIST HEADWAY_LIGHT_MODULES)
      target_precompile_headers(headway_${name} REUSE_FROM headway_study)
    else()
      target_precompile_headers(headway_${name} REUSE_FROM headway_core)
    endif()
  else()
    add_library(headway_${name} INTERFACE)
    target_include_directories(headway_${name} INTERFACE ${include_dirs})
    target_link_libraries(headway_${name} INTERFACE ${ARG_PUBLIC})
  endif()
  add_library(headway::${name} ALIAS headway_${name})
  set_target_properties(headway_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY HEADWAY_MODULES ${name})
endfunction()

# headway_sanitized_objects(modules...): each module once more, with sanitizers and Eigen's assertions, as the objects
# headway_<module>_sanitized. Called in src/, where the flags of single sources are known.
function(headway_sanitized_objects)
  add_library(headway_sanitized INTERFACE)
  target_compile_options(headway_sanitized INTERFACE -O0 -g1 -UNDEBUG)
  headway_sanitize(headway_sanitized address,undefined)
  # Eigen aligns memory by hand under the sanitizer, and matrices pass from these modules to others and back. Both allocators
  # give 16 bytes.
  target_compile_definitions(headway_sanitized INTERFACE EIGEN_MALLOC_ALREADY_ALIGNED=1)
  set(first "")
  foreach(name ${ARGN})
    get_target_property(sources headway_${name} SOURCES)
    add_library(headway_${name}_sanitized OBJECT EXCLUDE_FROM_ALL ${sources})
    set_target_properties(headway_${name}_sanitized PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
    foreach(property COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_LIBRARIES)
      get_target_property(values headway_${name} ${property})
      if(values)
        set_property(TARGET headway_${name}_sanitized PROPERTY ${property} ${values})
      endif()
    endforeach()
    target_link_libraries(headway_${name}_sanitized PRIVATE headway_sanitized)
    if(first)
      target_precompile_headers(headway_${name}_sanitized REUSE_FROM ${first})
    else()
      target_precompile_headers(headway_${name}_sanitized PRIVATE ${PROJECT_SOURCE_DIR}/src/precompiled.hpp)
      set(first headway_${name}_sanitized)
    endif()
  endforeach()
endfunction()
