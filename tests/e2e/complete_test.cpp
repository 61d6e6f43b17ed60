// The demo language model through the public interface: compared with transformers, and unchanged by threads, caches and order.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "e2e/language_copy.h"
#include "hearth/hearth.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

const Sampling greedy{.temperature = 0};

LanguageModel open(const LanguageOptions& options = {.threads = 2}) { return LanguageModel::open(demo_language_model(), options); }

Ids ids_of(const Json& json, const char* key) { return json.at(key).get<Ids>(); }

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// The largest difference between two rows of log-probabilities.
double difference(const std::vector<std::optional<float>>& made, const std::vector<std::optional<float>>& wanted) {
  EXPECT_EQ(made.size(), wanted.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(made.size(), wanted.size()); ++i) {
    EXPECT_EQ(made[i].has_value(), wanted[i].has_value()) << i;
    if (made[i] && wanted[i]) worst = std::max(worst, std::abs(double(*made[i]) - double(*wanted[i])));
  }
  return worst;
}

std::vector<std::optional<float>> logprobs_of(const Json& list) {
  std::vector<std::optional<float>> row;
  for (const Json& x : list) row.push_back(x.is_null() ? std::nullopt : std::optional(x.get<float>()));
  return row;
}

// Compares completions, without their times.
void expect_same_completion(const Completion& a, const Completion& b) {
  EXPECT_EQ(a.prompt_tokens, b.prompt_tokens);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
  EXPECT_EQ(a.prompt_logprobs, b.prompt_logprobs);
  ASSERT_EQ(a.logprobs.size(), b.logprobs.size());
  for (size_t i = 0; i < a.logprobs.size(); ++i) {
    EXPECT_EQ(a.logprobs[i].logprob, b.logprobs[i].logprob) << i;
    EXPECT_EQ(a.logprobs[i].top, b.logprobs[i].top) << i;
  }
}

CompletionRequest scored(const Json& c, int64_t tokens = 48) {
  return {.prompt_ids = ids_of(c, "prompt_tokens"),
          .max_tokens = tokens,
          .sampling = greedy,
          .ignore_end = true,
          .logprobs = 3,
          .prompt_logprobs = true};
}

TEST(Complete, greedy_tokens_are_those_of_the_reference) {
  LanguageModel model = open();
  for (const auto& [name, c] : language_golden().at("greedy").items()) {
    const Completion made = model.complete({.prompt = c.at("prompt"), .max_tokens = 256, .sampling = greedy, .ignore_end = true});
    EXPECT_EQ(made.prompt_tokens, ids_of(c, "prompt_tokens")) << name;
    EXPECT_EQ(made.tokens, ids_of(c, "tokens")) << name;
    EXPECT_EQ(made.text, c.at("text")) << name;
    EXPECT_EQ(made.finish_reason, "length");
    const Completion same = model.complete({.prompt_ids = made.prompt_tokens, .max_tokens = 256, .sampling = greedy, .ignore_end = true});
    EXPECT_EQ(same.tokens, made.tokens) << name;
  }
}

TEST(Complete, log_probabilities_are_those_of_the_reference) {
  for (const std::string device : {"cpu", "reference"}) {
    LanguageModel model = open({.device = device, .threads = 2});
    double worst = 0;
    for (const auto& [name, c] : language_golden().at("greedy").items()) {
      const Completion made = model.complete(
          {.prompt = c.at("prompt"), .max_tokens = 32, .sampling = greedy, .ignore_end = true, .logprobs = 5, .prompt_logprobs = true});
      worst = std::max(worst, difference(made.prompt_logprobs, logprobs_of(c.at("prompt_logprobs"))));
      const Json& wanted = c.at("logprobs");
      ASSERT_EQ(made.logprobs.size(), wanted.size()) << name;
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(made.logprobs[i].token, wanted[i].at("token")) << name << i;
        worst = std::max(worst, std::abs(double(made.logprobs[i].logprob) - wanted[i].at("logprob").get<double>()));
        ASSERT_EQ(made.logprobs[i].top.size(), 5u);
        for (size_t k = 0; k < 5; ++k) {
          EXPECT_EQ(made.logprobs[i].top[k].first, wanted[i].at("top")[k][0]) << name << i;
          worst = std::max(worst, std::abs(double(made.logprobs[i].top[k].second) - wanted[i].at("top")[k][1].get<double>()));
        }
      }
    }
    RecordProperty("worst_" + device, std::to_string(worst));
    EXPECT_LT(worst, 5e-5) << device;  // observed: 1.1e-5; reference 5e-6
  }
}

