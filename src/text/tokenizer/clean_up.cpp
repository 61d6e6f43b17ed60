#include <algorithm>

#include "text/tokenizer/decode_steps.h"

namespace hearth::text::pipeline {
namespace {

class Collect : public TokenSink {
 public:
  explicit Collect(std::string& out) : out_(out) {}
  void text(std::string_view part) override { out_ += part; }
  void end() override {}
  void finish() override {}

 private:
  std::string& out_;
};

}  // namespace

std::string LiteralReplacer::feed(std::string_view part) {
  held_ += part;
  std::string out;
  size_t done = 0;
  for (size_t at = held_.find(literal_); at != held_.npos; at = held_.find(literal_, done)) {
    out.append(held_, done, at - done).append(content_);
    done = at + literal_.size();
  }
  size_t keep = std::min(held_.size() - done, literal_.size() - 1);
  while (!std::string_view(literal_).starts_with(std::string_view(held_).substr(held_.size() - keep))) --keep;
  out.append(held_, done, held_.size() - keep - done);
  held_.erase(0, held_.size() - keep);
  return out;
}
std::string replaced(std::string_view text, const std::string& literal, const std::string& content) {
  LiteralReplacer replacer(literal, content);
  std::string out = replacer.feed(text);
  return out += replacer.rest();
}

std::string cleaned_up(std::string text) {
  static constexpr std::pair<const char*, const char*> rules[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                                                  {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                                                  {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : rules) text = replaced(text, from, to);
  return text;
}

std::unique_ptr<TokenSink> collect(std::string& out) { return std::make_unique<Collect>(out); }

std::unique_ptr<TokenSink> clean_up(std::unique_ptr<TokenSink> next) {
  static constexpr std::pair<const char*, const char*> rules[] = {{" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
                                                                  {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
                                                                  {" 've", "'ve"}, {" 're", "'re"}};
  for (size_t i = std::size(rules); i-- > 0;) next = std::make_unique<ReplaceLiteral>(std::move(next), rules[i].first, rules[i].second);
  return std::make_unique<Fuse>(std::move(next));
}

}  // namespace hearth::text::pipeline
