// Conversations that clients had with the server (transcripts/*.json, written by tests/clients/record.py) are held again: every status,
// body and event must be what it was then, but for ids and times.
#include <filesystem>
#include <fstream>

#include "server/live_server_test.h"

namespace hearth::server::test {
namespace {

namespace fs = std::filesystem;

// Ids by the order in which they occur, times as 0; which tokens of the prompt came from the cache depends on what was asked before.
class Scrubber {
 public:
  void scrub(Json& value) {
    if (value.is_object()) {
      if (value.contains("cache_read_input_tokens")) {
        value["input_tokens"] = value["input_tokens"].get<int64_t>() + value["cache_read_input_tokens"].get<int64_t>();
        value["cache_read_input_tokens"] = 0;
      }
      for (auto& [name, member] : value.items()) {
        if (name == "created_at" || name == "completed_at" || name == "created") member = member.is_null() ? Json() : Json(0);
        else if (name == "request_id") member = "ID";
        else if (name == "cached_tokens") member = 0;
        else if (is_id(name) && member.is_string()) member = number_of(member);
        else scrub(member);
      }
    } else if (value.is_array()) {
      for (Json& element : value) scrub(element);
    }
  }
  // The other way: an id of the transcript as the server's.
  std::string real(std::string text) const {
    for (const auto& [id, number] : numbers_)
      for (size_t at = 0; (at = text.find(number, at)) != text.npos;) text.replace(at, number.size(), id), at += id.size();
    return text;
  }

 private:
  static bool is_id(const std::string& name) {
    return name == "id" || name == "item_id" || name == "previous_response_id" || name == "first_id" || name == "last_id" ||
           name == "call_id";
  }
  std::string number_of(const std::string& id) {
    const auto [found, is_new] = numbers_.try_emplace(id, "ID" + std::to_string(numbers_.size()) + "_");
    return found->second;
  }
  std::map<std::string, std::string> numbers_;
};

std::vector<Json> events_of(const std::string& body) {
  std::vector<Json> events;
  for (size_t begin = 0; begin < body.size();) {
    const size_t end = std::min(body.find("\n\n", begin), body.size()), data = body.find("data: ", begin);
    if (data < end) {
      const std::string text = body.substr(data + 6, end - data - 6);
      events.push_back(text == "[DONE]" ? Json(text) : Json::parse(text));
    }
    begin = end + 2;
  }
  return events;
}

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, are_held_again) {
  std::ifstream file(fs::path(__FILE__).parent_path() / "transcripts" / GetParam());
  const Json steps = Json::parse(file);
  Scrubber scrubber;
  for (const Json& step : steps) {
    const std::string body = step["body"].is_null() ? "" : scrubber.real(step["body"].dump());
    const Response response = live_server().call(step["method"], scrubber.real(step["path"]), body);
    EXPECT_EQ(response.status, step["status"]) << response.body;
    const bool stream = step.contains("events");
    Json answer = stream ? Json(events_of(response.body)) : Json::parse(response.body);
    scrubber.scrub(answer);
    const Json& expected = stream ? step["events"] : step["answer"];
    ASSERT_EQ(answer.size(), expected.size()) << answer.dump(1);
    if (!stream) { EXPECT_EQ(answer, expected) << "of " << step["path"]; }
    for (size_t i = 0; stream && i < answer.size(); ++i) EXPECT_EQ(answer[i], expected[i]) << "event " << i << " of " << step["path"];
  }
}

std::vector<std::string> transcripts() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(__FILE__).parent_path() / "transcripts"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Transcripts, testing::ValuesIn(transcripts()), [](const auto& name) {
  std::string id = name.param;
  std::ranges::replace_if(
      id, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return id;
});

}  // namespace
}  // namespace hearth::server::test
