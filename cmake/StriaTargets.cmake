# Warnings, sanitizers and the three kinds of target: a room (one static library a folder), a program, a test.
find_program(STRIA_CCACHE ccache)
if(STRIA_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${STRIA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STRIA_CCACHE})
endif()

add_library(stria_options INTERFACE)
target_compile_options(stria_options INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wpointer-arith -Wcast-align -Wundef -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wsuggest-override
                                -Wzero-as-null-pointer-constant>
  -fno-math-errno -fno-semantic-interposition)
target_compile_definitions(stria_options INTERFACE _GNU_SOURCE)
if(STRIA_SANITIZE)
  # Not vptr, which looks into spdlog's objects and knows nothing of their types.
  target_compile_options(stria_options INTERFACE -fsanitize=${STRIA_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize=vptr -fno-sanitize-recover=all)
  target_link_options(stria_options INTERFACE -fsanitize=${STRIA_SANITIZE})
endif()

# stria_compile_together(TARGET): its sources are compiled a dozen at a time, unless STRIA_UNITY is off, because reading the same
# headers again takes most of the time. A name of an unnamed namespace is in one source of the target only. That each source
# of such a target compiles by itself is seen by tools/check_alone.
function(stria_compile_together target)
  if(STRIA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# stria_room(NAME SOURCES ... DEPS ...): the static library stria_NAME of one folder. It links only against
# the rooms named in DEPS, so that an include against the arrows fails at link time.
function(stria_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(stria_${name} STATIC ${ARG_SOURCES})
  target_include_directories(stria_${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(stria_${name} PUBLIC ${ARG_DEPS} PRIVATE stria_options)
  stria_compile_together(stria_${name})
endfunction()

# stria_message_path(TARGET): for code that passes small descriptors from call to call. Two fields stored one by one and
# then read by one vector load cannot be forwarded: the load waits until every earlier store is in the cache, the lines of
# messages just sent among them, which cost half the message rate.
function(stria_message_path target)
  target_compile_options(${target} PRIVATE -fno-tree-slp-vectorize)
endfunction()

# stria_program(NAME SOURCES ... DEPS ...): an executable in bin/.
function(stria_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} stria_options)
endfunction()

# stria_install(TARGET... DESTINATION FOLDER): installs programs or components, and makes them parts of the target
# `installed`, which builds what a prefix holds and nothing else. What links libstria.so finds it from where it lies itself,
# so that the prefix may be moved.
function(stria_install)
  cmake_parse_arguments(ARG "" "DESTINATION" "" ${ARGN})
  file(RELATIVE_PATH to_library /${ARG_DESTINATION} /${CMAKE_INSTALL_LIBDIR})
  foreach(target ${ARG_UNPARSED_ARGUMENTS})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if("stria::stria" IN_LIST libraries)
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")
    endif()
    install(TARGETS ${target} RUNTIME DESTINATION ${ARG_DESTINATION} LIBRARY DESTINATION ${ARG_DESTINATION})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY STRIA_INSTALLED ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# A test's own sources are most of what is compiled, and GoogleTest's macros most of that: what is tested is the library,
# as optimised as ever, and what tests it takes half the time to compile so.
add_library(stria_gtest_options INTERFACE)
if(STRIA_SANITIZE)
  # Undefined behaviour is looked for in the library alone: looking for it takes a third of the time of compiling a test.
  target_compile_options(stria_gtest_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O0;-fno-sanitize=undefined>)
else()
  set(STRIA_TEST_LEVEL -O1 CACHE STRING "how far the sources of tests are optimised")
  target_compile_options(stria_gtest_options INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:${STRIA_TEST_LEVEL};-g0>")
endif()
if(CMAKE_CROSSCOMPILING_EMULATOR)
  target_compile_definitions(stria_gtest_options INTERFACE STRIA_TEST_EMULATED)
endif()
target_link_libraries(stria_gtest_options INTERFACE stria_options GTest::gtest GTest::gmock GTest::gtest_main)
# Some two hundred programs are linked, with everything that they test: by the fastest linker that is there.
find_program(STRIA_LLD ld.lld)
if(STRIA_LLD)
  target_link_options(stria_gtest_options INTERFACE -fuse-ld=lld)
endif()

# A test is compiled by clang where that is installed, whatever compiles the library: it takes a third of GCC's time.
# tools/check_debian13 compiles by GCC those of the rooms that ask something of the system, and a build without clang all.
find_program(STRIA_TEST_COMPILER clang++ DOC "what compiles GoogleTest programs; OFF: what compiles the library")
set(gtest_launcher)
if(STRIA_CCACHE)
  set(gtest_launcher ${STRIA_CCACHE})
endif()
set(gtest_target)
set(clang_can TRUE)
if(CMAKE_CROSSCOMPILING)
  set(gtest_target --target=${CMAKE_LIBRARY_ARCHITECTURE})
  if(NOT DEFINED CMAKE_LIBRARY_ARCHITECTURE)
    set(clang_can FALSE) # the toolchain's file does not say for what
  endif()
endif()
if(STRIA_TEST_COMPILER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND clang_can AND NOT STRIA_SANITIZE)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/compile_test.in compile_test @ONLY
                 FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(gtest_launcher ${CMAKE_CURRENT_BINARY_DIR}/compile_test)
endif()

# stria_gtest(TARGET): makes an executable a GoogleTest program in tests/. The framework's header, and what most tests use
# of the standard library, are read once for all of them, by a program that has no test; not with ccache, which keeps nothing
# that a precompiled header is part of.
function(stria_gtest target)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                             CXX_COMPILER_LAUNCHER "${gtest_launcher}")
  target_link_libraries(${target} PRIVATE stria_gtest_options)
  if(STRIA_CCACHE)
    return()
  endif()
  if(NOT TARGET precompiled_gtest)
    add_executable(precompiled_gtest ${PROJECT_SOURCE_DIR}/tests/precompiled_gtest.cpp)
    set_target_properties(precompiled_gtest PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                                       CXX_COMPILER_LAUNCHER "${gtest_launcher}")
    target_link_libraries(precompiled_gtest PRIVATE stria_gtest_options)
    target_precompile_headers(precompiled_gtest PRIVATE <algorithm> <array> <chrono> <deque> <map> <random> <string> <thread>
                              <vector> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_gtest)
endfunction()

# stria_test(NAME SOURCES ... DEPS ... [LABELS ...] [THREADS] [TIMEOUT s] [ARGS ...]): a GoogleTest program, one ctest entry.
#   THREADS   several threads of the program are in the library at a time: the label `threads`, by which ThreadSanitizer's
#             build finds its tests. A source that starts a thread asks for it.
function(stria_test name)
  cmake_parse_arguments(ARG "THREADS" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS" ${ARGN})
  if(NOT STRIA_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(ARG_THREADS)
    list(APPEND ARG_LABELS threads)
  else()
    foreach(source ${ARG_SOURCES})
      file(STRINGS ${source} starts REGEX "std::(jthread|thread|async)[ (>{]|pthread_create\\(")
      if(starts)
        message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${source} starts a thread, but the test ${name} does not say THREADS: "
                "ThreadSanitizer would not see it")
      endif()
    endforeach()
  endif()
  # The folder below tests/, so that a run can choose among them: folder:tag.
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" folder "${folder}")
  list(APPEND ARG_LABELS folder:${folder})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  stria_gtest(${name})
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
