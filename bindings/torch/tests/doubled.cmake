# The package once more, in build/…/python_doubled, with the double of a GPU: the same module and a libhocket that takes the
# double's memory for a device's (tests/doubled/torch); and hocket_torch_double, which gives torch a CUDA device.
set(doubled ${PROJECT_BINARY_DIR}/python_doubled)
file(GLOB double CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/host_*.cpp)
list(FILTER double EXCLUDE REGEX "/host_device\\.cpp$") # of programs
add_library(hocket_torch_doubled_library SHARED ${PROJECT_SOURCE_DIR}/tests/doubled/torch/gpu.cpp
  ${PROJECT_SOURCE_DIR}/tests/doubled/gpus.cpp ${double}
  $<FILTER:$<TARGET_OBJECTS:hocket_objects>,EXCLUDE,/process_gpus\\.cpp>)
target_compile_definitions(hocket_torch_doubled_library PRIVATE ASIO_STANDALONE)
target_include_directories(hocket_torch_doubled_library PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(hocket_torch_doubled_library PRIVATE ${libraries})
target_link_options(hocket_torch_doubled_library PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/hocket.map)
set_target_properties(hocket_torch_doubled_library PROPERTIES OUTPUT_NAME hocket
  SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${doubled}/hocket_torch)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/doubled/torch/*.cpp)
list(FILTER sources EXCLUDE REGEX "/gpu\\.cpp$")
add_library(hocket_torch_double MODULE ${sources})
target_compile_definitions(hocket_torch_double PRIVATE ${torch_DEFINITIONS})
target_include_directories(hocket_torch_double PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(hocket_torch_double SYSTEM PRIVATE ${torch_INCLUDES})
target_link_directories(hocket_torch_double PRIVATE ${torch_LIBRARY_DIRS})
target_link_libraries(hocket_torch_double PRIVATE hocket_torch_doubled_library torch torch_cpu torch_python c10)
set_target_properties(hocket_torch_double PROPERTIES PREFIX "" SUFFIX "${torch_SUFFIX}"
  LIBRARY_OUTPUT_DIRECTORY ${doubled} BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/hocket_torch")

add_custom_target(hocket_torch_doubled ALL
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:hocket_torch> ${modules} ${doubled}/hocket_torch
  DEPENDS hocket_torch hocket_torch_double hocket_torch_doubled_library)