TEST(Complete, end_tokens_end_the_completion_and_are_among_its_tokens) {
  LanguageModel model = open();
  for (const auto& [name, c] : language_golden().at("greedy").items()) {
    const Json& wanted = c.at("ended");
    const Completion made = model.complete({.prompt = c.at("prompt"), .max_tokens = 256, .sampling = greedy});
    EXPECT_EQ(made.tokens, ids_of(wanted, "tokens")) << name;
    EXPECT_EQ(made.text, wanted.at("text")) << name;
    EXPECT_EQ(made.finish_reason, made.tokens.size() < 256 ? "stop" : "length") << name;
    // The same token as a stop id of the request.
    ASSERT_LT(made.tokens.size(), 256u);
    const Completion own = model.complete(
        {.prompt = c.at("prompt"), .max_tokens = 256, .sampling = greedy, .stop_ids = {made.tokens.back()}, .ignore_end = true});
    expect_same_completion(own, made);
  }
}

// Without generation_config.json, the end tokens are those of config.json: one or a list.
TEST(Complete, end_tokens_of_config_json) {
  const Json& c = language_golden().at("greedy").at("chat");
  const Ids all = ids_of(c, "tokens");
  for (const Json& value : {Json(all[3]), Json{all[5], all[3]}}) {
    LanguageCopy copy;
    fs::remove(copy / "generation_config.json");
    copy.edit_json("config.json", [&](Json& json) { json["eos_token_id"] = value; });
    const Completion made = LanguageModel::open(copy.path()).complete({.prompt = c.at("prompt"), .max_tokens = 32});
    const auto first = std::find(all.begin(), all.end(), all[3]);
    EXPECT_EQ(made.tokens, Ids(all.begin(), first + 1));
    EXPECT_EQ(made.finish_reason, "stop");
  }
  LanguageCopy both;  // generation_config.json takes precedence
  both.edit_json("config.json", [&](Json& json) { json["eos_token_id"] = all[3]; });
  EXPECT_EQ(LanguageModel::open(both.path()).complete({.prompt = c.at("prompt"), .max_tokens = 256, .sampling = greedy}).tokens,
            ids_of(c.at("ended"), "tokens"));
  LanguageCopy copy;  // no end tokens
  fs::remove(copy / "generation_config.json");
  copy.edit_json("config.json", [&](Json& json) { json["eos_token_id"] = nullptr; });
  EXPECT_EQ(LanguageModel::open(copy.path()).complete({.prompt = c.at("prompt"), .max_tokens = 256}).tokens, all);
  both.edit_json("generation_config.json", [](Json& json) { json["eos_token_id"] = Json::array(); });  // no end tokens either
  EXPECT_EQ(LanguageModel::open(both.path()).complete({.prompt = c.at("prompt"), .max_tokens = 256, .sampling = greedy}).tokens, all);
}

TEST(Complete, repetition_penalty_counts_prompt_and_completion) {
  LanguageModel model = open();
  for (const auto& [name, c] : language_golden().at("greedy").items()) {
    const Completion made = model.complete(
        {.prompt = c.at("prompt"), .max_tokens = 64, .sampling = {.temperature = 0, .repetition_penalty = 1.3}, .ignore_end = true});
    EXPECT_EQ(made.tokens, ids_of(c.at("penalised"), "tokens")) << name;
    EXPECT_NE(made.tokens, Ids(c.at("tokens").begin(), c.at("tokens").begin() + 64)) << name;
  }
}

