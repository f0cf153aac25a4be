# Defines headway::cuda, the fused kernels for NVIDIA GPUs, and sets HEADWAY_HAVE_CUDA, where nvcc is found.
# Machine code for HEADWAY_CUDA_ARCHITECTURES, and PTX of the last of them, which the driver compiles for later GPUs.
#
# nvcc is called directly: CMake's own CUDA support links a test program first, which a toolkit without its libraries
# cannot, and what ptxas says of registers and spills is kept in a file that a test reads.
set(HEADWAY_CUDA AUTO CACHE STRING "Compile the CUDA kernels: AUTO (where nvcc is found), ON, OFF")
set_property(CACHE HEADWAY_CUDA PROPERTY STRINGS AUTO ON OFF)
headway_require_choice(HEADWAY_CUDA)
set(HEADWAY_CUDA_ARCHITECTURES "80;90" CACHE STRING "Compute capabilities, the newest last; 80: A100, 90: H100")
set(HEADWAY_HAVE_CUDA OFF)
if(NOT HEADWAY_CUDA OR HEADWAY_SANITIZERS)
  return()
endif()
if(HEADWAY_CUDA STREQUAL "AUTO" AND NOT HEADWAY_LONG_TESTS AND NOT EXISTS /dev/nvidiactl)
  return()  # nvcc takes minutes, and without a GPU only the long tests need what it makes
endif()
find_program(HEADWAY_NVCC NAMES nvcc PATHS ENV CUDA_HOME PATH_SUFFIXES bin)
if(NOT HEADWAY_NVCC)
  find_program(HEADWAY_NVCC NAMES nvcc PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()
mark_as_advanced(HEADWAY_NVCC)
set(headway_cuda_version "")
if(HEADWAY_NVCC)
  execute_process(COMMAND ${HEADWAY_NVCC} --version OUTPUT_VARIABLE headway_nvcc_words ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" headway_cuda_version "${headway_nvcc_words}")
  set(headway_cuda_version "${CMAKE_MATCH_1}")
  get_filename_component(headway_nvcc ${HEADWAY_NVCC} REALPATH)
  get_filename_component(headway_cuda_root ${headway_nvcc} DIRECTORY)
  find_library(HEADWAY_CUDART NAMES cudart_static
               HINTS ${headway_cuda_root}/.. PATHS ENV CUDA_HOME /usr/local/cuda
               PATH_SUFFIXES lib64 targets/x86_64-linux/lib lib NO_CACHE)
endif()
if(headway_cuda_version VERSION_LESS 12.0 OR NOT HEADWAY_CUDART)  # C++20
  if(HEADWAY_CUDA STREQUAL "AUTO")
    message(STATUS "Headway: without CUDA kernels (nvcc 12.0 or later with its runtime library is not here)")
    return()
  endif()
  message(FATAL_ERROR "HEADWAY_CUDA=ON, but nvcc 12.0 or later with cudart_static is missing "
                      "(found: nvcc '${HEADWAY_NVCC}' ${headway_cuda_version}, cudart_static '${HEADWAY_CUDART}')")
endif()

set(HEADWAY_HAVE_CUDA ON)
set(headway_cuda_folder ${PROJECT_BINARY_DIR}/cuda)
set(headway_cuda_sources attention attention_shapes step)
list(TRANSFORM headway_cuda_sources REPLACE "(.+)" "${headway_cuda_folder}/\\1.ptxas" OUTPUT_VARIABLE headway_reports)
list(TRANSFORM headway_cuda_sources REPLACE "(.+)" "${headway_cuda_folder}/\\1.o" OUTPUT_VARIABLE headway_cuda_objects)
set(HEADWAY_PTXAS_REPORTS ${headway_reports}
    CACHE INTERNAL "What ptxas said of the kernels")
file(MAKE_DIRECTORY ${headway_cuda_folder})
get_target_property(headway_eigen Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
list(TRANSFORM headway_eigen PREPEND -I)
set(headway_nvcc_flags -std=c++20 -O3 --expt-relaxed-constexpr -Xptxas -v -Xcompiler -fPIC,-fvisibility=hidden
    -DEIGEN_NO_CUDA -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src ${headway_eigen})
foreach(architecture ${HEADWAY_CUDA_ARCHITECTURES})
  list(APPEND headway_nvcc_flags -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET HEADWAY_CUDA_ARCHITECTURES -1 newest)
list(APPEND headway_nvcc_flags -gencode arch=compute_${newest},code=compute_${newest})
foreach(kernels ${headway_cuda_sources})
  add_custom_command(
    OUTPUT ${headway_cuda_folder}/${kernels}.o
    BYPRODUCTS ${headway_cuda_folder}/${kernels}.ptxas
    COMMAND ${CMAKE_COMMAND} "-DCOMMAND=${CMAKE_CXX_COMPILER_LAUNCHER};${HEADWAY_NVCC};${headway_nvcc_flags}"
            -DSOURCE=${PROJECT_SOURCE_DIR}/src/training/kernels/cuda/${kernels}.cu -DOBJECT=${headway_cuda_folder}/${kernels}.o
            -DREPORT=${headway_cuda_folder}/${kernels}.ptxas -P ${PROJECT_SOURCE_DIR}/src/cmake/compile_cuda.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/src/training/kernels/cuda/${kernels}.cu ${PROJECT_SOURCE_DIR}/src/cmake/compile_cuda.cmake
    DEPFILE ${headway_cuda_folder}/${kernels}.o.d
    COMMENT "Compiling the CUDA kernels: ${kernels}" VERBATIM)
endforeach()
add_library(headway_cuda STATIC ${headway_cuda_objects})
set_target_properties(headway_cuda PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(headway_cuda PUBLIC headway::training PRIVATE ${HEADWAY_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
add_library(headway::cuda ALIAS headway_cuda)
