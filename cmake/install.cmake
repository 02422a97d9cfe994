# What a prefix holds: headers, libstria.so, the provider folder, tools, and the files by which pkg-config and CMake find
# them. The benchmarks and the Open MPI component install themselves beside their targets (stria_install). Included last by
# the top CMakeLists.txt, so that all targets exist. A prefix may be moved: nothing installed here names it.
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
set_property(GLOBAL APPEND PROPERTY STRIA_INSTALLED stria)

# Providers that are shared libraries of their own are searched here; those of other projects are put here too.
install(DIRECTORY DESTINATION ${stria_provider_dir})
file(RELATIVE_PATH stria_providers_from_bin /${CMAKE_INSTALL_BINDIR} /${stria_provider_dir})
set_property(SOURCE ${PROJECT_SOURCE_DIR}/transport/loader.cpp TARGET_DIRECTORY stria_transport APPEND PROPERTY
             COMPILE_DEFINITIONS STRIA_PROVIDER_DIR="${CMAKE_INSTALL_FULL_LIBDIR}/stria/providers"
                                 STRIA_PROVIDER_FROM_LIBRARY="stria/providers"
                                 STRIA_PROVIDER_FROM_PROGRAM="${stria_providers_from_bin}")

# ---- tools --------------------------------------------------------------------------------------------------------

if(STRIA_TOOLS)
  stria_install(stria_info DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# stria_install_script(SOURCE NAME FROM TO): installs a script as bin/NAME. FROM is the path, relative to bin/, at which the
# script looks in a prefix with the usual folders; TO is the path in a prefix with the folders of this configuration.
function(stria_install_script source name from to)
  file(READ ${source} text)
  string(FIND "${text}" "${from}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${source} does not contain '${from}', the path that its installation replaces")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/installed/${name} "${text}")
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/installed/${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

file(RELATIVE_PATH stria_openmpi_from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR}/openmpi)
if(STRIA_MPI)
  stria_install_script(${PROJECT_SOURCE_DIR}/tools/mpirun stria_mpirun ../lib/openmpi ${stria_openmpi_from_bin})
endif()

# The comparison: its driver; its package, and beside it a module that tells where the prefix has programs and component.
if(STRIA_TOOLS)
  set(stria_compare_dir ${CMAKE_INSTALL_DATADIR}/stria/compare)
  file(RELATIVE_PATH stria_compare_from_bin /${CMAKE_INSTALL_BINDIR} /${stria_compare_dir})
  stria_install_script(${PROJECT_SOURCE_DIR}/osu_bench/compare/osu_compare osu_compare
                       ../share/stria/compare ${stria_compare_from_bin})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/osu_bench/compare/stria_compare DESTINATION ${stria_compare_dir}
          FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  file(RELATIVE_PATH stria_programs_from_package /${stria_compare_dir}/stria_compare /${CMAKE_INSTALL_LIBEXECDIR}/stria)
  file(RELATIVE_PATH stria_component_from_package /${stria_compare_dir}/stria_compare /${CMAKE_INSTALL_LIBDIR}/openmpi)
  file(CONFIGURE OUTPUT installed/installed.py CONTENT
[["""Where an installed comparison finds what it runs, seen from this folder; written when stria was configured."""

PROGRAMS = "@stria_programs_from_package@"
COMPONENT = "@stria_component_from_package@"
]] @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/installed/installed.py DESTINATION ${stria_compare_dir}/stria_compare)
endif()

# ---- documentation, examples --------------------------------------------------------------------------------------

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)

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
# As the soname (tag/CMakeLists.txt): while the major version is 0, a new minor version may change the interface.
set(stria_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(stria_compatibility SameMinorVersion)
endif()
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/stria-config-version.cmake
                                 COMPATIBILITY ${stria_compatibility})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/stria-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/stria-config-version.cmake
        DESTINATION ${stria_cmake_dir})

# ---- what has to be built -------------------------------------------------------------------------------------------

get_property(stria_installed GLOBAL PROPERTY STRIA_INSTALLED)
add_custom_target(installed DEPENDS ${stria_installed})
list(TRANSFORM stria_installed REPLACE "^(.+)$" "  \"$<TARGET_FILE:\\1>\"\n" OUTPUT_VARIABLE stria_installed_files)
list(JOIN stria_installed_files "" stria_installed_files)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/check_installed_$<CONFIG>.cmake CONTENT
"foreach(file IN ITEMS
${stria_installed_files})
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"\${file} is not built, so nothing is installed. This builds all that is installed, without the \"
            \"tests:\\n  cmake --build ${CMAKE_BINARY_DIR} --target installed\")
  endif()
endforeach()
")
