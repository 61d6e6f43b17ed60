# One folder = one target. hearth_library(NAME DEPS … LIBS … TEST_DEPS …) builds the static library hearth_NAME from the
# folder's *.cpp and, if there are *_test.cpp, the test program hearth_NAME_test. DEPS are other hearth folders. Only these
# can be linked, so an include against the arrows of docs/architecture.md fails.

include(GoogleTest)

add_library(hearth_options INTERFACE)
target_include_directories(hearth_options INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src;${PROJECT_SOURCE_DIR}/include;${PROJECT_BINARY_DIR}/generated>"
                                                    $<INSTALL_INTERFACE:include>)
target_compile_features(hearth_options INTERFACE cxx_std_20)  # for users too
# Designated initializers omit members that keep their default, so the warning about that is off.
# No contraction: a*b+c is an FMA only if a kernel says so, so all compilers give the same bits.
target_compile_options(hearth_options INTERFACE
                       "$<BUILD_INTERFACE:-Wall;-Wextra;-Wshadow;-Wno-missing-field-initializers;-ffp-contract=off;$<$<BOOL:${HEARTH_WERROR}>:-Werror>>")
if(HEARTH_SANITIZE)
  # GCC 12 with a sanitizer reports uninitialized variables inside its own <regex>.
  target_compile_options(hearth_options INTERFACE -Wno-maybe-uninitialized -fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hearth_options INTERFACE -fsanitize=${HEARTH_SANITIZE})
endif()

function(hearth_library name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS;TEST_DEPS;SUBDIRS" ${ARGN})
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
  else()
    add_library(hearth_${name} INTERFACE)
    target_link_libraries(hearth_${name} INTERFACE hearth_options ${arg_DEPS} ${arg_LIBS})
  endif()

  if(HEARTH_BUILD_TESTS AND tests)
    add_executable(hearth_${name}_test ${tests})
    target_compile_options(hearth_${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)  # saves a third of the build time; the tested code keeps its own level
    target_link_libraries(hearth_${name}_test PRIVATE hearth_${name} hearth_test_support)
    foreach(dep IN LISTS arg_TEST_DEPS)
      target_link_libraries(hearth_${name}_test PRIVATE hearth_${dep})
    endforeach()
    gtest_discover_tests(hearth_${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT 900)
  endif()
endfunction()