TEST(Complete, stop_sequences_end_where_the_reference_ends) {
  LanguageModel model = open();
  for (const Json& c : language_golden().at("stops")) {
    const auto stop = c.at("stop").get<std::vector<std::string>>();
    std::string streamed;
    const Completion made = model.complete(
        {.prompt_ids = ids_of(c, "prompt_tokens"), .max_tokens = 64, .sampling = greedy, .stop = stop, .on_text = [&](std::string_view t) {
           streamed += t;
         }});
    EXPECT_EQ(made.tokens, ids_of(c, "tokens")) << c.at("stop");
    EXPECT_EQ(made.finish_reason, "stop");
    const std::string whole = c.at("text");
    size_t cut = whole.npos;
    for (const std::string& s : stop) cut = std::min(cut, whole.find(s));
    ASSERT_NE(cut, whole.npos);
    EXPECT_EQ(made.text, whole.substr(0, cut));
    EXPECT_EQ(streamed, made.text);
  }
}

// The vocabulary has no token for a non-ASCII letter: biases generate the four byte tokens of 🌊, each once.
TEST(Complete, text_streams_in_whole_characters) {
  LanguageModel model = open();
  const Ids wave = model.complete({.prompt = "🌊", .add_special_tokens = false, .max_tokens = 0}).prompt_tokens;
  ASSERT_EQ(wave.size(), 4u);
  Sampling forced{.temperature = 0, .presence_penalty = 1000};
  for (size_t i = 0; i < 4; ++i) forced.logit_bias.emplace_back(wave[i], 500.0F - 50.0F * float(i));
  std::vector<std::string> parts;
  const auto ask = [&](int64_t tokens, const std::vector<std::string>& stop = {}) {
    parts.clear();
    return model.complete({.prompt = "The sea",
                           .max_tokens = tokens,
                           .sampling = forced,
                           .stop = stop,
                           .ignore_end = true,
                           .on_text = [&](std::string_view t) { parts.emplace_back(t); }});
  };
  const Completion made = ask(20);
  EXPECT_EQ(Ids(made.tokens.begin(), made.tokens.begin() + 4), wave);
  EXPECT_EQ(parts.at(0), "🌊");
  EXPECT_GT(parts.size(), 2u);
  std::string all;
  for (const std::string& part : parts) all += part;
  EXPECT_EQ(all, made.text);
  EXPECT_EQ(ask(3).text, "\uFFFD");  // truncated: one replacement character for all bytes
  EXPECT_EQ(parts, (std::vector<std::string>{"\uFFFD"}));

  const Completion stopped = ask(20, {"🌊"});
  EXPECT_EQ(stopped.tokens, wave);
  EXPECT_EQ(stopped.text, "");
  EXPECT_EQ(stopped.finish_reason, "stop");
  EXPECT_EQ(parts, std::vector<std::string>{});
  EXPECT_THROW(ask(20, {"\xf0\x9f"}), UsageError);  // not valid UTF-8
  EXPECT_THROW(ask(20, {""}), UsageError);
}

TEST(Complete, prompts_of_any_bytes) {
  LanguageModel model = open();
  for (const Json& c : language_golden().at("texts")) {
    const std::string prompt = bytes_of_hex(c.at("bytes"));
    const Completion made = model.complete({.prompt = prompt, .max_tokens = 16, .sampling = greedy, .ignore_end = true});
    EXPECT_EQ(made.prompt_tokens, ids_of(c, "prompt_tokens")) << c.at("name");
    EXPECT_EQ(made.tokens, ids_of(c, "tokens")) << c.at("name");
    EXPECT_EQ(made.text, c.at("text")) << c.at("name");
    EXPECT_EQ(model.complete({.prompt = prompt, .add_special_tokens = false, .max_tokens = 0}).prompt_tokens, ids_of(c, "plain_tokens"));
  }
}

