# Defines the target Editline::edit, because libedit has no CMake package.
find_path(Editline_INCLUDE_DIR histedit.h)
find_library(Editline_LIBRARY edit)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Editline REQUIRED_VARS Editline_LIBRARY Editline_INCLUDE_DIR)
if(Editline_FOUND AND NOT TARGET Editline::edit)
  add_library(Editline::edit UNKNOWN IMPORTED)
  set_target_properties(Editline::edit PROPERTIES IMPORTED_LOCATION ${Editline_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Editline_INCLUDE_DIR})
endif()
