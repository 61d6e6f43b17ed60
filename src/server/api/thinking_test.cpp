#include "server/api/thinking.h"

#include "server/api/text_api_test.h"

namespace hearth::server::test {
namespace {

TEST(Thinking, variables_are_found_in_templates) {
  struct Case {
    const char *source, *toggle;
    bool effort, budget, thinks;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"{{ messages }}", "", false, false, false},
           {"{% if enable_thinking is defined and enable_thinking is false %}x{% endif %}", "enable_thinking", false, false, true},
           {"{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}", "enable_thinking", false, false, true},
           {"{% if a %}{% elif thinking %}x{% endif %}", "thinking", false, false, true},
           {"{% set thinking = thinking | default(false) %}", "thinking", false, false, true},
           {"{% set reasoning_effort = reasoning_effort | default('medium') %}", "", true, false, true},
           {"{% if thinking_budget == 0 %}x{% endif %}", "", false, true, false},
           // Not from outside: an attribute, a text, a comment, data, its own variable, a keyword.
           {"{{ message.thinking }}{{ 'thinking' }}{# thinking #} thinking", "", false, false, false},
           {"{% set thinking = message.thinking %}{{ thinking }}", "", false, false, false},
           {"{% for thinking in messages %}{{ thinking }}{% endfor %}", "", false, false, false},
           {"{% set ns = namespace(thinking=1) %}", "", false, false, false},
           {"{{ '<think>' }}{{ x }}", "", false, false, true},
           {"{% if %", "", false, false, false}}) {
    const ThinkingControl found = thinking_control(c.source);
    EXPECT_EQ(found.toggle, c.toggle) << c.source;
    EXPECT_EQ(found.effort, c.effort) << c.source;
    EXPECT_EQ(found.budget, c.budget) << c.source;
    EXPECT_EQ(found.thinks, c.thinks) << c.source;
  }
}

std::string effort(const char* word, const ThinkingControl& control) {
  const Json request{{"effort", word}};
  Json variables = Json::object();
  const std::string refusal = refusal_of([&] { set_effort(Fields(request, "reasoning"), "effort", control, variables); });
  return refusal.empty() ? variables.dump() : refusal;
}

TEST(Thinking, an_effort_is_honored_or_refused) {
  const ThinkingControl none{}, always{.thinks = true}, toggle{.toggle = "thinking", .thinks = true},
      levels{.effort = true, .thinks = true}, both{.toggle = "enable_thinking", .effort = true, .thinks = true};
  EXPECT_EQ(effort("medium", none), "{}");
  EXPECT_EQ(effort("none", none), "{}");
  EXPECT_EQ(effort("high", none), "400 reasoning.effort: 'high', but the model's chat template has no such setting");
  EXPECT_EQ(effort("none", always), "400 reasoning.effort: 'none', but the model's chat template cannot turn reasoning off");
  EXPECT_EQ(effort("none", toggle), R"({"thinking":false})");
  EXPECT_EQ(effort("low", toggle), R"({"thinking":true})");
  EXPECT_EQ(effort("low", levels), R"({"reasoning_effort":"low"})");
  EXPECT_EQ(effort("none", both), R"({"enable_thinking":false,"reasoning_effort":"none"})");
  EXPECT_EQ(effort("huge", both), "400 reasoning.effort: 'huge', expected one of none, minimal, low, medium, high, xhigh, max");
}

std::string thinking(bool on, const ThinkingControl& control) {
  const Json request = Json::object();
  Json variables = Json::object();
  const std::string refusal = refusal_of([&] { set_thinking(Fields(request, "thinking"), "type", on, control, variables); });
  return refusal.empty() ? variables.dump() : refusal;
}

TEST(Thinking, is_turned_on_and_off_where_the_template_can) {
  EXPECT_EQ(thinking(true, {.toggle = "thinking", .thinks = true}), R"({"thinking":true})");
  EXPECT_EQ(thinking(false, {.toggle = "thinking", .thinks = true}), R"({"thinking":false})");
  EXPECT_EQ(thinking(true, {.thinks = true}), "{}");
  EXPECT_EQ(thinking(false, {}), "{}");
  EXPECT_EQ(thinking(true, {}), "400 thinking.type: this model's chat template knows no reasoning");
  EXPECT_EQ(thinking(false, {.thinks = true}), "400 thinking.type: this model's chat template cannot turn reasoning off");
}

}  // namespace
}  // namespace hearth::server::test
