# Defines headway::torch and, where it is there, headway::onednn, and sets HEADWAY_HAVE_TRAINING.
#
# LibTorch by its headers and libraries: Debian's TorchConfig.cmake brings flags and packages of its own that no
# source of Headway needs. For another LibTorch (one with CUDA, say) set CMAKE_PREFIX_PATH to its folder.
set(HEADWAY_TRAINING AUTO CACHE STRING "Build the training engine on LibTorch: AUTO (where found), ON, OFF")
set_property(CACHE HEADWAY_TRAINING PROPERTY STRINGS AUTO ON OFF)
set(HEADWAY_HAVE_TRAINING OFF)
if(NOT HEADWAY_TRAINING)
  message(NOTICE "Headway: without the training engine (HEADWAY_TRAINING=OFF); everything else is built")
  return()
endif()
if(HEADWAY_SANITIZERS)  # LibTorch and its hundred libraries are not instrumented
  message(NOTICE "Headway: the training engine's LibTorch part is left out of builds with sanitizers")
  return()
endif()

find_path(HEADWAY_TORCH_INCLUDE_DIR NAMES torch/csrc/autograd/custom_function.h)
find_path(HEADWAY_TORCH_API_DIR NAMES torch/cuda.h
          PATHS ${HEADWAY_TORCH_INCLUDE_DIR} PATH_SUFFIXES torch/csrc/api/include)
find_library(HEADWAY_TORCH_CPU_LIBRARY NAMES torch_cpu)
find_library(HEADWAY_C10_LIBRARY NAMES c10)
find_library(HEADWAY_TORCH_CUDA_LIBRARY NAMES torch_cuda)
find_library(HEADWAY_TORCH_LIBRARY_FILE NAMES torch)
find_path(HEADWAY_ONEDNN_INCLUDE_DIR NAMES dnnl.h)
find_library(HEADWAY_ONEDNN_LIBRARY NAMES dnnl)
mark_as_advanced(HEADWAY_TORCH_INCLUDE_DIR HEADWAY_TORCH_API_DIR HEADWAY_TORCH_CPU_LIBRARY HEADWAY_C10_LIBRARY
                 HEADWAY_TORCH_CUDA_LIBRARY HEADWAY_TORCH_LIBRARY_FILE HEADWAY_ONEDNN_INCLUDE_DIR
                 HEADWAY_ONEDNN_LIBRARY)
if(NOT (HEADWAY_TORCH_INCLUDE_DIR AND HEADWAY_TORCH_API_DIR AND HEADWAY_TORCH_CPU_LIBRARY AND HEADWAY_C10_LIBRARY))
  set(headway_torch_advice "Debian and Ubuntu: apt-get install libtorch-dev libdnnl-dev")
  if(HEADWAY_TRAINING STREQUAL "AUTO")
    message(NOTICE "Headway: LibTorch is missing, so 'headway train' is left out; everything else is built "
                   "(${headway_torch_advice})")
    return()
  endif()
  message(FATAL_ERROR "HEADWAY_TRAINING=ON, but LibTorch is missing. ${headway_torch_advice}; elsewhere set "
                      "CMAKE_PREFIX_PATH to the folder of LibTorch.")
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
else()
  message(NOTICE "Headway: oneDNN is missing, so training uses LibTorch's matrix products, which may be slower "
                 "(Debian and Ubuntu: apt-get install libdnnl-dev)")
endif()
