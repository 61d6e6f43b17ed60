#include "server/tools/answer_reader.h"

#include <gtest/gtest.h>

#include "server/tools/answer_cases_test.h"
#include "server/tools/answer_reader_test.h"

namespace hearth::server::tools {
namespace {

using test::Answer;
using test::Call;
using test::Case;
using test::cases;

TEST(answer_reader, reads_what_models_write) {
  const ReaderOptions options{.tools = test::some_tools()};
  for (const Case& c : cases()) {
    const Answer answer = test::read_every_way(format_named(c.format), {}, options, c.answer);
    EXPECT_EQ(answer.text, c.text) << c.format << ": " << c.answer;
    EXPECT_EQ(answer.calls, c.calls) << c.format << ": " << c.answer << "\n" << answer;
  }
}

TEST(answer_reader, every_format_has_a_case) {
  for (const ToolFormat& format : formats()) {
    const auto of_format = [&](const Case& c) { return c.format == format.name && c.calls.size() > 0; };
    EXPECT_TRUE(std::ranges::any_of(cases(), of_format)) << format.name;
  }
}

TEST(answer_reader, reads_no_calls_without_tools) {
  for (const Case& c : cases()) {
    const ToolFormat& format = format_named(c.format);
    if (format.kind == ToolFormat::Kind::channels || !format.silent.empty()) continue;
    const Answer answer = test::read_every_way(format, {}, {}, c.answer);
    EXPECT_EQ(answer.text, c.answer);
    EXPECT_TRUE(answer.calls.empty());
  }
  const Answer answer = test::read_every_way(format_named("channels"), {.channels = true}, {},
                                             "<|channel|>commentary to=functions.get_time json<|message|>{}<|call|>");
  EXPECT_EQ(answer.text, "<|channel|>commentary to=functions.get_time json<|message|>{}");
}

// What does not parse as a call of a known tool stays in the text, with its marks.
TEST(answer_reader, gives_what_is_no_call_as_text) {
  const ReaderOptions options{.tools = test::some_tools()};
  const std::pair<const char*, const char*> answers[] = {
      {"tool_call_json", "<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>"},
      {"tool_call_json", "a <tool_call>no JSON</tool_call> b"},
      {"tool_call_json", "<tool_call>{\"name\": 5}</tool_call>"},
      {"tool_call_json", "<tool_call>{\"name\": \"get_time\", \"arguments\": [1]}"},
      {"tool_call_json", "<tool_call>{\"arguments\": {\"a\": 1}}"},
      {"tool_call_json", "<tool_call>{\"name\" \"get_time\"}"},
      {"tool_call_json", "the mark <tool_call> and <tool_ and <"},
      {"tool_call_json", "<tool_call>\n{\"name\": \"get_we"},
      {"function_tags", "<tool_call>\n<function=unknown>\n</function>\n</tool_call>"},
      {"function_tags", "<tool_call> then <function=get_time> no more <function="},
      {"key_value_tags", "<tool_call>unknown\n</tool_call>"},
      {"key_value_tags", "<tool_call>get_time!</tool_call>"},
      {"fenced_calls", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>unknown\n```json\n{}\n```<｜tool▁call▁end｜>"},
      {"separated_calls", "<｜tool▁calls▁begin｜>x<｜tool▁call▁begin｜>get_time{}"},
      {"counted_calls", "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time<|tool_call_argument_begin|>{}"},
      {"bracketed_list", "[TOOL_CALLS] [{\"name\": \"unknown\", \"arguments\": {}}]"},
      {"bracketed_list", "[TOOL_CALLS] []"},
      {"bracketed_names", "[TOOL_CALLS]unknown[ARGS]{}"},
      {"bracketed_names", "[TOOL_CALLS]get_time[ARGS][1]"},
      {"bare_json", "{\"name\": \"unknown\", \"parameters\": {}}"},
      {"bare_json", "<|python_tag|>print(1)"},
      {"bare_json", "Call {\"name\": \"get_time\", \"parameters\": {}}"},
      {"channels", "<|channel|>commentary to=functions.unknown <|constrain|>json<|message|>{}"},
      {"channels", "<|channel|>commentary to=functions.get_time json<|message|>no JSON"},
      {"channels", "<|channel|>comm"},
  };
  for (const auto& [format, text] : answers) {
    const Answer answer = test::read_every_way(format_named(format), {}, options, text);
    EXPECT_EQ(answer.text, text) << format;
    EXPECT_TRUE(answer.calls.empty()) << format << ": " << text;
  }
}

TEST(answer_reader, finds_a_call_behind_a_broken_one) {
  const ReaderOptions options{.tools = test::some_tools()};
  const ToolFormat& format = format_named("tool_call_json");
  const std::string good = "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>";
  const Answer answer = test::read_every_way(format, {}, options, "<tool_call>{\"name\": \"x\"}</tool_call>" + good + "end");
  EXPECT_EQ(answer.text, "<tool_call>{\"name\": \"x\"}</tool_call>end");
  EXPECT_EQ(answer.calls, (std::vector<Call>{{"get_time", "{}"}}));
  const Answer nested = test::read_every_way(format, {}, options, "<tool_call><tool_call>{\"na" + good);
  EXPECT_EQ(nested.text, "<tool_call><tool_call>{\"na");
  EXPECT_EQ(nested.calls.size(), 1u);
}

// A call that has begun cannot be taken back: it ends incomplete, with the arguments so far, and the rest is text.
TEST(answer_reader, says_which_calls_are_incomplete) {
  const ReaderOptions options{.tools = test::some_tools()};
  struct Broken {
    const char *format, *answer, *arguments, *text;
  };
  const Broken answers[] = {
      {"tool_call_json", "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ul", "{\"city\": \"Ul", ""},
      {"tool_call_json", "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": Ulm}}</tool_call>",
       "{\"city\": ", "Ulm}}</tool_call>"},
      {"separated_calls", "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": 01}", "{\"city\": 0", "1}"},
      {"function_tags", "<tool_call>\n<function=get_weather>\n<parameter=city>\nUlm\n", "{\"city\": \"Ulm\\n", ""},
      {"function_tags", "<tool_call>\n<function=get_weather>\n<parameter=days>\n3", "{\"days\": ", "3"},
      {"function_tags", "<tool_call>\n<function=get_weather>\n<parameter=city>\nUlm\n</parameter> so", "{\"city\": \"Ulm\"", " so"},
      {"channels", "<|channel|>commentary to=functions.get_weather json<|message|>{\"city\": ", "{\"city\": ", ""},
  };
  for (const Broken& b : answers) {
    const Answer answer = test::read_every_way(format_named(b.format), {}, options, b.answer);
    EXPECT_EQ(answer.calls, (std::vector<Call>{{"get_weather", b.arguments, false}})) << b.answer;
    EXPECT_EQ(answer.text, b.text) << b.answer;
  }
  // The arguments are complete, the call is not closed.
  const Answer closed =
      test::read_every_way(format_named("tool_call_json"), {}, options, "<tool_call>{\"name\": \"get_time\", \"arguments\": {}");
  EXPECT_EQ(closed.calls, (std::vector<Call>{{"get_time", "{}", true}}));
}

TEST(answer_reader, separates_reasoning) {
  const ToolFormat& format = format_named("tool_call_json");
  const Reasoning think{.open = "<think>", .close = "</think>"};
  const ReaderOptions options{.tools = test::some_tools()};
  const std::string call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";

  Answer a = test::read_every_way(format, think, options, "<think>\nI need\n the <tool_call>.\n</think>\n\nIt is late.\n" + call);
  EXPECT_EQ(a.reasoning, "I need\n the <tool_call>.");
  EXPECT_EQ(a.text, "It is late.");
  EXPECT_EQ(a.order, (std::vector<std::string>{"reasoning", "text", "call"}));

  ReaderOptions inside = options;
  inside.inside_reasoning = true;
  a = test::read_every_way(format, think, inside, "So </thin king.\n</think>\nYes.");
  EXPECT_EQ(a.reasoning, "So </thin king.");
  EXPECT_EQ(a.text, "Yes.");
  a = test::read_every_way(format, think, inside, "never done </thi");
  EXPECT_EQ(a.reasoning, "never done </thi");
  EXPECT_EQ(a.text, "");

  a = test::read_every_way(format, think, options, "<think>\n\n</think>\n\nYes.");
  EXPECT_EQ(a.order, (std::vector<std::string>{"text"}));
  EXPECT_EQ(a.text, "Yes.");
  a = test::read_every_way(format, think, options, "<thin ice>");
  EXPECT_EQ(a.text, "<thin ice>");
  a = test::read_every_way(format, think, options, "One <think> in the text.");
  EXPECT_EQ(a.text, "One <think> in the text.");

  ReaderOptions off = options;
  off.separate_reasoning = false;
  a = test::read_every_way(format, think, off, "<think>a</think>\n" + call);
  EXPECT_EQ(a.text, "<think>a</think>");
  EXPECT_EQ(a.calls.size(), 1u);
}

TEST(answer_reader, separates_reasoning_in_channels) {
  const ToolFormat& format = format_named("channels");
  const ReaderOptions options{.tools = test::some_tools()};
  const std::string answer =
      "<|channel|>analysis<|message|>The user\nwants "
      "it.<|end|><|start|>assistant<|channel|>analysis<|message|>More.<|end|><|start|>assistant"
      "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Here:\n1 < 2 <|x|><|return|>";
  Answer a = test::read_every_way(format, {.channels = true}, options, answer);
  EXPECT_EQ(a.reasoning, "The user\nwants it.\nMore.");
  EXPECT_EQ(a.text, "I look.\nHere:\n1 < 2 <|x|>");
  ReaderOptions off;
  off.separate_reasoning = false;
  a = test::read_every_way(format, {.channels = true}, off,
                           "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.");
  EXPECT_EQ(a.text, "Hm.\nYes.");
  EXPECT_EQ(a.reasoning, "");
}

TEST(answer_reader, removes_hidden_tokens_and_silent_marks) {
  ReaderOptions options{.tools = test::some_tools(), .hidden = {"<|im_end|>", "<|endoftext|>"}};
  const Reasoning think{.open = "<think>", .close = "</think>", .silent = {"<response>", "</response>"}};
  Answer a =
      test::read_every_way(format_named("tool_call_json"), think, options,
                           "<think>a</think><response>b <|im_ c</response>\n<tool_call>{\"name\": \"get_time\"}</tool_call><|im_end|>");
  EXPECT_EQ(a.text, "b <|im_ c");
  EXPECT_EQ(a.calls.size(), 1u);
  options.hidden = {"<|call|>", "<|return|>", "<|endoftext|>"};
  a = test::read_every_way(format_named("channels"), {.channels = true}, options, "<|channel|>final<|message|>b<|return|><|endoftext|>");
  EXPECT_EQ(a.text, "b");
}

// Text arrives as soon as it cannot be a mark any more, and arguments while they are written.
TEST(answer_reader, does_not_wait) {
  AnswerReader reader(format_named("tool_call_json"), {}, {.tools = test::some_tools()});
  const auto text_of = [](const std::vector<AnswerEvent>& events) {
    std::string all;
    for (const AnswerEvent& e : events) all += std::string(1, "trcae"[int(e.kind)]) + e.text + "|";
    return all;
  };
  EXPECT_EQ(text_of(reader.push("one <")), "tone|");
  EXPECT_EQ(text_of(reader.push("tool")), "");
  EXPECT_EQ(text_of(reader.push("box")), "t <toolbox|");
  EXPECT_EQ(text_of(reader.push("<tool_call>{\"name\": \"get_weather\", \"arg")), "");
  EXPECT_EQ(text_of(reader.push("uments\": {\"ci")), "cget_weather|a{\"ci|");
  EXPECT_EQ(text_of(reader.push("ty\": \"Ul")), "aty\": \"Ul|");
  EXPECT_EQ(text_of(reader.push("m\"}}</tool_call>")), "am\"}|e|");
  EXPECT_EQ(text_of(reader.finish()), "");

  AnswerReader tags(format_named("function_tags"), {}, {.tools = test::some_tools()});
  EXPECT_EQ(text_of(tags.push("<tool_call>\n<function=get_weather>\n<parameter=city>\nUl")), "cget_weather|a{\"city\": \"Ul|");
  EXPECT_EQ(text_of(tags.push("m\n</par")), "am|");
}

TEST(answer_reader, keeps_the_ids_that_models_write) {
  const auto id_of = [](const char* format, const std::string& text) {
    AnswerReader reader(format_named(format), {}, {.tools = test::some_tools()});
    for (const AnswerEvent& e : reader.push(text))
      if (e.kind == AnswerEvent::Kind::call) return e.id;
    return std::string();
  };
  EXPECT_EQ(id_of("counted_calls", "<|tool_call_begin|>functions.get_time:4<|tool_call_argument_begin|>{}"), "functions.get_time:4");
  EXPECT_EQ(id_of("bracketed_names", "[TOOL_CALLS]get_time[CALL_ID]abcDEF123[ARGS]{}"), "abcDEF123");
  EXPECT_EQ(id_of("bracketed_names", "[TOOL_CALLS]get_time[ARGS]{}").size(), 9u);
  EXPECT_EQ(id_of("tool_call_json", "<tool_call>{\"name\": \"get_time\"}").size(), 29u);
}

}  // namespace
}  // namespace hearth::server::tools
