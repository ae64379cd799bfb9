# What `cmake --install` puts where: headers, both libraries, the programs, and a description for CMake and for pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Hocket)

install(DIRECTORY include/hocket DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS hocket EXPORT HocketShared)
install(TARGETS hocket_static EXPORT HocketStatic)
if(TARGET hocket_heap)
  install(TARGETS hocket_heap LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(HOCKET_PROGRAMS)
  install(TARGETS ${HOCKET_PROGRAMS})
  configure_file(tools/hocket-store.service.in hocket-store.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/hocket-store.service DESTINATION lib/systemd/system)
  # Started by hocket-sgd, which looks for them there, whatever CMAKE_INSTALL_LIBEXECDIR is.
  install(PROGRAMS tools/test-hosts DESTINATION libexec/hocket)
  install(FILES bench/peers/network.py DESTINATION libexec/hocket)
  install(DIRECTORY tools/test_hosts DESTINATION libexec/hocket FILES_MATCHING PATTERN "*.py")
endif()

# Two export sets: whoever links the shared library needs none of the packages that the static one passes on.
install(EXPORT HocketShared NAMESPACE Hocket:: DESTINATION ${package_dir})
install(EXPORT HocketStatic NAMESPACE Hocket:: DESTINATION ${package_dir})
configure_package_config_file(cmake/HocketConfig.cmake.in HocketConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(HocketConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/HocketConfig.cmake ${PROJECT_BINARY_DIR}/HocketConfigVersion.cmake
  DESTINATION ${package_dir})

# Relative to itself, so that `cmake --install --prefix` and moved trees work.
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(name IN ITEMS hocket hocket-static)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Each prefix keeps a list of what was installed into it, itself included, so that it can be removed again. The manifest
# in the build folder knows only the latest prefix.
install(CODE "set(HOCKET_INSTALLED_FILES ${package_dir}/installed_files.txt)")
install(SCRIPT cmake/installed_files.cmake)
