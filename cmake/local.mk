# SPDX-License-Identifier: BSD-2-Clause
# cmake/local.mk - what other build systems need: find_package(cpool) of the installed
# library, and the builds of the library alone by CMake and by Meson.

cmakedir = $(libdir)/cmake/cpool
cmake_DATA = cmake/cpool-config.cmake cmake/cpool-config-version.cmake

EXTRA_DIST += CMakeLists.txt cmake/mingw-w64.cmake meson.build meson_options.txt