TEST(Complete, a_prompt_longer_than_every_chunk) {
  const Json& c = language_golden().at("long");
  LanguageModel model = open();
  const CompletionRequest request{.prompt_ids = ids_of(c, "prompt_tokens"), .max_tokens = 64, .sampling = greedy, .ignore_end = true};
  const Completion made = model.complete(request);
  EXPECT_EQ(made.tokens, ids_of(c, "tokens"));
  EXPECT_EQ(made.text, c.at("text"));

  CompletionRequest score = request;
  score.max_tokens = 0;
  score.prompt_logprobs = true;
  const Completion scores = model.complete(score);
  EXPECT_EQ(scores.tokens, Ids{});
  EXPECT_EQ(scores.text, "");
  EXPECT_EQ(scores.finish_reason, "length");
  const double worst = difference(scores.prompt_logprobs, logprobs_of(c.at("prompt_logprobs")));
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LT(worst, 1e-4);  // observed: 2.0e-5
}

TEST(Complete, threads_do_not_change_a_bit) {
  const CompletionRequest request = scored(language_golden().at("long"));
  const Completion one = open({.threads = 1}).complete(request);
  for (const int threads : {2, 3, 8}) expect_same_completion(open({.threads = threads}).complete(request), one);
}

// A run reuses the KV cache of the run before, with the same result.
TEST(Complete, consecutive_runs_equal_single_runs) {
  const Json& cases = language_golden().at("greedy");
  LanguageModel model = open();
  std::vector<CompletionRequest> requests;
  for (const char* name : {"story", "once", "story", "chat"}) {
    CompletionRequest r = scored(cases.at(name));
    r.prompt_logprobs = false;
    r.context = 512;  // enough for all of them: the KV cache is shortened, never replaced
    requests.push_back(r);
  }
  requests.push_back(requests[0]);
  requests.back().prompt_ids = ids_of(cases.at("story"), "prompt_tokens");
  for (const int32_t id : ids_of(cases.at("story"), "tokens")) requests.back().prompt_ids->push_back(id);  // continues the completion
  requests.push_back(requests[2]);
  requests.push_back(requests[2]);
  int64_t reused = 0;
  for (const CompletionRequest& r : requests) {
    const Completion made = model.complete(r);
    expect_same_completion(made, open().complete(r));
    reused += made.cached_tokens;
  }
  EXPECT_GT(reused, 0);
}

// A longer context than needed does not change the result.
TEST(Complete, a_longer_context_changes_nothing) {
  CompletionRequest request = scored(language_golden().at("greedy").at("story"));
  const Completion free = open().complete(request);
  request.context = 1024;
  expect_same_completion(open().complete(request), free);
  const auto prompt = int64_t(request.prompt_ids->size());
  request.context = prompt + 3;
  const Completion short_one = open().complete(request);
  EXPECT_EQ(short_one.tokens, Ids(free.tokens.begin(), free.tokens.begin() + 3));
  EXPECT_EQ(short_one.finish_reason, "length");
  request.context = prompt;
  EXPECT_EQ(open().complete(request).tokens, Ids{});
}

TEST(Complete, narrow_caches_stay_close) {
  const CompletionRequest request = scored(language_golden().at("long"), 0);
  LanguageCopy narrow;  // the same weights with other heads: a q8_0 block has 32 values of a head
  narrow.edit_json("config.json", [](Json& json) {
    json["num_attention_heads"] = 16;
    json["num_key_value_heads"] = 4;
    json["head_dim"] = 16;
  });
  struct {
    fs::path model;
    CacheType type;
    double limit;  // observed: 0.016, 0.10, 0.21, at improbable tokens far beyond the trained context
  } const cases[] = {{demo_language_model(), CacheType::f16, 0.03},
                     {demo_language_model(), CacheType::bf16, 0.3},
                     {demo_language_model(), CacheType::q8_0, 0.6}};
  for (const auto& c : cases) {
    const Completion exact = LanguageModel::open(c.model).complete(request);
    const Completion made = LanguageModel::open(c.model, {.cache_type = c.type}).complete(request);
    const double worst = difference(made.prompt_logprobs, exact.prompt_logprobs);
    RecordProperty("worst_" + std::to_string(int(c.type)), std::to_string(worst));
    EXPECT_GT(worst, 0) << int(c.type);
    EXPECT_LT(worst, c.limit) << int(c.type);
  }
  EXPECT_THROW(LanguageModel::open(narrow.path(), {.cache_type = CacheType::q8_0}).complete(request), UnsupportedError);
}

