# Every folder that holds an entry.cpp is a family. hearth_registry(FILE ROOT …) writes the table of those below the roots, which is the
# definition of hearth::models::entries(), to FILE, and sets `families` to their names. A program that
# compiles a table of its own has its families: the linker takes it before the library's.
function(hearth_registry file)
  set(families "")
  set(declarations "")
  set(calls "")
  foreach(root IN LISTS ARGN)
    file(GLOB entries CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*/entry.cpp)
    foreach(entry IN LISTS entries)
      get_filename_component(family ${entry} DIRECTORY)
      list(APPEND families ${family})
      string(APPEND declarations "namespace ${family} {\nEntry entry();\n}\n")
      string(APPEND calls "      ${family}::entry(),\n")
    endforeach()
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/src/models/registry.cpp.in ${file} @ONLY)
  set(families ${families} PARENT_SCOPE)
endfunction()
