// Answers as models write them, format by format.
#pragma once

#include <vector>

#include "server/tools/answer_reader_test.h"

namespace hearth::server::tools::test {

struct Case {
  const char* format;
  const char* answer;
  const char* text;
  std::vector<Call> calls;
  bool usual = true;  // whether the grammar allows it; readers understand more
};

inline constexpr const char* weather = R"({"city": "Zürich", "days": 3})";

// Answers as these models write them.
inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"tool_call_json",
       "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}\n</tool_call>",
       "",
       {{"get_weather", weather}}},
      {"tool_call_json",
       "I'll look.\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": "
       "3}}\n</tool_call>\n<tool_call>\n"
       "{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>\n\nDone, I think.\n",
       "I'll look.Done, I think.\n",
       {{"get_weather", weather}, {"get_time", "{}"}},
       false},
      // Arguments first, as a string, missing; other members; no line ends.
      {"tool_call_json",
       R"(<tool_call>{"arguments":{"city":"Ulm"},"name":"get_weather"}</tool_call>)",
       "",
       {{"get_weather", R"({"city":"Ulm"})"}},
       false},
      {"tool_call_json",
       R"(<tool_call>{"name":"get_weather","arguments":"{\"city\": \"Ulm\"}"}</tool_call>)",
       "",
       {{"get_weather", R"({"city": "Ulm"})"}},
       false},
      {"tool_call_json", R"(<tool_call>{"name":"get_time"}</tool_call>)", "", {{"get_time", "{}"}}, false},
      {"tool_call_json",
       R"(<tool_call>{"id":7,"name":"get_time","x":[1,{"y":null}],"arguments":null}</tool_call>)",
       "",
       {{"get_time", "{}"}},
       false},
      // Braces, quotes, marks and escapes inside strings; the bytes are those of the model.
      {"tool_call_json",
       "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a } \\\" ] </tool_call> \\u00e9 \\ud83d\\ude00 \\\\\" ,\n "
       "\"days\" : 1e0}}\n</tool_call>",
       "",
       {{"get_weather", "{\"city\": \"a } \\\" ] </tool_call> \\u00e9 \\ud83d\\ude00 \\\\\" ,\n \"days\" : 1e0}"}},
       false},
      {"tool_call_json",
       R"(<tool_call>{"name": "note.add", "arguments": {"text": "{\"a\": [}", "tags": ["{", "[[\"]"], "level": "low"}}</tool_call>)",
       "",
       {{"note.add", R"({"text": "{\"a\": [}", "tags": ["{", "[[\"]"], "level": "low"})"}}},
      {"function_tags",
       "Let me "
       "see.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n"
       "</tool_call>\n<tool_call>\n<function=get_time>\n</function>\n</tool_call>",
       "Let me see.",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"function_tags",
       "<tool_call>\n<function=note.add>\n<parameter=text>\ntwo\n\"lines\" </p> \n\n</parameter>\n<parameter=tags>\n[\"</parameter>\", "
       "\"b\"]\n</parameter>\n"
       "<parameter=level>\n5\n</parameter>\n<parameter=urgent>\nTrue\n</parameter>\n<parameter=place>\nnorth of "
       "[x]\n</parameter>\n</function>\n</tool_call>",
       "",
       {{"note.add",
         R"({"text": "two\n\"lines\" </p> \n", "tags": ["</parameter>", "b"], "level": "5", "urgent": true, "place": "north of [x]"})"}},
       false},
      // Without the outer or the inner marks, and on one line.
      {"function_tags",
       "<function=get_weather><parameter=city>Ulm</parameter></function>",
       "",
       {{"get_weather", R"({"city": "Ulm"})"}},
       false},
      {"function_tags",
       "<tool_call><function=get_weather><parameter=city>Ulm</parameter></tool_call>",
       "",
       {{"get_weather", R"({"city": "Ulm"})"}},
       false},
      {"seed_function_tags",
       "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Zürich</parameter>\n<parameter=days>3</parameter>\n</function>\n</"
       "seed:tool_call>",
       "",
       {{"get_weather", weather}}},
      {"invoke_tags",
       "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Zürich</parameter>\n<parameter "
       "name=\"days\">3</parameter>\n</invoke>\n"
       "<invoke name=\"get_time\">\n</invoke>\n</minimax:tool_call>",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"key_value_tags",
       "\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Zürich</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</"
       "arg_value>\n</tool_call>\n"
       "<tool_call>get_time\n</tool_call>",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"key_value_tags",
       "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Ulm</arg_value></tool_call><tool_call>get_time</tool_call>",
       "",
       {{"get_weather", R"({"city": "Ulm"})"}, {"get_time", "{}"}}},
      {"fenced_calls",
       "Sure.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Zürich\", \"days\": "
       "3}\n```<｜tool▁call▁end｜>\n"
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "Sure.",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"separated_calls",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Zürich\", \"days\": "
       "3}<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_time"
       "<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"counted_calls",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Zürich\", \"days\": "
       "3}<|tool_call_end|>"
       "<|tool_call_begin|>functions.get_time:1 <|tool_call_argument_begin|> {}<|tool_call_end|><|tool_calls_section_end|>",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}},
       false},
      {"action_list",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", \"days\": "
       "3}},\n"
       "    {\"tool_call_id\": \"1\", \"tool_name\": \"get_time\", \"parameters\": {}}\n]<|END_ACTION|>",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"action_list", "<|START_RESPONSE|>Nothing to <call>.<|END_RESPONSE|>", "Nothing to <call>.", {}},
      {"action_fence",
       "Action: ```json\n[\n    {\n        \"tool_name\": \"get_weather\",\n        \"parameters\": {\"city\": \"Zürich\", \"days\": 3}\n  "
       "  }\n]```",
       "",
       {{"get_weather", weather}}},
      {"bracketed_list",
       "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}, {\"name\": \"get_time\", "
       "\"arguments\": {}, \"id\": \"abcdefghi\"}]",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"bracketed_list", "Hm. [TOOL_CALLS][{\"name\": \"get_time\", \"arguments\": {}}]", "Hm.", {{"get_time", "{}"}}},
      {"bracketed_list", "[TOOL_CALLS] {\"name\": \"get_time\", \"arguments\": {}}", "", {{"get_time", "{}"}}, false},
      {"bracketed_names",
       "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Zürich\", \"days\": 3}[TOOL_CALLS]get_time[CALL_ID]abcDEF123[ARGS]{}",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"bracketed_names", "[TOOL_CALLS]get_time{}", "", {{"get_time", "{}"}}, false},
      {"toolcall_list",
       "<TOOLCALL>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}]</TOOLCALL>",
       "",
       {{"get_weather", weather}}},
      {"tool_calls_list",
       "<tool_calls>[\n  {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}\n]</tool_calls>",
       "",
       {{"get_weather", weather}}},
      {"functools_list",
       "functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}, {\"name\": \"get_time\", \"arguments\": "
       "{}}]",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"functools_list", "<|tool_call|>[{\"name\": \"get_time\", \"arguments\": {}}]<|/tool_call|>", "", {{"get_time", "{}"}}, false},
      {"functools_list", "The module functools has [a] cache.", "The module functools has [a] cache.", {}},
      {"tool_call_list",
       "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}]",
       "",
       {{"get_weather", weather}}},
      {"tool_call_list", "<tool_call>[{\"name\": \"get_time\", \"arguments\": {}}]", "", {{"get_time", "{}"}}, false},
      {"plugin_action",
       "Yes.<|action_start|><|plugin|>\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", \"days\": 3}}<|action_end|>",
       "Yes.",
       {{"get_weather", weather}}},
      {"function_json", "<function=get_weather>{\"city\": \"Zürich\", \"days\": 3}</function>", "", {{"get_weather", weather}}},
      {"bare_json", "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", \"days\": 3}}", "", {{"get_weather", weather}}},
      {"bare_json",
       "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", \"days\": 3}}; {\"name\": \"get_time\", "
       "\"parameters\": {}}",
       "",
       {{"get_weather", weather}, {"get_time", "{}"}}},
      {"bare_json", " {\"type\": \"function\", \"name\": \"get_time\", \"parameters\": {}}\n", "", {{"get_time", "{}"}}, false},
      {"bare_json", "{\"name\": \"Ann\", \"age\": 7}", "{\"name\": \"Ann\", \"age\": 7}", {}, false},
      {"bare_json", "{\"city\": \"Ulm\", \"name\": \"get_time\"}", "{\"city\": \"Ulm\", \"name\": \"get_time\"}", {}},
      {"bare_json", "{\"type\": \"x\", \"name\": \"get_time\"}", "{\"type\": \"x\", \"name\": \"get_time\"}", {}},
      {"bare_json", "[1, 2]", "[1, 2]", {}},
      {"channels", "<|channel|>final<|message|>Hello <b>there</b>.", "Hello <b>there</b>.", {}},
      {"channels", "Plain text, without headers.", "Plain text, without headers.", {}, false},
      {"channels",
       "<|channel|>commentary<|message|>First I look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
       "<|constrain|>json<|message|>"
       "{\"city\": \"Zürich\", \"days\": 3}<|call|>",
       "First I look.",
       {{"get_weather", weather}}},
      {"channels", " to=functions.get_time<|channel|>commentary json<|message|>{}<|call|>", "", {{"get_time", "{}"}}},
      {"channels",
       "<|start|>assistant<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{}",
       "",
       {{"get_time", "{}"}},
       false},
  };
  return all;
}

}  // namespace hearth::server::tools::test
