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
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HOCKET_CCACHE})
endif()

# Off: a designated initializer is meant to leave the other members at their defaults, and GCC 12 sees overlapping copies
# in every `"text" + string` (its bug 105651).
add_compile_options(-Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CONFIG:Debug>:-D_GLIBCXX_ASSERTIONS>)

# Fusing a product with a sum where the processor can would make results differ between processors.
add_compile_options(-ffp-contract=off)

if(HOCKET_SANITIZE)
  # The vptr check looks whether memory can be read through a pipe of its own, so it sees a ghost in every test in which the
  # descriptors have run out.
  # GCC's flow analysis sees ghosts in instrumented code; the other presets have these warnings as errors.
  add_compile_options(-fsanitize=${HOCKET_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=array-bounds)
  add_link_options(-fsanitize=${HOCKET_SANITIZE})
endif()
