# Defines headway::torch and, if oneDNN is there, headway::onednn, and sets HEADWAY_HAVE_TRAINING.
#
# LibTorch is found by its headers and libraries: TorchConfig.cmake brings flags and packages of its own that no source of
# Headway needs. HEADWAY_TORCH says which one: empty, that of the system; "auto", that of an installed PyTorch; or a
# folder with include/ and lib/ (the folder `torch` of site-packages, or what libtorch-*.zip unpacks to).
set(HEADWAY_TRAINING AUTO CACHE STRING "Build the training engine on LibTorch: AUTO (where found), ON, OFF")
set_property(CACHE HEADWAY_TRAINING PROPERTY STRINGS AUTO ON OFF)
headway_require_choice(HEADWAY_TRAINING)
set(HEADWAY_HAVE_TRAINING OFF)
if(NOT HEADWAY_TRAINING)
  message(NOTICE "Headway: without the training engine (HEADWAY_TRAINING=OFF); everything else is built")
  return()
endif()
if(HEADWAY_SANITIZERS)  # LibTorch and its hundred libraries are not instrumented
  message(NOTICE "Headway: the training engine's LibTorch part is left out of builds with sanitizers")
  return()
endif()

set(HEADWAY_TORCH "" CACHE STRING "LibTorch: empty (the system's), auto (of an installed PyTorch), or its folder")
if(NOT "${HEADWAY_TORCH}" STREQUAL "${HEADWAY_TORCH_BEFORE}")  # what was found belongs to another LibTorch
  foreach(name TORCH_INCLUDE_DIR TORCH_API_DIR TORCH_CPU_LIBRARY C10_LIBRARY TORCH_CUDA_LIBRARY TORCH_LIBRARY_FILE C10_CUDA_LIBRARY CUDA_HEADERS
               ONEDNN_INCLUDE_DIR ONEDNN_LIBRARY TORCH_HAS_ONEDNN TORCH_HAS_SGEMM)
    unset(HEADWAY_${name} CACHE)
  endforeach()
  set(HEADWAY_TORCH_BEFORE "${HEADWAY_TORCH}" CACHE INTERNAL "")
endif()

# The folder of an installed PyTorch: asked of each Python without importing it, which takes seconds.
set(headway_torch_root "")
if(HEADWAY_TORCH)
  get_filename_component(headway_torch_root "${HEADWAY_TORCH}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
endif()
if(HEADWAY_TORCH STREQUAL "auto")
  set(headway_torch_root "")
  foreach(python $ENV{VIRTUAL_ENV}/bin/python python3 ${HEADWAY_PYTHON})
    execute_process(COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND NOT headway_torch_root)
      set(headway_torch_root "${found}")
    endif()
  endforeach()
  if(NOT headway_torch_root)
    message(FATAL_ERROR "HEADWAY_TORCH=auto: no PyTorch in python3 of PATH, in a virtual environment that is active, "
                        "or in ${HEADWAY_PYTHON}. Install it (pip install torch), or set HEADWAY_TORCH to its folder.")
  endif()
endif()

set(headway_torch_here "")
if(headway_torch_root)
  set(headway_torch_here PATHS ${headway_torch_root} ${headway_torch_root}/include ${headway_torch_root}/lib
      NO_DEFAULT_PATH)
  set(headway_torch_config "${headway_torch_root}/share/cmake/Torch/TorchConfig.cmake")
  if(EXISTS "${headway_torch_config}")
    file(STRINGS "${headway_torch_config}" headway_torch_old_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
    if(headway_torch_old_abi)
      message(FATAL_ERROR "HEADWAY_TORCH: ${headway_torch_root} was compiled for C++'s old strings "
                          "(_GLIBCXX_USE_CXX11_ABI=0), as PyTorch's wheels before 2.7 were: take a newer one, or 2.6 from "
                          "https://download.pytorch.org/whl/cu126")
    endif()
  endif()
endif()
find_path(HEADWAY_TORCH_INCLUDE_DIR NAMES torch/csrc/autograd/custom_function.h ${headway_torch_here})
find_path(HEADWAY_TORCH_API_DIR NAMES torch/cuda.h
          PATHS ${HEADWAY_TORCH_INCLUDE_DIR} PATH_SUFFIXES torch/csrc/api/include NO_DEFAULT_PATH)
find_library(HEADWAY_TORCH_CPU_LIBRARY NAMES torch_cpu ${headway_torch_here})
find_library(HEADWAY_C10_LIBRARY NAMES c10 ${headway_torch_here})
find_library(HEADWAY_TORCH_CUDA_LIBRARY NAMES torch_cuda ${headway_torch_here})
find_library(HEADWAY_TORCH_LIBRARY_FILE NAMES torch ${headway_torch_here})
find_library(HEADWAY_C10_CUDA_LIBRARY NAMES c10_cuda ${headway_torch_here})
if(NOT headway_torch_root)  # another LibTorch has a oneDNN of its own, and two in one process take each other's calls
  find_path(HEADWAY_ONEDNN_INCLUDE_DIR NAMES dnnl.h)
  find_library(HEADWAY_ONEDNN_LIBRARY NAMES dnnl)
endif()
mark_as_advanced(HEADWAY_TORCH_INCLUDE_DIR HEADWAY_TORCH_API_DIR HEADWAY_TORCH_CPU_LIBRARY HEADWAY_C10_LIBRARY
                 HEADWAY_TORCH_CUDA_LIBRARY HEADWAY_TORCH_LIBRARY_FILE HEADWAY_ONEDNN_INCLUDE_DIR
                 HEADWAY_ONEDNN_LIBRARY)
if(NOT (HEADWAY_TORCH_INCLUDE_DIR AND HEADWAY_TORCH_API_DIR AND HEADWAY_TORCH_CPU_LIBRARY AND HEADWAY_C10_LIBRARY))
  if(headway_torch_root)
    message(FATAL_ERROR "HEADWAY_TORCH: ${headway_torch_root} has no LibTorch: it lacks include/torch or lib/libtorch_cpu")
  endif()
  set(headway_torch_advice "Debian and Ubuntu: apt-get install libtorch-dev libdnnl-dev")
  if(HEADWAY_TRAINING STREQUAL "AUTO")
    message(NOTICE "Headway: LibTorch is missing, so 'headway train' is left out; everything else is built "
                   "(${headway_torch_advice})")
    return()
  endif()
  message(FATAL_ERROR "HEADWAY_TRAINING=ON, but LibTorch is missing. ${headway_torch_advice}; elsewhere set "
                      "HEADWAY_TORCH to the folder of LibTorch, or to auto for that of an installed PyTorch.")
endif()

set(HEADWAY_HAVE_TRAINING ON)
add_library(headway::torch INTERFACE IMPORTED)
set_target_properties(headway::torch PROPERTIES
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${HEADWAY_TORCH_API_DIR};${HEADWAY_TORCH_INCLUDE_DIR}"
  INTERFACE_INCLUDE_DIRECTORIES "${HEADWAY_TORCH_API_DIR};${HEADWAY_TORCH_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "${HEADWAY_TORCH_CPU_LIBRARY};${HEADWAY_C10_LIBRARY}")
if(HEADWAY_TORCH_CUDA_LIBRARY)  # nothing refers to it, but loading it is what registers CUDA
  set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_LINK_LIBRARIES
               "-Wl,--no-as-needed,${HEADWAY_TORCH_CUDA_LIBRARY},--as-needed")
  # Streams and graphs of CUDA need its headers: of a toolkit, or of the wheels beside PyTorch's.
  find_path(HEADWAY_CUDA_HEADERS NAMES cuda_runtime_api.h
            HINTS ${headway_torch_root}/../nvidia/cuda_runtime/include ${headway_torch_root}/../nvidia/cu13/include
                  ${headway_cuda_root}/../include
            PATHS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES include)
  mark_as_advanced(HEADWAY_CUDA_HEADERS HEADWAY_C10_CUDA_LIBRARY)
  if(HEADWAY_CUDA_HEADERS AND HEADWAY_C10_CUDA_LIBRARY)
    set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS HEADWAY_TORCH_CUDA)
    set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${HEADWAY_CUDA_HEADERS})
    set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${HEADWAY_CUDA_HEADERS})
    set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${HEADWAY_C10_CUDA_LIBRARY})
  else()
    message(NOTICE "Headway: without CUDA's headers (cuda_runtime_api.h), so a GPU has no graphs, streams or fused kernels")
  endif()
