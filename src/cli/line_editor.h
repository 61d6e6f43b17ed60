// Reads lines: with editing and history on a terminal, elsewhere as they are.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace hearth::cli {

class LineEditor {
 public:
  explicit LineEditor(std::string prompt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without its line feed; nothing at the end of the input. "" also if Ctrl-C was pressed.
  std::optional<std::string> read();
  bool on_terminal() const { return bool(editor_); }

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;
};

}  // namespace hearth::cli
