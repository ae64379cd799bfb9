# The programs: each tools/hocket_NAME.cpp is a main, with helpers of its own in tools/NAME/ and, where it has several
# commands, these in tools/NAME/commands/; other files directly in tools/ are shared by all programs. bench/ is one program,
# hocket-bench, save for bench/micro_*.cpp, each a Google Benchmark, the programs of one file below, and bench/peers, programs of other
# libraries to compare with. tools/device is what programs know of GPUs.
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(benchmark QUIET) # for bench/micro_*.cpp alone
find_library(HWLOC_LIBRARY hwloc REQUIRED)
# Most of what CLI11's headers take to compile is optimising what runs once. With -O1 it takes two thirds of the time.
file(GLOB command_lines CONFIGURE_DEPENDS tools/hocket_*.cpp tools/plan/commands/*.cpp)
hocket_optimise_little(${command_lines} tools/arguments.cpp tools/sgd/options.cpp bench/options.cpp)

file(GLOB mains CONFIGURE_DEPENDS tools/hocket_*.cpp)
file(GLOB shared CONFIGURE_DEPENDS tools/*.cpp)
file(GLOB micros CONFIGURE_DEPENDS bench/micro_*.cpp)
file(GLOB bench CONFIGURE_DEPENDS bench/*.cpp)
list(REMOVE_ITEM shared ${mains} "")
set(singles accuracy agreement children creation_parts message_rate store instructions gpu_limit gpu_handover)
list(TRANSFORM singles REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/bench/\\1.cpp")
list(REMOVE_ITEM bench ${micros} ${singles} "")

add_library(hocket_program INTERFACE)
target_link_libraries(hocket_program INTERFACE hocket_internal CLI11::CLI11 nlohmann_json::nlohmann_json)
if(shared)
  add_library(hocket_program_shared STATIC ${shared})
  target_link_libraries(hocket_program_shared PUBLIC hocket_internal PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json ${HWLOC_LIBRARY})
  target_link_libraries(hocket_program INTERFACE hocket_program_shared)
  set_source_files_properties(tools/launch_heap.cpp PROPERTIES COMPILE_DEFINITIONS
    "HOCKET_LIBRARY_FOLDER=\"${CMAKE_INSTALL_LIBDIR}\"")
endif()

set(HOCKET_PROGRAMS "")
function(hocket_add_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE hocket_program)
  list(APPEND HOCKET_PROGRAMS ${name})
  set(HOCKET_PROGRAMS ${HOCKET_PROGRAMS} PARENT_SCOPE)
endfunction()

# GPUs for the programs that use them.
if(HOCKET_HAS_CUDA)
  add_library(hocket_device STATIC tools/device/device.cpp tools/device/cuda_device.cpp)
  target_include_directories(hocket_device SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
else()
  add_library(hocket_device STATIC tools/device/device.cpp tools/device/no_device.cpp)
endif()
target_link_libraries(hocket_device PUBLIC hocket_internal)
set_target_properties(hocket_device PROPERTIES UNITY_BUILD OFF) # tests put another device.cpp in place of its own

foreach(main IN LISTS mains)
  cmake_path(GET main STEM stem)
  string(REPLACE hocket_ "" folder ${stem})
  file(GLOB helpers CONFIGURE_DEPENDS tools/${folder}/*.cpp)
  file(GLOB commands CONFIGURE_DEPENDS tools/${folder}/commands/*.cpp)
  string(REPLACE _ - name ${stem})
  hocket_add_program(${name} ${main} ${commands})
  if(helpers) # a library, so that unit tests can reach them
    add_library(${stem}_helpers STATIC ${helpers})
    target_link_libraries(${stem}_helpers PUBLIC hocket_program)
    target_link_libraries(${name} PRIVATE ${stem}_helpers)
  endif()
endforeach()
target_link_libraries(hocket_sgd_helpers PUBLIC ZLIB::ZLIB hocket_device)
file(GLOB headers CONFIGURE_DEPENDS tools/sgd/kernels/*.hpp)
hocket_add_kernels(hocket_sgd_helpers hocket_sgd_kernels tools/sgd/kernels/perceptron.cu ${headers})
if(bench)
  # Objects, of which a test makes a program with another device.
  add_library(hocket_bench_objects OBJECT ${bench})
  target_link_libraries(hocket_bench_objects PUBLIC hocket_program hocket_plan_helpers hocket_device)
  file(GLOB headers CONFIGURE_DEPENDS bench/kernels/*.hpp)
  hocket_add_kernels(hocket_bench_objects hocket_bench_kernels bench/kernels/check.cu ${headers})
  hocket_add_program(hocket-bench)
  target_link_libraries(hocket-bench PRIVATE hocket_bench_objects) # with networks for its model, and GPUs
endif()

file(GLOB accuracy CONFIGURE_DEPENDS bench/accuracy/*.cpp)
add_library(hocket_accuracy STATIC ${accuracy}) # a library, so that tests can reach it
target_link_libraries(hocket_accuracy PUBLIC hocket_internal)
add_executable(bench-accuracy bench/accuracy.cpp)
target_link_libraries(bench-accuracy PRIVATE hocket_program hocket_accuracy)
add_executable(bench-children bench/children.cpp)
target_link_libraries(bench-children PRIVATE hocket_internal)
foreach(single agreement creation_parts message_rate) # with the library as applications have it
  string(REPLACE _ - program bench-${single})
  add_executable(${program} bench/${single}.cpp)
  target_link_libraries(${program} PRIVATE hocket fmt::fmt)
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
add_executable(bench-store bench/store.cpp)
target_link_libraries(bench-store PRIVATE hocket_internal)
if(HOCKET_HAS_CUDA)
  add_executable(bench-gpu-limit bench/gpu_limit.cpp bench/gpu_handover.cpp)
  target_link_libraries(bench-gpu-limit PRIVATE hocket_device)
endif()
find_path(HOCKET_VALGRIND_INCLUDE valgrind/callgrind.h DOC "Folder of valgrind/callgrind.h; optional")
if(HOCKET_VALGRIND_INCLUDE)
  add_executable(bench-instructions bench/instructions.cpp)
  target_include_directories(bench-instructions SYSTEM PRIVATE ${HOCKET_VALGRIND_INCLUDE})
  target_link_libraries(bench-instructions PRIVATE hocket fmt::fmt) # the library as applications have it
  # Counts differ between compilers and kinds of build (and link_time.cmake adds to this).
  target_compile_definitions(bench-instructions PRIVATE
    "HOCKET_BUILT=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_SYSTEM_PROCESSOR}, ${CMAKE_BUILD_TYPE}\""
    "HOCKET_SANITIZERS=\"${HOCKET_SANITIZE}\"")
else()
  message(STATUS "valgrind: not found, so bench-instructions is left out")
endif()

if(NOT benchmark_FOUND)
  message(STATUS "Google Benchmark: not found, so the microbenchmarks are left out")
  set(micros "")
endif()
foreach(micro IN LISTS micros)
  cmake_path(GET micro STEM name)
  add_executable(${name} ${micro})
  target_link_libraries(${name} PRIVATE hocket_internal benchmark::benchmark_main)
endforeach()

# Preloaded by hocket-run --shared-heap: stands in front of the allocator of glibc, whose names it uses.
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h HOCKET_GLIBC)
if(HOCKET_GLIBC AND NOT HOCKET_SANITIZE) # sanitizers have allocators of their own
  file(GLOB heap CONFIGURE_DEPENDS tools/heap/*.cpp)
  add_library(hocket_heap MODULE ${heap} src/base/memory_left.cpp src/base/file_contents.cpp)
  target_include_directories(hocket_heap PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(hocket_heap PRIVATE Threads::Threads fmt::fmt-header-only ${CMAKE_DL_LIBS})
  target_link_options(hocket_heap PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/hocket_heap.map)
  set_target_properties(hocket_heap PROPERTIES CXX_VISIBILITY_PRESET hidden LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/hocket_heap.map)
endif()