TEST(Complete, the_plan_is_known_before_a_weight_is_read) {
  LanguageCopy spoiled;
  spoiled.edit_tensors([&](std::map<std::string, Tensor>& t) {
    t["model.norm.weight"] = Tensor::from(spoiled.device(), {256}, std::vector<float>(256, NAN), DType::f16);
  });
  const CompletionRequest request{.prompt = "The lighthouse", .max_tokens = 3};
  const LanguageModel::Plan plan = open().plan(request);
  LanguageModel::Plan before;
  const auto look = [&](const LanguageModel& unread) { before = unread.plan(request); };
  EXPECT_THROW(LanguageModel::open(spoiled.path(), {.before_loading = look}), WeightError);
  EXPECT_EQ(before.prompt_tokens, plan.prompt_tokens);
  EXPECT_EQ(before.context, plan.context);
  EXPECT_EQ(before.weight_bytes, plan.weight_bytes);
  EXPECT_EQ(before.cache_bytes, plan.cache_bytes);
  const auto enough = [](const LanguageModel&) { fail<UsageError>("enough"); };
  EXPECT_THROW(LanguageModel::open(spoiled.path(), {.before_loading = enough}), UsageError);
}

TEST(Complete, precisions) {
  const CompletionRequest request = scored(language_golden().at("long"), 0);
  const Completion exact = open().complete(request);
  for (const Precision as_stored : {Precision::f32, Precision::f16})
    expect_same_completion(open({.precision = as_stored}).complete(request), exact);
  const double worst = difference(open({.precision = Precision::bf16}).complete(request).prompt_logprobs, exact.prompt_logprobs);
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GT(worst, 0);
  EXPECT_LT(worst, 0.2);  // observed: 0.065
}

TEST(Complete, shards_are_one_model) {
  const CompletionRequest request = scored(language_golden().at("greedy").at("once"));
  const Completion whole = open().complete(request);
  for (const int count : {2, 5}) {
    LanguageCopy copy;
    copy.shard(count);
    expect_same_completion(LanguageModel::open(copy.path()).complete(request), whole);
  }
}

TEST(Complete, the_seed_determines_the_tokens) {
  LanguageModel model = open();
  const auto sample = [&](std::optional<uint64_t> seed, Sampling s = {}) {
    s.seed = seed;
    return model.complete({.prompt = "The lighthouse", .max_tokens = 40, .sampling = s, .ignore_end = true});
  };
  const Completion seven = sample(7);
  EXPECT_EQ(seven.seed, 7u);
  expect_same_completion(sample(7), seven);
  expect_same_completion(
      open({.threads = 1}).complete({.prompt = "The lighthouse", .max_tokens = 40, .sampling = {.seed = 7}, .ignore_end = true}), seven);
  EXPECT_NE(sample(8).tokens, seven.tokens);
  const Completion fresh = sample(std::nullopt);
  expect_same_completion(sample(fresh.seed), fresh);

  // The values of generation_config.json: given in the request or not.
  expect_same_completion(sample(7, {.temperature = 0.6, .top_p = 0.9}), seven);
  EXPECT_NE(sample(7, {.temperature = 3}).tokens, seven.tokens);
  EXPECT_NE(sample(7, {.temperature = 0}).tokens, seven.tokens);
}

