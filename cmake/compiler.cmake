# Language, warnings, sanitizers and ccache: how every target here is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # clang-tidy reads it

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

find_program(HOCKET_CCACHE ccache)
if(HOCKET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers can be cached only where ccache trusts that macros and times do not change them. What one clone
  # compiled into a folder of its own serves the same folder of every other, where objects do not name their sources.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${HOCKET_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>) # so that ccache sees which header was used
endif()

# Headers of the standard library and of packages are read once for all sources of a target, not once for each: reading
# them is most of what compiling costs here. Every source still includes what it uses (tools/nightly compiles each alone).
option(HOCKET_PRECOMPILE "Precompile the headers of packages and of the standard library" ON)
function(hocket_precompile target)
  if(HOCKET_PRECOMPILE)
    set(headers ${ARGN})
    list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

# Up to ten sources of a target are compiled together, for the same reason: a build without a compiler's cache takes a third of the
# time (decision 72). What has options of its own is not joined, so with cmake/link_time.cmake nothing on the way of a small call is.
option(HOCKET_UNITY "Compile up to ten sources together" ON)
set(CMAKE_UNITY_BUILD ${HOCKET_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)

set(HOCKET_STANDARD_HEADERS algorithm array atomic chrono condition_variable cstdint cstring deque functional map memory
  mutex optional span string string_view thread unordered_map utility vector)

# Among sources that are compiled together, a local name may be that of another source's global one.
set(shadow -Wshadow)
if(HOCKET_UNITY)
  set(shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
endif()
# Off: a designated initializer is meant to leave the other members at their defaults, and GCC 12 sees overlapping copies
# and overlong ones in every `"text" + string` (its bug 105651).
add_compile_options(-Wall -Wextra -Werror -Wpedantic ${shadow} -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers $<$<CONFIG:Debug>:-D_GLIBCXX_ASSERTIONS>
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>")

# Fusing a product with a sum where the processor can would make results differ between processors.
add_compile_options(-ffp-contract=off)

if(HOCKET_SANITIZE)
  # The vptr check looks whether memory can be read through a pipe of its own, so it sees a ghost in every test in which the
  # descriptors have run out.
  # GCC's flow analysis sees ghosts in instrumented code; the other presets have these warnings as errors.
  add_compile_options(-fsanitize=${HOCKET_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=maybe-uninitialized;-Wno-error=stringop-overflow;-Wno-error=array-bounds>")
  add_link_options(-fsanitize=${HOCKET_SANITIZE})
endif()

# Sources in which nothing that is measured runs.
function(hocket_optimise_little)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O1)
  endif()
endfunction()
