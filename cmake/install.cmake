# The content of an installed hearth: the component `runtime` is the command with its assets, `development` the library. A user's
# CMakeLists.txt contains
#   find_package(hearth REQUIRED)
#   target_link_libraries(my_program PRIVATE hearth::hearth)
# and, for hearth/bench.h and hearth/plots.h, hearth::bench.
include(CMakePackageConfigHelpers)

if(TARGET hearth)
  install(TARGETS hearth RUNTIME DESTINATION bin)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man1 DESTINATION share/man)  # written by src/cli/CMakeLists.txt
  install(FILES ${PROJECT_BINARY_DIR}/share/hearth DESTINATION share/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/share/_hearth DESTINATION share/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/share/hearth.fish DESTINATION share/fish/vendor_completions.d)
endif()
install(DIRECTORY include/hearth DESTINATION include COMPONENT development)
install(DIRECTORY assets/ DESTINATION share/hearth)  # searched by src/api/assets.cpp
file(GLOB configs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src/models src/models/*/configs)
foreach(folder IN LISTS configs)  # searched by src/models/checkpoints.cpp
  get_filename_component(family ${folder} DIRECTORY)
  install(DIRECTORY src/models/${folder}/ DESTINATION share/hearth/configs/${family})
endforeach()

# hearth_api, hearth_bench and all folders below them.
set(libraries hearth_api hearth_bench)
set(seen "")
while(libraries)
  list(POP_FRONT libraries library)
  if(library IN_LIST seen)
    continue()
  endif()
  list(APPEND seen ${library})
  get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^hearth_")
      list(APPEND libraries ${link})
    endif()
  endforeach()
endwhile()
set_target_properties(hearth_api PROPERTIES EXPORT_NAME hearth)
set_target_properties(hearth_bench PROPERTIES EXPORT_NAME bench)
install(TARGETS ${seen} EXPORT hearth ARCHIVE DESTINATION lib/hearth COMPONENT development)
install(EXPORT hearth NAMESPACE hearth:: DESTINATION lib/cmake/hearth FILE hearth-targets.cmake COMPONENT development)
install(FILES cmake/hearth-config.cmake cmake/hearth-assets.cpp.in cmake/FindOniguruma.cmake cmake/FindWebP.cmake DESTINATION lib/cmake/hearth
        COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hearth-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hearth-config-version.cmake DESTINATION lib/cmake/hearth COMPONENT development)
