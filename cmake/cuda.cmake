# The part of the library that needs a CUDA toolkit: the kernels, and the driver's functions by their types. The driver
# itself is loaded at run time, so nothing is linked.
set(HOCKET_CUDA AUTO CACHE STRING "AUTO: use CUDA if found; ON: require it; OFF: do not look")
set_property(CACHE HOCKET_CUDA PROPERTY STRINGS AUTO ON OFF)
# Real code for what is there, and intermediate code for what comes later.
set(HOCKET_CUDA_ARCHITECTURES "80;90" CACHE STRING "Compute capabilities to compile the kernels for")

set(HOCKET_HAS_CUDA FALSE)
set(cuda_sources "")
if(HOCKET_CUDA)
  find_package(CUDAToolkit 11.8 QUIET)
endif()
if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
  message(STATUS "CUDA: found ${CUDAToolkit_VERSION}")
  set(HOCKET_HAS_CUDA TRUE)
elseif(HOCKET_CUDA STREQUAL "AUTO")
  message(STATUS "CUDA: not found, building without")
elseif(HOCKET_CUDA)
  message(FATAL_ERROR "CUDA: not found, but HOCKET_CUDA is ON. Install the toolkit (tools/setup --cuda), set CUDAToolkit_ROOT, or use AUTO.")
else()
  message(STATUS "CUDA: switched off (HOCKET_CUDA=OFF), building without")
endif()

# Compiles the kernels in `source` into one image, which the driver loads, and which lies in the program by the name
# `symbol`. Sets `result` to what is to be among the program's sources. ARGN: the headers that the source includes.
function(hocket_compile_kernels result symbol source)
  set(image ${PROJECT_BINARY_DIR}/${symbol}.fatbin)
  set(targets "")
  foreach(architecture IN LISTS HOCKET_CUDA_ARCHITECTURES)
    list(APPEND targets -gencode arch=compute_${architecture},code=sm_${architecture})
    set(newest ${architecture})
  endforeach()
  list(APPEND targets -gencode arch=compute_${newest},code=compute_${newest})
  # A product and a sum that become one instruction are rounded once: other bits than on the CPU.
  add_custom_command(OUTPUT ${image} VERBATIM COMMENT "Compiling the CUDA kernels of ${source}"
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --fatbin -O3 -std=c++17 -fmad=false ${targets} -I include -I . -o ${image}
      ${source}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${ARGN})
  set(assembly ${PROJECT_BINARY_DIR}/${symbol}.s)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT
[[# Written by cmake/cuda.cmake.
  .section .rodata
  .balign 16
  .globl @symbol@
  .hidden @symbol@
@symbol@:
  .incbin "@image@"
  .section .note.GNU-stack,"",@progbits
]])
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${image})
  set(${result} ${assembly} ${image} PARENT_SCOPE)
endfunction()

if(HOCKET_HAS_CUDA)
  enable_language(ASM)
  set(kernels ${PROJECT_SOURCE_DIR}/src/cuda/kernels)
  hocket_compile_kernels(cuda_sources hocket_cuda_kernels src/cuda/kernels/kernels.cu ${kernels}/list.hpp
    ${kernels}/reduce.hpp ${kernels}/elements.hpp)
  set_property(SOURCE src/cuda/driver.cpp src/cuda/cuda_context.cpp src/cuda/cuda_gpu.cpp src/cuda/memory_sharing.cpp
    PROPERTY COMPILE_OPTIONS -isystem ${CUDAToolkit_INCLUDE_DIRS})
endif()

# Gives a program, whose sources name it, an image of kernels. In builds without CUDA they have none.
function(hocket_add_kernels target symbol source)
  if(HOCKET_HAS_CUDA)
    hocket_compile_kernels(made ${symbol} ${source} ${PROJECT_SOURCE_DIR}/tools/device/kernel.hpp
      ${PROJECT_SOURCE_DIR}/src/cuda/kernels/elements.hpp ${ARGN})
    target_sources(${target} PRIVATE ${made})
    target_compile_definitions(${target} PRIVATE HOCKET_HAS_CUDA)
  endif()
endfunction()

# Takes from the list of sources what this build is made without.
function(hocket_choose_cuda_sources list)
  if(HOCKET_HAS_CUDA)
    list(FILTER ${list} EXCLUDE REGEX "/src/cuda/no_gpu\\.cpp$")
  else()
    list(FILTER ${list} EXCLUDE REGEX "/src/cuda/(cuda_context|cuda_gpu|driver|memory_sharing)\\.cpp$")
  endif()
  set(${list} ${${list}} ${cuda_sources} PARENT_SCOPE)
endfunction()