TEST(Complete, generation_config_lengths_and_stops) {
  const Json& c = language_golden().at("greedy").at("story");
  const Ids all = ids_of(c, "tokens");
  const auto made_with = [&](const Json& more, std::optional<int64_t> max_tokens = {}) {
    LanguageCopy copy;
    copy.edit_json("generation_config.json", [&](Json& json) {
      json["do_sample"] = false;
      json.update(more);
    });
    return LanguageModel::open(copy.path()).complete({.prompt = c.at("prompt"), .max_tokens = max_tokens, .ignore_end = true});
  };
  EXPECT_EQ(made_with(Json::object()).tokens, all);  // 256
  EXPECT_EQ(made_with({{"max_new_tokens", 5}}).tokens, Ids(all.begin(), all.begin() + 5));
  EXPECT_EQ(made_with({{"max_new_tokens", 5}}, 7).tokens, Ids(all.begin(), all.begin() + 7));
  const auto prompt = int64_t(ids_of(c, "prompt_tokens").size());
  EXPECT_EQ(made_with({{"max_length", prompt + 6}}).tokens, Ids(all.begin(), all.begin() + 6));
  EXPECT_EQ(made_with({{"max_length", prompt + 6}, {"max_new_tokens", 5}}).tokens, Ids(all.begin(), all.begin() + 5));
  EXPECT_EQ(made_with({{"max_length", 20}}).tokens, Ids(all.begin(), all.begin() + 20));  // treated as if absent
  const Completion stopped = made_with({{"stop_strings", {"keeper"}}});
  EXPECT_EQ(stopped.finish_reason, "stop");
  EXPECT_EQ(stopped.text, c.at("text").get<std::string>().substr(0, c.at("text").get<std::string>().find("keeper")));
}

// As in the reference implementation, a padding row of the output matrix is a token with empty text.
TEST(Complete, rows_beyond_the_tokenizer_count) {
  const Json& c = language_golden().at("greedy").at("story");
  const Ids all = ids_of(c, "tokens");
  LanguageCopy copy;
  copy.edit_json("config.json", [](Json& json) { json["vocab_size"] = 515; });
  copy.edit_tensors([&](std::map<std::string, Tensor>& tensors) {
    Tensor& rows = tensors.at("model.embed_tokens.weight");
    std::vector<float> values = rows.to_vector();
    for (int i = 0; i < 3; ++i)  // each replaces all[0]
      for (int k = 0; k < 256; ++k) values.push_back(values[size_t(all[0]) * 256 + size_t(k)] * 1.25F);
    rows = Tensor::from(copy.device(), {515, 256}, values, DType::f16);
  });
  LanguageModel model = LanguageModel::open(copy.path());
  EXPECT_EQ(model.vocabulary(), 515);
  const Completion made = model.complete({.prompt = c.at("prompt"), .max_tokens = 1, .sampling = greedy, .logprobs = 4});
  EXPECT_EQ(made.tokens, Ids{512});
  EXPECT_EQ(made.text, "");
  EXPECT_EQ(made.logprobs.at(0).top.at(3).first, all[0]);
  EXPECT_EQ(model.complete({.prompt_ids = {{514}}, .max_tokens = 1}).prompt_tokens, Ids{514});
}

TEST(Complete, progress_and_cancellation) {
  std::vector<std::string> phases;
  std::atomic<bool> cancel = false;
  const OnProgress note = [&](const Progress& p) {
    if (phases.empty() || phases.back() != p.phase) phases.emplace_back(p.phase);
  };
  LanguageModel model = open({.threads = 2, .progress = note});
  CompletionRequest request = scored(language_golden().at("greedy").at("story"));
  request.progress = note;
  const Completion whole = model.complete(request);
  EXPECT_EQ(phases, (std::vector<std::string>{"load", "prompt"}));
  request.cancel = &cancel;
  int parts = 0;
  request.on_text = [&](std::string_view) { cancel = ++parts == 3; };
  EXPECT_THROW(model.complete(request), Canceled);
  EXPECT_EQ(parts, 3);
  cancel = false;
  request.on_text = {};
  expect_same_completion(model.complete(request), whole);  // the model is unchanged
}

TEST(Complete, the_demo_model_is_the_one_in_assets) {
  const Json& c = language_golden().at("greedy").at("story");
  LanguageModel model = LanguageModel::open_demo();
  EXPECT_EQ(model.family(), "llama");
  EXPECT_EQ(model.positions(), 1024);
  EXPECT_EQ(model.vocabulary(), 512);
  EXPECT_EQ(model.weight_bytes(), 2 * 1246464);
  EXPECT_EQ(model.complete({.prompt = c.at("prompt"), .max_tokens = 8, .sampling = greedy}).tokens,
            Ids(c.at("tokens").begin(), c.at("tokens").begin() + 8));
}

}  // namespace
}  // namespace hearth::test