endif()
if(headway_torch_root)
  # LibTorch's fmt stands before ours in the include path, and in no library: it is compiled in. Its libraries need
  # others, of CUDA, that the linker need not see.
  set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY)
  set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_LINK_OPTIONS -Wl,--allow-shlib-undefined)
  include(CheckLibraryExists)
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,--allow-shlib-undefined)
  check_library_exists(${HEADWAY_TORCH_CPU_LIBRARY} dnnl_sgemm "" HEADWAY_TORCH_HAS_ONEDNN)
  check_library_exists(${HEADWAY_TORCH_CPU_LIBRARY} sgemm_ "" HEADWAY_TORCH_HAS_SGEMM)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(HEADWAY_TORCH_HAS_ONEDNN)
    set(HEADWAY_ONEDNN_INCLUDE_DIR ${HEADWAY_TORCH_INCLUDE_DIR})
    set(HEADWAY_ONEDNN_LIBRARY ${HEADWAY_TORCH_CPU_LIBRARY})
  elseif(HEADWAY_TORCH_HAS_SGEMM)
    set_property(TARGET headway::torch APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS HEADWAY_TORCH_SGEMM)
  endif()
endif()
if(HEADWAY_ONEDNN_INCLUDE_DIR AND HEADWAY_ONEDNN_LIBRARY)
  set(headway_onednn_version "")
  foreach(header oneapi/dnnl/dnnl_version.h dnnl_version.h)
    if(EXISTS ${HEADWAY_ONEDNN_INCLUDE_DIR}/${header} AND NOT headway_onednn_version)
      file(STRINGS ${HEADWAY_ONEDNN_INCLUDE_DIR}/${header} lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
      string(REGEX MATCHALL "[0-9]+" headway_onednn_version "${lines}")
      list(JOIN headway_onednn_version "." headway_onednn_version)
    endif()
  endforeach()
  add_library(headway::onednn INTERFACE IMPORTED)
  set_target_properties(headway::onednn PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS "HEADWAY_ONEDNN=\"${headway_onednn_version}\""
    INTERFACE_LINK_LIBRARIES ${HEADWAY_ONEDNN_LIBRARY})
elseif(NOT headway_torch_root)
  message(NOTICE "Headway: oneDNN is missing, so training uses LibTorch's matrix products, which may be slower "
                 "(Debian and Ubuntu: apt-get install libdnnl-dev)")
endif()
