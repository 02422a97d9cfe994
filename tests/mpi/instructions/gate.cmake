# stria_instructions_test(NAME WAS n LABELS ... COMMAND ...): a ctest entry that fails when a message costs 3 % more
# instructions than n. The counts are of GCC 12, optimised, on a CPU with AVX2 (which valgrind shows to the program), and the
# same in every run there, to a thousandth, whatever the addresses, the environment and the core: nothing that is counted
# waits. With another compiler, or not optimised, they would say nothing, and the tests are left out.
set(STRIA_INSTRUCTIONS_COUNT ${CMAKE_CURRENT_LIST_DIR}/count)

function(stria_instructions_test name)
  cmake_parse_arguments(ARG "" "WAS" "COMMAND;LABELS" ${ARGN})
  if(STRIA_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     OR NOT CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
    message(STATUS "${name} is left out: its instructions were counted for the release build by GCC 12")
    return()
  endif()
  add_test(NAME ${name} COMMAND ${STRIA_INSTRUCTIONS_COUNT} --was ${ARG_WAS} -- ${ARG_COMMAND})
  # What the library would ask of the processor is said: a gate is of one way to store and copy, not of the host's caches
  # (valgrind shows those to the program). The distance is said, too: valgrind's times say nothing about caches. What is sent
  # to oneself goes as to any other peer: that is what is to be counted.
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 450 SKIP_RETURN_CODE 77
                       ENVIRONMENT "${STRIA_MPI_TEST_ENVIRONMENT};STRIA_SHM_DISTANCE=near;STRIA_SELF_COPY=off;\
STRIA_SHM_SHORT_LAPS=off;STRIA_SHM_STRINGS=off;STRIA_STRINGS=off;STRIA_VECTORS=avx2;STRIA_PACING=few;STRIA_FIRST_CACHE=48K;\
STRIA_LAST_CACHE=32M;STRIA_RNDV_FLOWS=off")
endfunction()
