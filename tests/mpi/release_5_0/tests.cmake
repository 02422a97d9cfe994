# What Open MPI 5.0 has and 4.1 has not.
foreach(program sessions partitioned device_memory)
  stria_mpi_program(${program} SOURCES ${here}/release_5_0/${program}.cpp)
  target_include_directories(mpi_${program} PRIVATE ${here})
endforeach()
stria_mpi_test(sessions_2 PROGRAM sessions RANKS 2)
stria_mpi_test(sessions_4 PROGRAM sessions RANKS 4)
stria_mpi_test(partitioned PROGRAM partitioned RANKS 2)

add_library(mca_accelerator_pretended MODULE ${here}/release_5_0/pretended_accelerator.c)
target_link_libraries(mca_accelerator_pretended PRIVATE stria_ompi_internal stria_options)
set_target_properties(mca_accelerator_pretended PROPERTIES PREFIX ""
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/openmpi)
add_dependencies(mpi_device_memory mca_accelerator_pretended)
set(with_pretended ${CMAKE_BINARY_DIR}/lib/openmpi:${CMAKE_BINARY_DIR}/tests/openmpi:${STRIA_OMPI_COMPONENT_PATH})
stria_mpi_test(device_memory PROGRAM device_memory RANKS 1
               CHECK ${CMAKE_COMMAND} -E env STRIA_TEST_COMPONENT_PATH=${with_pretended}
                     ${here}/says "is memory of an accelerator" --)

# What would end in a crash is refused by a sentence.
stria_mpi_test(fault_ulfm PROGRAM transfer_sizes RANKS 2 MPIRUN_ARGS --with-ft ulfm LABELS fault
               CHECK ${here}/fault_check --within 30 --says "fault tolerance (--with-ft ulfm) is not supported" --)
# The table of connections of Open MPI's own names the provider.
stria_mpi_test(table_of_connections PROGRAM transfer_sizes RANKS 2
               MPIRUN_ARGS --mca ompi_display_comm mpi_finalize CHECK ${here}/says "ucx=shm;pio window" --)
