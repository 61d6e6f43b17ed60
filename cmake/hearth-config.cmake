# find_package(hearth): the targets hearth::hearth, and hearth::bench for hearth/bench.h and hearth/plots.h.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(OpenSSL)
find_dependency(nlohmann_json)
find_dependency(CURL)
find_dependency(ZLIB)
find_dependency(PNG)
find_dependency(JPEG)
find_dependency(ICU COMPONENTS uc i18n data)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_dependency(Oniguruma)
find_dependency(WebP)
include(${CMAKE_CURRENT_LIST_DIR}/hearth-targets.cmake)

# The location of this hearth's assets, for programs that are not installed next to them: a source for targets that link hearth::hearth, so
# that the installed tree can be moved.
get_filename_component(hearth_ASSETS ${CMAKE_CURRENT_LIST_DIR}/../../../share/hearth ABSOLUTE)
configure_file(${CMAKE_CURRENT_LIST_DIR}/hearth-assets.cpp.in ${CMAKE_BINARY_DIR}/hearth-assets.cpp @ONLY)
set_property(TARGET hearth::hearth APPEND PROPERTY INTERFACE_SOURCES ${CMAKE_BINARY_DIR}/hearth-assets.cpp)
