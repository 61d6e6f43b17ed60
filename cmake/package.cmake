# The packages that `make deb` and `make tarball` build with CPack:
#   hearth_VERSION_ARCH.deb, libhearth-dev_VERSION_ARCH.deb     the command; the library for find_package(hearth)
#   hearth-VERSION-linux-ARCH.tar.gz                            the command, which runs from any folder
# The tarball also has the shared libraries that are not part of every system (component `bundle`), each with its license.

# The command searches lib/hearth first; only the tarball puts shared libraries there. Unlike a RUNPATH, an RPATH also applies to the
# libraries of libraries.
if(TARGET hearth)
  set_target_properties(hearth PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/hearth")
  target_link_options(hearth PRIVATE -Wl,--disable-new-dtags)
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:hearth>\" RESOLVED_DEPENDENCIES_VAR libraries
         PRE_EXCLUDE_REGEXES \"^lib(c|m|pthread|dl|rt|stdc\\\\+\\\\+|gcc_s)\\\\.so\" \"^ld-linux\")
    foreach(library IN LISTS libraries)
      file(INSTALL \"\${library}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/hearth\" FOLLOW_SYMLINK_CHAIN)
      file(REAL_PATH \"\${library}\" file)
      string(REGEX REPLACE \"^/usr\" \"\" unmerged \"\${file}\")  # dpkg may list it under its name before /lib became /usr/lib
      execute_process(COMMAND dpkg-query --search \"\${file}\" \"\${unmerged}\" OUTPUT_VARIABLE package ERROR_QUIET)
      string(REGEX REPLACE \":.*\" \"\" package \"\${package}\")
      file(INSTALL \"/usr/share/doc/\${package}/copyright\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/doc/\${package}\" FOLLOW_SYMLINK_CHAIN)
    endforeach()" COMPONENT bundle EXCLUDE_FROM_ALL)
endif()
install(FILES LICENSE DESTINATION share/doc/hearth RENAME copyright)
install(FILES LICENSE DESTINATION share/doc/libhearth-dev RENAME copyright COMPONENT development)

set(CPACK_PACKAGE_NAME hearth)
set(CPACK_PACKAGE_VENDOR "hearth")
set(CPACK_PACKAGE_CONTACT "The hearth maintainers <maintainers@hearth.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME hearth-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package-generators.cmake)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME hearth)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libhearth-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Files that hearth-config.cmake needs. The assets are in the command's package.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "hearth (= ${PROJECT_VERSION}), libfmt-dev, libssl-dev, nlohmann-json3-dev, zlib1g-dev, libpng-dev, \
libjpeg-dev, libicu-dev, libonig-dev, libwebp-dev")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Generates images and text with published checkpoints, on the CPU.\nA small demo model of each kind is included.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C++20 library: headers, static libraries, find_package(hearth).")
include(CPack)
