# Makes a prefix with stria's headers, then configures and builds the provider in SOURCE against that prefix alone.
# INSTALL=ON: by the project's own install rules; OFF: by copying the C headers, in a tree that has no install rules.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
if(INSTALL)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${STRIA_BUILD} --prefix ${prefix}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
else()
  file(COPY ${STRIA_SOURCE}/include/stria/stria.h ${STRIA_SOURCE}/include/stria/provider.h
       DESTINATION ${prefix}/include/stria)
endif()
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${prefix}
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${flags}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build COMMAND_ERROR_IS_FATAL ANY)
