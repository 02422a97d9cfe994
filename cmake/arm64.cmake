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
# GCC as a cross compiler does not look for lld in /usr/bin, so it is told of a folder with a link to it.
find_program(stria_lld ld.lld NO_CMAKE_FIND_ROOT_PATH)
if(stria_lld)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/linker)
  file(CREATE_LINK ${stria_lld} ${CMAKE_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  set(CMAKE_EXE_LINKER_FLAGS_INIT "\"-B${CMAKE_BINARY_DIR}/linker\"")
endif()

# Where emulated programs find the libraries of the cross compiler, and those that other libraries load (libudev).
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu
    -E LD_LIBRARY_PATH=${stria_root_arm64}/usr/lib/aarch64-linux-gnu)
