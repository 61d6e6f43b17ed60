# One folder = one target. hearth_library(NAME DEPS … LIBS … TEST_DEPS …) builds the static library hearth_NAME from the
# folder's *.cpp and, if there are *_test.cpp, the test program hearth_NAME_test. DEPS are other hearth folders. Only these
# can be linked, so an include against the arrows of docs/architecture.md fails.

include(GoogleTest)

option(HEARTH_UNITY "Compile several sources as one: a clean build takes half the time, an edit recompiles its neighbors too" OFF)

add_library(hearth_options INTERFACE)
target_include_directories(hearth_options INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src;${PROJECT_SOURCE_DIR}/include;${PROJECT_BINARY_DIR}/generated>"
                                                    $<INSTALL_INTERFACE:include>)
target_compile_features(hearth_options INTERFACE cxx_std_20)  # for users too
# Designated initializers omit members that keep their default, so the warning about that is off.
# No contraction: a*b+c is an FMA only if a kernel says so, so all compilers give the same bits.
target_compile_options(hearth_options INTERFACE
                       "$<BUILD_INTERFACE:-Wall;-Wextra;-Wshadow;-Wno-missing-field-initializers;-ffp-contract=off;$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>;$<$<BOOL:${HEARTH_WERROR}>:-Werror>>")
if(HEARTH_SANITIZE)
  # GCC 12 with a sanitizer reports uninitialized variables inside its own <regex>.
  target_compile_options(hearth_options INTERFACE -Wno-maybe-uninitialized -fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hearth_options INTERFACE -fsanitize=${HEARTH_SANITIZE})
endif()

# Three sets of precompiled headers: those that nearly every source includes, the same with JSON, and with GoogleTest. They contain only
# headers of the system and of libraries, so an edit of our own headers recompiles only their users, and tools/check.sh still finds these.
set(headers <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <filesystem> <fstream> <functional>
            <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map>
            <unordered_set> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
if(HEARTH_SANITIZE)
  # A sanitizer reports the same code without them, and its builds are rare.
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
function(hearth_precompile name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// The precompiled headers of ${name} need a source to belong to.\n")
  endif()
  add_library(hearth_${name} STATIC ${source})
  target_link_libraries(hearth_${name} PRIVATE hearth_options fmt::fmt Threads::Threads ${arg_LIBS})
  target_precompile_headers(hearth_${name} PRIVATE ${headers} ${arg_HEADERS})
endfunction()
hearth_precompile(headers)
hearth_precompile(json_headers HEADERS <nlohmann/json.hpp> LIBS nlohmann_json::nlohmann_json)
if(HEARTH_BUILD_TESTS)
  hearth_precompile(test_headers HEADERS <nlohmann/json.hpp> <gtest/gtest.h> LIBS nlohmann_json::nlohmann_json GTest::gtest)
endif()

# Options of a test program. -O1 saves a third of its build time; the tested code keeps its own level. In a unity build, several sources at
# once take less than half the time of each alone; SINGLY: not here, because many use the same private names.
function(hearth_test_program target)
  cmake_parse_arguments(arg "SINGLY" "" "" ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_precompile_headers(${target} REUSE_FROM hearth_test_headers)
  if(HEARTH_UNITY AND NOT arg_SINGLY)
    # A local name may be a private one of a neighbor. Other builds warn of shadows within a source.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6
                                               UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  endif()
endfunction()

# JSON_HEADERS: most sources include <nlohmann/json.hpp>. COLD: nothing here computes, so -O1 is enough. In a unity build, SINGLY:
# each source is compiled on its own, because many use the same private names; ALONE: these sources are; TESTS_SINGLY: each test is.
function(hearth_library name)
  cmake_parse_arguments(arg "JSON_HEADERS;COLD;SINGLY;TESTS_SINGLY" "" "DEPS;LIBS;TEST_DEPS;SUBDIRS;ALONE" ${ARGN})
  set(patterns *.cpp)
  foreach(dir IN LISTS arg_SUBDIRS)
    list(APPEND patterns ${dir}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  list(TRANSFORM arg_DEPS PREPEND hearth_)
  if(sources)
    add_library(hearth_${name} STATIC ${sources})
    target_link_libraries(hearth_${name} PUBLIC hearth_options ${arg_DEPS} ${arg_LIBS})
    if(arg_JSON_HEADERS)
      target_precompile_headers(hearth_${name} REUSE_FROM hearth_json_headers)
    else()
      target_precompile_headers(hearth_${name} REUSE_FROM hearth_headers)
    endif()
    if(arg_COLD)
      target_compile_options(hearth_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    if(NOT arg_SINGLY)
      set_target_properties(hearth_${name} PROPERTIES UNITY_BUILD ${HEARTH_UNITY} UNITY_BUILD_BATCH_SIZE 6)
    endif()
    if(arg_ALONE)
      set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  else()
    add_library(hearth_${name} INTERFACE)
    target_link_libraries(hearth_${name} INTERFACE hearth_options ${arg_DEPS} ${arg_LIBS})
  endif()

  if(HEARTH_BUILD_TESTS AND tests)
    add_executable(hearth_${name}_test ${tests})
    if(arg_TESTS_SINGLY)
      hearth_test_program(hearth_${name}_test SINGLY)
    else()
      hearth_test_program(hearth_${name}_test)
    endif()
    target_link_libraries(hearth_${name}_test PRIVATE hearth_${name} hearth_test_support)
    foreach(dep IN LISTS arg_TEST_DEPS)
      target_link_libraries(hearth_${name}_test PRIVATE hearth_${dep})
    endforeach()
    gtest_discover_tests(hearth_${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT 900)
  endif()
endfunction()
