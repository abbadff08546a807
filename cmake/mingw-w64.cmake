# SPDX-License-Identifier: BSD-2-Clause
# mingw-w64.cmake - a toolchain file for 64-bit Windows, with Debian's packages.
#
#   cmake --toolchain libcpool/cmake/mingw-w64.cmake ...
#   cmake --toolchain libcpool/cmake/mingw-w64.cmake -DMINGW_COMPILER=clang ...
#
# Needs gcc-mingw-w64-x86-64-posix, with Clang for its C library and linker.  Tests run under wine64.

set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(MINGW_COMPILER gcc CACHE STRING "gcc or clang")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MINGW_COMPILER)

set(mingw x86_64-w64-mingw32)
set(CMAKE_RC_COMPILER ${mingw}-windres)
if(MINGW_COMPILER STREQUAL "clang")
    foreach(language C CXX)
        set(CMAKE_${language}_COMPILER_TARGET ${mingw})
    endforeach()
    set(CMAKE_C_COMPILER clang)
    set(CMAKE_CXX_COMPILER clang++)
    execute_process(COMMAND ${mingw}-gcc-posix -print-libgcc-file-name
        OUTPUT_VARIABLE mingw_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(mingw_runtime "${mingw_runtime}" DIRECTORY)
    set(CMAKE_CXX_FLAGS_INIT "-isystem ${mingw_runtime}/include/c++ \
-isystem ${mingw_runtime}/include/c++/${mingw}")
    set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-static -lstdc++ -lgcc_eh -lpthread")
    foreach(kind EXE SHARED MODULE)
        set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${mingw_runtime}")
    endforeach()
else()
    set(CMAKE_C_COMPILER ${mingw}-gcc-posix)
    set(CMAKE_CXX_COMPILER ${mingw}-g++-posix)
endif()

set(CMAKE_FIND_ROOT_PATH /usr/${mingw})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(mingw_wine NAMES wine64 PATHS /usr/lib/wine NO_CMAKE_FIND_ROOT_PATH)
if(mingw_wine)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${mingw_wine})
endif()
