# What a prefix holds: headers, libstria.so, the provider folder, tools, and the files by which pkg-config and CMake find
# them. The benchmarks and the Open MPI component install themselves beside their targets. Included last by the top
# CMakeLists.txt, so that all targets exist. A prefix may be moved: nothing installed here names it.
include(CMakePackageConfigHelpers)

set(stria_provider_dir ${CMAKE_INSTALL_LIBDIR}/stria/providers)
set(stria_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stria)

# ---- headers, library ---------------------------------------------------------------------------------------------

# A component of their own: who writes a provider needs nothing else.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/stria DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT stria_headers
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS stria EXPORT stria_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Providers that are shared libraries of their own are searched here; those of other projects are put here too.
install(DIRECTORY DESTINATION ${stria_provider_dir})
file(RELATIVE_PATH stria_providers_from_bin /${CMAKE_INSTALL_BINDIR} /${stria_provider_dir})
set_property(SOURCE ${PROJECT_SOURCE_DIR}/transport/loader.cpp TARGET_DIRECTORY stria_transport APPEND PROPERTY
             COMPILE_DEFINITIONS STRIA_PROVIDER_DIR="${CMAKE_INSTALL_FULL_LIBDIR}/stria/providers"
                                 STRIA_PROVIDER_FROM_LIBRARY="stria/providers"
                                 STRIA_PROVIDER_FROM_PROGRAM="${stria_providers_from_bin}")

# ---- tools --------------------------------------------------------------------------------------------------------

if(TARGET stria_info)
  install(TARGETS stria_info RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Installed programs find the library from where they lie themselves.
file(RELATIVE_PATH stria_from_native /${CMAKE_INSTALL_LIBEXECDIR}/stria/native /${CMAKE_INSTALL_LIBDIR})
foreach(question ${stria_bench_questions} latency multi_lat bw bibw mbw_mr datatype)
  if(TARGET native_osu_${question})
    set_target_properties(native_osu_${question} PROPERTIES INSTALL_RPATH "$ORIGIN/${stria_from_native}")
  endif()
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")

# ---- pkg-config ---------------------------------------------------------------------------------------------------

file(RELATIVE_PATH stria_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" stria_prefix_from_pc "${stria_prefix_from_pc}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/stria.pc.in ${CMAKE_CURRENT_BINARY_DIR}/stria.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/stria.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- CMake package: find_package(stria) gives stria::stria ----------------------------------------------------------

install(EXPORT stria_targets FILE stria-targets.cmake NAMESPACE stria:: DESTINATION ${stria_cmake_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/stria-config.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/stria-config.cmake
                              INSTALL_DESTINATION ${stria_cmake_dir} PATH_VARS stria_provider_dir)
# While the major version is 0, a new minor version may change the ABI.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/stria-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/stria-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/stria-config-version.cmake
        DESTINATION ${stria_cmake_dir})
