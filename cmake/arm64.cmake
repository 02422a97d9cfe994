# A build for ARM64 by Debian's cross compiler (the preset arm64, tools/check_arm64). The libraries that the tests need lie in
# a folder of their own, which tools/root_arm64 makes; programs of the build run by qemu's emulation of one program.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(DEFINED ENV{STRIA_ROOT_ARM64})
  set(stria_root_arm64 $ENV{STRIA_ROOT_ARM64})
else()
  get_filename_component(stria_root_arm64 ${CMAKE_CURRENT_LIST_DIR}/../build/root-arm64 ABSOLUTE)
endif()
# Nothing of this machine's own libraries is found, by whatever way: what is not in that folder is not built.
set(CMAKE_FIND_ROOT_PATH ${stria_root_arm64})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${stria_root_arm64})
set(ENV{PKG_CONFIG_LIBDIR} ${stria_root_arm64}/usr/lib/aarch64-linux-gnu/pkgconfig:${stria_root_arm64}/usr/share/pkgconfig)
# GCC as a cross compiler looks for an lld of another name than the one that there is.
set(STRIA_LLD OFF CACHE FILEPATH "the linker lld")

# Where the C and C++ libraries of the cross compiler are.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
