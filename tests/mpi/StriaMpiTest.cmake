# How MPI tests are built and launched: stria_mpi_program() and stria_mpi_test().
find_package(MPI REQUIRED COMPONENTS C CXX)
find_program(STRIA_OMPI_INFO ompi_info REQUIRED)

# Open MPI's own component directories, as it states them; ours is put in front of them.
if(NOT STRIA_OMPI_COMPONENT_PATH)
  execute_process(COMMAND ${STRIA_OMPI_INFO} --parsable --param mca base --level 9
                  OUTPUT_VARIABLE ompi_params ERROR_QUIET)
  string(REGEX MATCH "mca_base_component_path:value:\"?([^\"\n]+)" found "${ompi_params}")
  set(ompi_components "${CMAKE_MATCH_1}")
  if(NOT ompi_components)
    execute_process(COMMAND ${STRIA_OMPI_INFO} --parsable --path pkglibdir OUTPUT_VARIABLE ompi_path
                    ERROR_QUIET)
    string(REGEX MATCH "path:pkglibdir:([^\n]+)" found "${ompi_path}")
    set(ompi_components "${CMAKE_MATCH_1}")
  endif()
  if(NOT ompi_components)
    message(FATAL_ERROR "ompi_info names no component directory; set STRIA_OMPI_COMPONENT_PATH")
  endif()
  set(STRIA_OMPI_COMPONENT_PATH "${ompi_components}" CACHE STRING "Open MPI's default component path")
endif()

set(STRIA_MPI_LAUNCH ${CMAKE_CURRENT_LIST_DIR}/launch)
set(STRIA_MPI_TEST_ENVIRONMENT
    "STRIA_TEST_COMPONENT_PATH=${CMAKE_BINARY_DIR}/lib/openmpi:${STRIA_OMPI_COMPONENT_PATH}")

# 5.0 hands that path on to PMIx, which complains of components that are not its own unless it has one of its own.
if(STRIA_OMPI_RELEASE VERSION_EQUAL 5.0)
  pkg_get_variable(stria_pmix_libraries pmix libdir)
  list(APPEND STRIA_MPI_TEST_ENVIRONMENT "PMIX_MCA_mca_base_component_path=${stria_pmix_libraries}/pmix")
endif()

# stria_mpi_program(NAME SOURCES ...): build/tests/mpi/NAME, a program that sees nothing but mpi.h and the harness.
function(stria_mpi_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_executable(mpi_${name} ${ARG_SOURCES})
  target_link_libraries(mpi_${name} PRIVATE stria_mpi_harness stria_options Threads::Threads)
  set_target_properties(mpi_${name} PROPERTIES OUTPUT_NAME ${name}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/mpi)
endfunction()

# stria_mpi_test(name PROGRAM prog RANKS n [ARGS ...] [WRAP ...] [TIMEOUT s] [LABELS ...] [MPIRUN_ARGS ...]
#                [BIND how] [CHECK ...] [LONG]): one ctest entry named mpi.name that runs PROGRAM, a target of
#   stria_mpi_program() or a path, through the launcher.
#   RANKS 0   without mpirun
#   WRAP      words put before the program on every rank
#   CHECK     words put before the launcher: a script that judges how the job ended
#   TIMEOUT   seconds after which the launcher ends the job, by default 180, or 420 of a LONG one; ctest itself waits 20 s
#             longer
#   LONG      a program that does STRIA_TEST_ROUNDS times its rounds (tests/rounds.hpp): the launcher gives it as many
#             times its seconds, and ctest waits for the launcher
# STRIA_TEST_PML in the environment of ctest chooses another layer than stria.
function(stria_mpi_test name)
  cmake_parse_arguments(ARG "LONG" "PROGRAM;RANKS;TIMEOUT;BIND" "ARGS;WRAP;LABELS;MPIRUN_ARGS;CHECK" ${ARGN})
  # Against jobs without end. The others take a few seconds where nothing else runs, and those with many rounds ten.
  if(NOT ARG_TIMEOUT AND ARG_LONG)
    set(ARG_TIMEOUT 420)
  elseif(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 180)
  endif()
  if(TARGET mpi_${ARG_PROGRAM})
    set(ARG_PROGRAM $<TARGET_FILE:mpi_${ARG_PROGRAM}>)
  endif()
  set(launch_options -n ${ARG_RANKS} -t ${ARG_TIMEOUT})
  if(ARG_BIND)
    list(APPEND launch_options -b ${ARG_BIND})
  endif()
  if(ARG_LONG)
    list(APPEND launch_options -l)
  endif()
  foreach(word ${ARG_MPIRUN_ARGS})
    list(APPEND launch_options -m ${word})
  endforeach()
  add_test(NAME mpi.${name}
           COMMAND ${ARG_CHECK} ${STRIA_MPI_LAUNCH} ${launch_options} -- ${ARG_WRAP} ${ARG_PROGRAM} ${ARG_ARGS})
  set(labels mpi ${ARG_LABELS})
  math(EXPR patience "${ARG_TIMEOUT} + 20")
  if(ARG_LONG)
    set(patience 7220)  # tools/test --long
  endif()
  set_tests_properties(mpi.${name} PROPERTIES
                       LABELS "${labels}" TIMEOUT ${patience} PROCESSORS 2 COST 600 SKIP_RETURN_CODE 77
                       ENVIRONMENT "${STRIA_MPI_TEST_ENVIRONMENT}")
endfunction()
