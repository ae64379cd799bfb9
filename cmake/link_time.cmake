# A small call runs through many sources, so those on its way are optimised together where they are linked: 0.40 instead of
# 0.44 µs for 4 bytes over shared memory, 4.55 instead of 4.70 over TCP. What computes with floats is left out.
option(HOCKET_LINK_TIME "Optimise the way of a small call across sources (GCC, Release)" ON)
if(HOCKET_LINK_TIME AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HOCKET_SANITIZE)
  file(GLOB on_the_way CONFIGURE_DEPENDS src/capi/*.cpp src/exec/*.cpp src/exec/direct/*.cpp src/plan/direct/*.cpp transports/shm/*.cpp
    transports/tcp/*.cpp src/comm/communicator.cpp src/comm/call_planner.cpp src/comm/idle_operations.cpp src/comm/call_route.cpp
    src/comm/mesh.cpp src/comm/routes.cpp src/comm/started_calls.cpp src/comm/validate.cpp src/cuda/process_gpus.cpp src/spi/*.cpp src/plan/layout.cpp
    src/plan/plan.cpp)
  list(FILTER on_the_way EXCLUDE REGEX "/(encode|reduce)\\.cpp$")
  # Their few thread-local variables stand where the thread's pointer leads, so that no call of the loader finds them: the
  # library's take less than 400 bytes of the 1,664 that glibc sets aside for libraries that a program loads later.
  set_property(SOURCE ${on_the_way} APPEND PROPERTY COMPILE_OPTIONS -flto=auto -ffat-lto-objects -ftls-model=initial-exec)
  target_link_options(hocket PRIVATE -flto=auto)
  # Other compilers, and other versions of this one, cannot read what is kept for the linker; and tests link faster.
  add_custom_command(TARGET hocket_static POST_BUILD VERBATIM
    COMMAND ${CMAKE_OBJCOPY} --wildcard --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
      $<TARGET_FILE:hocket_static>)
  if(TARGET hocket-bench)
    target_sources(hocket-bench PRIVATE $<TARGET_OBJECTS:hocket_objects>)
    target_link_options(hocket-bench PRIVATE -flto=auto)
  endif()
  if(TARGET bench-instructions)
    target_compile_definitions(bench-instructions PRIVATE HOCKET_LINK_TIME)
  endif()
endif()
