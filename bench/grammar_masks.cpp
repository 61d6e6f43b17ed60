// CPU time of token masks and of compiling grammars (docs/structured-output.md):
//   hearth_grammar_masks assets/clip-vit-l-14/vocab.json
// The vocabulary has 128 000 tokens: the words of CLIP's with and without a space and in other cases, all bytes, and up to four characters
// of punctuation and white space, as vocabularies that were trained on code have them.
#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "text/grammar/gbnf.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"

namespace {

using namespace hearth::text::grammar;
// CPU time of this thread, which a busy machine changes little.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) * 1e-3;
}
double microseconds_since(double start) { return now() - start; }

std::vector<std::string> vocabulary_of(const char* path, size_t size) {
  std::ifstream file(path);
  const auto words = nlohmann::json::parse(file);
  std::set<std::string> known;
  std::vector<std::string> tokens;
  const auto add = [&](const std::string& token) {
    if (tokens.size() + 1 < size && known.insert(token).second) tokens.push_back(token);
  };
  for (int b = 0; b < 256; ++b) add(std::string(1, char(b)));
  std::vector<std::string> signs{""};
  for (int length = 0; length < 4; ++length) {
    std::vector<std::string> longer;
    for (const auto& s : signs) {
      for (const char c : std::string_view("\"{}[]:, \n.-_")) longer.push_back(s + c);
    }
    if (longer.size() > 4000) longer.resize(4000);
    for (const auto& s : longer) add(s);
    signs = longer;
  }
  for (int n = 0; n < 64; ++n) add("\n" + std::string(size_t(n), ' '));
  for (int n = 0; n < 1000; ++n) add(std::to_string(n));
  std::vector<std::string> plain;
  for (const auto& [spelling, id] : words.items()) {
    const bool ends = spelling.ends_with("</w>");
    plain.push_back(ends ? spelling.substr(0, spelling.size() - 4) : spelling);
  }
  for (const auto& w : plain) add(" " + w);
  for (const auto& w : plain) add(w);
  for (const auto& w : plain) add(std::string(1, char(std::toupper(uint8_t(w[0])))) + w.substr(1));
  for (const auto& w : plain) add(" " + std::string(1, char(std::toupper(uint8_t(w[0])))) + w.substr(1));
  tokens.push_back("");
  return tokens;
}

// Draws tokens from the masks, every third one such that something closes, if one is allowed. "Later requests" draw the same texts again.
void measure(const char* name, const VocabularyIndex& vocabulary, const std::function<Rules()>& make) {
  auto start = now();
  const Grammar grammar(make());
  const double compiled = microseconds_since(start);
  for (const char* when : {"first requests", "later requests"}) {
    std::vector<double> times;
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      GrammarState state(grammar);
      for (int step = 0; step < 200 && !state.is_finished(); ++step) {
        start = now();
        const auto mask = state.mask(vocabulary);
        times.push_back(microseconds_since(start));
        std::vector<int32_t> closing, allowed;
        for (size_t id = 0; id < mask->size(); ++id) {
          if (!(*mask)[id]) continue;
          allowed.push_back(int32_t(id));
          const std::string& t = vocabulary.token(int32_t(id));
          if (t.empty() || t.ends_with('"') || t.ends_with('}') || t.ends_with(',')) closing.push_back(int32_t(id));
        }
        const auto& from = !closing.empty() && random() % 3 == 0 ? closing : allowed;
        state.accept_token(vocabulary, from[random() % from.size()]);
      }
    }
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (const double t : times) sum += t;
    fmt::print("{:<28} {:<15} compile {:8.2f} ms   {:5} masks   mean {:7.1f} us   median {:7.1f}   p99 {:8.1f}   max {:8.1f}\n", name, when,
               compiled / 1000, times.size(), sum / double(times.size()), times[times.size() / 2], times[times.size() * 99 / 100],
               times.back());
  }
}

std::string schema_of_30_fields() {
  nlohmann::ordered_json schema{{"type", "object"}, {"additionalProperties", false}};
  static const char* const types[] = {
      R"({"type":"string"})",
      R"({"type":"integer","minimum":0,"maximum":1000})",
      R"({"type":"number"})",
      R"({"type":"boolean"})",
      R"({"enum":["low","medium","high"]})",
      R"({"type":"string","format":"date-time"})",
      R"({"type":"array","items":{"type":"string","maxLength":40},"maxItems":5})",
      R"({"type":["string","null"],"pattern":"^[A-Z]{2}-\\d{4}$"})",
      R"({"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false})",
      R"({"type":"string","minLength":1,"maxLength":200})"};
  for (int i = 0; i < 30; ++i) {
    const std::string name = "field_" + std::to_string(i);
    schema["properties"][name] = nlohmann::ordered_json::parse(types[i % 10]);
    if (i % 3 != 2) schema["required"].push_back(name);
  }
  return schema.dump();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: hearth_grammar_masks VOCAB.JSON\n");
    return 2;
  }
  auto tokens = vocabulary_of(argv[1], 128'000);
  const auto end = int32_t(tokens.size()) - 1;
  const auto start = now();
  const VocabularyIndex vocabulary(std::move(tokens), {end});
  fmt::print("{} tokens, {} nodes, index in {:.0f} ms\n", vocabulary.size(), vocabulary.nodes().size(), microseconds_since(start) / 1000);
  measure("any JSON", vocabulary, [] { return json_object(); });
  measure("schema of 30 fields", vocabulary, [] { return json_schema_text(schema_of_30_fields()); });
  measure("regex, email-like", vocabulary,
          [] { return only("regex", regex("^[a-z0-9._]{1,64}@[a-z0-9-]{1,63}(\\.[a-z]{2,10}){1,3}$", RegexMatch::whole)); });
  measure("GBNF, arithmetic", vocabulary, [] {
    return gbnf("root ::= (expr \"=\" term \"\\n\")+\nexpr ::= term ([-+*/] term)*\nterm ::= [a-z]+ | [0-9]+ | \"(\" expr \")\"\n");
  });
  return 0;
}
