#include "cli/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <iostream>

namespace hearth::cli {

struct LineEditor::Editor {
  EditLine* line = el_init("hearth", stdin, stdout, stderr);
  History* history = history_init();
  std::string prompt;

  ~Editor() {
    el_end(line);
    history_end(history);
  }
};

LineEditor::LineEditor(std::string prompt) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  // libedit reads characters in the process's locale and ends the line at one that it cannot read: "hé" would become "h".
  if (!std::setlocale(LC_CTYPE, "C.UTF-8")) std::setlocale(LC_CTYPE, "");
  editor_ = std::make_unique<Editor>();
  editor_->prompt = std::move(prompt);
  HistEvent event;
  history(editor_->history, &event, H_SETSIZE, 1000);
  el_set(editor_->line, EL_CLIENTDATA, editor_.get());
  el_set(
      editor_->line, EL_PROMPT, +[](EditLine* line) {
        Editor* editor = nullptr;
        el_get(line, EL_CLIENTDATA, &editor);
        return editor->prompt.data();
      });
  el_set(editor_->line, EL_HIST, history, editor_->history);
  el_set(editor_->line, EL_EDITOR, "emacs");
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::read() {
  std::string line;
  if (!editor_) {
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  int count = 0;
  const char* typed = el_gets(editor_->line, &count);
  if (!typed || count <= 0) {
    if (count < 0 && errno == EINTR) {  // Ctrl-C discards the line
      el_reset(editor_->line);
      std::fputs("\n", stdout);
      return "";
    }
    return std::nullopt;
  }
  line.assign(typed, size_t(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  HistEvent event;
  if (!line.empty()) history(editor_->history, &event, H_ENTER, line.c_str());
  return line;
}

}  // namespace hearth::cli
