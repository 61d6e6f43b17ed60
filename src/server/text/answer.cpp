#include "server/text/answer.h"

#include "server/text/format_rules.h"

namespace hearth::server {
namespace {

class PlainParser final : public AnswerParser {
 public:
  std::vector<AnswerEvent> push(const std::string& text) override {
    if (text.empty()) return {};
    return {{.kind = AnswerEvent::Kind::text, .text = text, .id = {}}};
  }
  std::vector<AnswerEvent> finish() override { return {}; }
  int64_t calls() const override { return 0; }
};

}  // namespace

AnswerFormat::AnswerFormat(const LanguageService&, const ChatRequest& request, const std::string&)
    : rules_(format_rules(request.format)), param_(param_of(request.format.kind)) {}

std::unique_ptr<AnswerParser> AnswerFormat::start() const { return std::make_unique<PlainParser>(); }

}  // namespace hearth::server
