#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/on_host.h"
#include "mock_parallel/network.h"
#include "models/registry.h"

namespace hearth::models::mock_parallel {
namespace {

using Kind = GgufKey::Kind;

struct Text final : TextState {
  int64_t length() const override { return fed; }
  int64_t context() const override { return room; }
  int64_t bytes() const override {
    int64_t sum = 0;
    for (const nn::KvPages& layer : cache.layers) sum += layer.bytes();
    return sum;
  }
  int64_t shorten(int64_t most) override { return fed = std::min(fed, most); }
  Parts save() const override {
    Parts all;
    for (const nn::KvPages& layer : cache.layers) all.push_back(layer.save(*cache.table, 0, fed));
    return all;
  }
  bool load(int64_t length, int64_t, const Parts& saved) override {
    if (saved.size() != cache.layers.size()) fail<WeightError>("state: has {} parts, expected {}", saved.size(), cache.layers.size());
    for (size_t i = 0; i < saved.size(); ++i) cache.layers[i].load(*cache.table, 0, length, saved[i]);
    fed = length;
    return true;
  }

  Cache cache;
  int64_t fed = 0, room = 0;
};

class Model final : public LanguageModel {
 public:
  using LanguageModel::feed, LanguageModel::start;
  Model(const Config& config, Weights& weights) : net_(Scope(weights), NetworkConfig::from(config)) {}

  LanguageSizes sizes() const override { return {.vocabulary = net_.config.vocabulary, .positions = net_.config.positions}; }
  std::unique_ptr<TextState> start(int64_t context, DType cache) const override {
    auto text = std::make_unique<Text>();
    text->cache = net_.cache(context, cache);
    text->room = context;
    return text;
  }
  int64_t cache_bytes(int64_t context, DType cache) const override {
    return 2 * net_.config.layers * int64_t(bytes_of(cache, context * net_.config.width));
  }
  void feed(TextState& state, std::span<const int32_t> ids, int64_t from, const OnLogits& logits, const OnProgress& progress) override {
    Text& text = static_cast<Text&>(state);
    const int64_t V = net_.config.vocabulary, count = std::ssize(ids);
    for (const int32_t id : ids)
      if (id < 0 || id >= V) fail<UsageError>("mock_parallel: token id {} is outside the vocabulary of {}", id, V);
    if (text.fed + count > std::min(text.room, net_.config.positions))
      fail<UsageError>("{} tokens do not fit: there is room for {}", text.fed + count, std::min(text.room, net_.config.positions));
    const Tensor values = dense_on_host(net_(ids, text.cache, text.fed));
    text.fed += count;
    for (int64_t i = from; i < count; ++i) logits(i, {values.data<float>() + i * V, size_t(V)});
    if (progress) progress({.phase = "prompt", .done = count, .total = count});
  }

 private:
  Network net_;
};

Config spell_out(const Config& config) {
  const NetworkConfig n = NetworkConfig::from(config);
  const nlohmann::json all = {{"vocab_size", n.vocabulary}, {"n_positions", n.positions},   {"n_embd", n.width},
                              {"n_inner", n.inner},         {"n_layer", n.layers},          {"n_head", n.heads},
                              {"norm_epsilon", n.eps},      {"use_parallel_residual", true}};
  return Config::parse(all.dump(), config.where());
}

constexpr LanguageSize sizes[] = {{"vocab_size", "words.weight", 0},
                                  {"n_embd", "words.weight", 1},
                                  {"n_inner", "blocks.0.mlp.wide.weight", 0},
                                  {"n_layer", "blocks.#.norm.weight"}};

constexpr Alias names[] = {{"token_embd.weight", "words.weight"},
                           {"position_embd.weight", "places.weight"},
                           {"output_norm.*", "norm.*"},
                           {"output.weight", "head.weight"},
                           {"blk.#.attn_norm.*", "blocks.#.norm.*"},
                           {"blk.#.attn_q.*", "blocks.#.attention.query.*"},
                           {"blk.#.attn_k.*", "blocks.#.attention.key.*"},
                           {"blk.#.attn_v.*", "blocks.#.attention.value.*"},
                           {"blk.#.attn_output.*", "blocks.#.attention.dense.*"},
                           {"blk.#.ffn_up.*", "blocks.#.mlp.wide.*"},
                           {"blk.#.ffn_down.*", "blocks.#.mlp.narrow.*"}};

constexpr LanguageGeometry geometries[] = {
    {"mock-tiny", R"({"vocab_size": 256, "n_positions": 1024, "n_embd": 32, "n_inner": 64, "n_layer": 2, "n_head": 4})"}};

}  // namespace

Entry entry() {
  return {
      .name = "mock_parallel",
      .summary = "For tests: text to text, attention and MLP side by side, learned positions",
      .task =
          LanguageFamily{
              .model_types = {"mock_parallel"},
              .class_name = "MockParallelForCausalLM",
              .tokenizer_class = "GPT2Tokenizer",
              .sizes = sizes,
              .gguf = {.name = "mockparallel",
                       .keys = {{.key = "context_length", .config = "n_positions"},
                                {.key = "embedding_length", .config = "n_embd"},
                                {.key = "feed_forward_length", .config = "n_inner"},
                                {.key = "block_count", .config = "n_layer"},
                                {.key = "attention.head_count", .config = "n_head"},
                                {.key = "attention.layer_norm_epsilon", .config = "norm_epsilon", .kind = Kind::number},
                                {.key = "use_parallel_residual", .config = "use_parallel_residual", .kind = Kind::flag},
                                {.key = "vocab_size", .config = "vocab_size", .kind = Kind::rows, .tensor = "token_embd.weight"}},
                       .names = {std::begin(names), std::end(names)}},
              .geometries = geometries,
              .spell_out = spell_out,
              .build = [](const Config& config, Weights& weights) -> std::unique_ptr<LanguageModel> {
                return std::make_unique<Model>(config, weights);
              },
          },
  };
}

}  // namespace hearth::models::mock_parallel
