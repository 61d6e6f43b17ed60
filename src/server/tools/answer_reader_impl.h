// The two kinds of readers behind AnswerReader.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "server/tools/answer_reader.h"
#include "server/tools/call_object.h"
#include "server/tools/mark_cursor.h"
#include "server/tools/parameter_types.h"

namespace hearth::server::tools {

// Text that has come and is not understood yet, and steps that consume it.
class AnswerReader::Impl {
 public:
  Impl(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options)
      : format_(format), reasoning_(reasoning), options_(std::move(options)), events_(!options_.tools.empty()) {}
  virtual ~Impl() = default;

  std::vector<AnswerEvent> push(std::string_view text) {
    buffer_ += text;
    while (step()) {}
    return events_.take();
  }
  std::vector<AnswerEvent> finish() {
    ended_ = true;
    while (step()) {}
    last();
    events_.finish();
    return events_.take();
  }
  int64_t calls() const { return events_.calls(); }

 protected:
  virtual bool step() = 0;  // whether it has consumed something or changed the state
  virtual void last() = 0;  // after the last step

  const Tool* tool(std::string_view name) const {
    const auto found = std::ranges::find_if(options_.tools, [&](const Tool& t) { return t.name == name; });
    return found == options_.tools.end() ? nullptr : &*found;
  }
  std::string take(size_t size) {
    std::string front = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return front;
  }

  // The arguments of a call that has begun, while they are one JSON object. Consumes it, or what is valid of it; true if it has ended.
  bool read_json() {
    for (size_t i = 0; i < buffer_.size(); ++i) {
      const JsonScanner::Step s = scanner_.push(buffer_[i]);
      if (s == JsonScanner::Step::inside) continue;
      const bool complete = s == JsonScanner::Step::ended;
      events_.arguments(take(complete ? i + 1 : i));
      events_.end_call(complete);
      return true;
    }
    events_.arguments(take(buffer_.size()));
    return false;
  }

  ToolFormat format_;
  Reasoning reasoning_;
  ReaderOptions options_;
  AnswerEvents events_;
  std::string buffer_;
  bool ended_ = false;
  JsonScanner scanner_;
};

std::unique_ptr<AnswerReader::Impl> marked_reader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options);
std::unique_ptr<AnswerReader::Impl> channel_reader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options);

}  // namespace hearth::server::tools
