# find_package(hearth): the target hearth::hearth.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(nlohmann_json)
find_dependency(PNG)
find_dependency(ICU COMPONENTS uc i18n data)
include(${CMAKE_CURRENT_LIST_DIR}/hearth-targets.cmake)
