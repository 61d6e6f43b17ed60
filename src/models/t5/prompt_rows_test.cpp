#include "models/t5/prompt_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "models/t5/prompt_reader.h"
#include "models/t5/tokenizer.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::models::t5 {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;
using text::PromptRole, text::PromptSyntax;

const fs::path asset = fs::path(HEARTH_SOURCE_DIR) / "assets/t5/spiece.model";

// The tokenizer of a model folder that holds only the SentencePiece model, as that of a single file.
const text::Tokenizer& tokenizer() {
  static const text::Tokenizer opened = [] {
    const test::TemporaryFolder folder;
    fs::create_directories(folder / "tokenizer_3");
    fs::copy_file(asset, folder / "tokenizer_3/spiece.model");
    write_file(folder / "model_index.json", R"({"_class_name": "P", "tokenizer_3": ["transformers", "T5TokenizerFast"]})");
    return tokenizer_of(Checkpoint::open(folder.path(), {}), "tokenizer_3");
  }();
  return opened;
}

nlohmann::json golden() { return load_json(test::folder_of(__FILE__) / "golden/rows.json"); }

Ids padded(Ids ids, size_t length) { return ids.resize(length, 0), ids; }

TEST(T5Rows, texts_have_the_ids_of_the_reference) {
  const nlohmann::json json = golden();
  const auto texts = json.at("texts").get<std::vector<std::string>>();
  ASSERT_GE(texts.size(), 80u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const Ids whole = json.at("whole")[i];
    EXPECT_EQ(tokenizer().encode(texts[i]), whole) << texts[i];
    EXPECT_EQ(tokenizer().decode(whole), json.at("decoded")[i].get<std::string>()) << texts[i];
    for (const auto& [length, rows] : json.at("rows").items()) {
      const Row row = read_row(texts[i], PromptRole::positive, {.length = std::stoll(length)}, tokenizer());
      const Ids ids = rows[i];
      EXPECT_EQ(row.ids, padded(ids, std::stoul(length))) << texts[i] << " " << length;
      EXPECT_EQ(row.length, int64_t(ids.size()));
      EXPECT_EQ(row.weights, std::vector<float>(row.ids.size(), 1));
      EXPECT_EQ(row.warning.empty(), whole.size() <= std::stoul(length)) << row.warning;
    }
    EXPECT_EQ(read_row(texts[i], PromptRole::positive, {}, tokenizer()).ids, whole);
  }
  EXPECT_EQ(tokenizer().vocab_size(), 32100);
}

TEST(T5Rows, what_is_dropped_is_told) {
  const auto warning = [](std::string_view text, const RowReading& reading) {
    return read_row(text, PromptRole::negative, reading, tokenizer()).warning;
  };
  EXPECT_EQ(warning("a red house by the sea", {.length = 4}),
            "the negative prompt has 4 tokens too many for the 3 of T5; dropped: house by the sea");
  EXPECT_EQ(warning("a red house", {.length = 5}), "");
  EXPECT_EQ(warning("a (red:1.2) house", {.syntax = PromptSyntax::a1111, .length = 9}),
            "weights of the negative prompt have no effect on T5 in the syntax a1111");
  EXPECT_EQ(warning("a (red:1.2) house", {.syntax = PromptSyntax::a1111, .emphasis = text::Emphasis::ignore, .length = 9}), "");
  EXPECT_EQ(warning("a (red:1.2) house", {.syntax = PromptSyntax::comfyui, .length = 2}), "");
}

TEST(T5Rows, comfyui_weights_parts_and_never_truncates) {
  const nlohmann::json json = golden().at("comfyui");
  ASSERT_GE(json.size(), 7u);
  for (const auto& expected : json) {
    const Row row = read_row(expected.at("prompt").get<std::string>(), PromptRole::positive,
                             {.syntax = PromptSyntax::comfyui, .length = 77}, tokenizer());
    EXPECT_EQ(row.ids, expected.at("ids").get<Ids>()) << expected.at("prompt");
    EXPECT_EQ(row.weights, expected.at("weights").get<std::vector<float>>()) << expected.at("prompt");
  }
  for (const char* text : {"embedding:x", "a embedding:x", "a\nembedding:x", "(embedding:x:1.2)"})
    EXPECT_THROW(read_row(text, PromptRole::positive, {.syntax = PromptSyntax::comfyui}, tokenizer()), UnsupportedError) << text;
  EXPECT_NO_THROW(read_row("anembedding:x", PromptRole::positive, {.syntax = PromptSyntax::comfyui}, tokenizer()));
}

TEST(T5Rows, a1111_removes_brackets_and_ignores_weights) {
  const nlohmann::json json = golden().at("a1111");
  for (const auto& expected : json) {
    const auto prompt = expected.at("prompt").get<std::string>();
    const Row row = read_row(prompt, PromptRole::positive, {.syntax = PromptSyntax::a1111, .length = 77}, tokenizer());
    EXPECT_EQ(row.ids, expected.at("ids").get<Ids>()) << prompt;
    EXPECT_FALSE(row.weighted());
  }
  const RowReading none{.syntax = PromptSyntax::a1111, .emphasis = text::Emphasis::none};
  EXPECT_EQ(read_row("a (red:1.3) house", PromptRole::positive, none, tokenizer()).ids, tokenizer().encode("a (red:1.3) house"));
}

// As Python's lower() and strip(), before tokens are counted; ComfyUI leaves texts as they are.
TEST(T5Rows, texts_are_lowered_where_the_reference_does) {
  const auto ids = [](std::string_view text, PromptSyntax syntax, bool lower) {
    return read_row(text, PromptRole::positive, {.syntax = syntax, .length = 12, .lower = lower}, tokenizer()).ids;
  };
  for (const PromptSyntax syntax : {PromptSyntax::plain, PromptSyntax::a1111}) {
    EXPECT_EQ(ids("\n A Red HOUSE \u3000", syntax, true), ids("a red house", syntax, false));
    EXPECT_NE(ids("A Red HOUSE", syntax, false), ids("a red house", syntax, false));
  }
  EXPECT_EQ(ids(" A Red HOUSE", PromptSyntax::comfyui, true), ids(" A Red HOUSE", PromptSyntax::comfyui, false));
}

TEST(T5Rows, lengths_that_hold_nothing_are_refused) {
  EXPECT_THROW(read_row("a", PromptRole::positive, {.length = 0}, tokenizer()), UsageError);
}

constexpr parts::T5Config tiny{.vocabulary = 32128, .width = 8, .layers = 2, .heads = 2, .head = 4, .mlp_width = 16, .gated = true};

Tensor token(const Tensor& states, int64_t t) { return states.slice(1, t, t + 1); }

// (z − e)·w + e: z for 1, e for 0, and on a line between and beyond.
BACKEND_TEST(T5RowStates, weights_move_states_away_from_those_of_the_empty_text) {
  Weights weights = Weights::seeded(device);
  const parts::T5EncoderModel model(Scope(weights), tiny);
  std::vector<Row> rows;
  for (const char* text : {"a (red:1.0) house", "a (red:0) house", "a (red:2) house", "a (red:1.0) house", ""})
    rows.push_back(read_row(text, PromptRole::positive, {.syntax = PromptSyntax::comfyui, .length = 9}, tokenizer()));
  const std::vector<Tensor> states = encode_rows(model, rows, tokenizer());
  ASSERT_EQ(states.size(), rows.size());
  for (const Tensor& s : states) ASSERT_EQ(s.shape(), (Shape{1, 9, 8}));
  EXPECT_EQ(states[0].to_vector(), model({rows[0].ids}).to_vector());
  EXPECT_EQ(states[3].to_vector(), states[0].to_vector());
  const auto at = std::ranges::find(rows[1].weights, 0.0f) - rows[1].weights.begin();
  for (int64_t t = 0; t < 9; ++t) {
    const std::vector<float> one = token(states[0], t).to_vector(), zero = token(states[1], t).to_vector(),
                             two = token(states[2], t).to_vector();
    if (t != at) {
      EXPECT_EQ(zero, one) << t;
      continue;
    }
    EXPECT_EQ(zero, token(states[4], t).to_vector());
    for (size_t c = 0; c < one.size(); ++c) EXPECT_NEAR(two[c] - one[c], one[c] - zero[c], 1e-6);  // observed 1.2e-7
  }
}

// A row's states depend on no other row.
BACKEND_TEST(T5RowStates, rows_of_several_lengths_are_encoded_alone) {
  Weights weights = Weights::seeded(device);
  const parts::T5EncoderModel model(Scope(weights), tiny);
  std::vector<Row> rows;
  for (int64_t i = 0; i < 21; ++i)
    rows.push_back(read_row(fmt::format("{} cats", i % 19), PromptRole::positive, {.length = 5 + i % 2}, tokenizer()));
  const std::vector<Tensor> states = encode_rows(model, rows, tokenizer());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(states[i].to_vector(), model({rows[i].ids}).to_vector()) << i;
}

// Tokens see no padding; its states are zeros on request.
BACKEND_TEST(T5RowStates, padding_is_masked_and_zeroed) {
  Weights weights = Weights::seeded(device);
  const parts::T5EncoderModel model(Scope(weights), tiny);
  const auto row_of = [](std::string_view text, int64_t length) {
    return read_row(text, PromptRole::positive, {.length = length}, tokenizer());
  };
  const std::vector<Row> rows{row_of("a red house", 9), row_of("a cat", 9), row_of("a red house", 5)};
  const std::vector<Tensor> masked = encode_rows(model, rows, tokenizer(), {.masked = true});
  ASSERT_EQ(rows[0].length, 5);
  EXPECT_EQ(masked[0].to_vector(), model({rows[0].ids}, {5}).to_vector());
  EXPECT_EQ(masked[1].to_vector(), model({rows[1].ids}, {rows[1].length}).to_vector());
  EXPECT_CLOSE(masked[0].slice(1, 0, 5).to_vector(), masked[2].to_vector(), 1e-6);
  const Tensor zeroed = encode_rows(model, rows, tokenizer(), {.masked = true, .zeroed = true})[0];
  EXPECT_EQ(zeroed.slice(1, 0, 5).to_vector(), masked[0].slice(1, 0, 5).to_vector());
  EXPECT_EQ(zeroed.slice(1, 5, 9).to_vector(), std::vector<float>(4 * 8, 0));
}

// What a weight of 0 leaves is the empty text: </s> and padding, or padding alone.
BACKEND_TEST(T5RowStates, the_empty_text_of_a_family_may_lack_its_end) {
  Weights weights = Weights::seeded(device);
  const parts::T5EncoderModel model(Scope(weights), tiny);
  const Row row = read_row("(red:0)", PromptRole::positive, {.syntax = PromptSyntax::comfyui}, tokenizer());
  ASSERT_EQ(row.ids.size(), 2u);
  const int32_t pad = *tokenizer().pad();
  const auto first = [&](const Padding& padding) { return token(encode_rows(model, {&row, 1}, tokenizer(), padding)[0], 0).to_vector(); };
  for (const bool masked : {false, true})
    EXPECT_EQ(first({.masked = masked, .makes_empty_text = true}), token(model({{pad, pad}}), 0).to_vector());
  EXPECT_EQ(first({}), token(model({{*tokenizer().eos(), pad}}), 0).to_vector());
}

TEST(T5PromptReader, shows_tokens_weights_and_steps) {
  const auto device = test::make_test_backend("reference");
  const T5PromptReader reader(tokenizer(), "text_encoder_3", {.plain = 4, .comfyui = 77});
  const auto read = [&](std::string_view prompt, PromptSyntax syntax) {
    return reader.read(prompt, syntax, text::Emphasis::original, {.steps = 10}, *device);
  };
  const ReadPrompt plain = read("a red house by the sea", PromptSyntax::plain);
  EXPECT_EQ(plain.encoder, "text_encoder_3");
  ASSERT_EQ(plain.warnings.size(), 1u);
  const auto pieces = [](const ReadPrompt& prompt, size_t condition, size_t text) {
    std::string all;
    for (const PromptToken& t : prompt.conditions.at(condition).texts.at(text).chunks.at(0))
      all += fmt::format("{}*{:g} ", t.piece, t.weight);
    return all;
  };
  EXPECT_EQ(pieces(plain, 0, 0), "▁*1 a*1 ▁red*1 ");
  EXPECT_EQ(pieces(read("a (red:1.5) house", PromptSyntax::comfyui), 0, 0), "▁*1 a*1 ▁red*1.5 ▁house*1 ");
  const ReadPrompt a1111 = read("a [red:blue:0.4] (house:1.2) AND sea:0.5", PromptSyntax::a1111);
  ASSERT_EQ(a1111.conditions.size(), 2u);
  EXPECT_EQ(a1111.conditions[1].weight, 0.5);
  ASSERT_EQ(a1111.conditions[0].texts.size(), 2u);
  EXPECT_EQ(a1111.conditions[0].texts[0].end, 4);
  EXPECT_EQ(pieces(a1111, 0, 1), "▁*1 a*1 ▁blue*1 ▁house*1 ");
  EXPECT_EQ(a1111.warnings.size(), 1u);

  EXPECT_EQ(reader.tokenize("a cat", true).ids, tokenizer().encode("a cat"));
  EXPECT_EQ(reader.tokenize("a cat", true).pieces.back(), "</s>");
  EXPECT_EQ(reader.detokenize(reader.tokenize("a cat", false).ids), "a cat");
}

TEST(T5Tokenizer, a_vocabulary_without_its_special_tokens_is_refused) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "tokenizer_3");
  write_file(folder / "model_index.json", R"({"_class_name": "P", "tokenizer_3": ["transformers", "T5TokenizerFast"]})");
  const auto refusal = [&] {
    return test::message_of<Error>([&] { tokenizer_of(Checkpoint::open(folder.path(), {}), "tokenizer_3"); }, folder.path());
  };
  EXPECT_EQ(refusal(), "FOLDER/tokenizer_3: holds no tokenizer, expected tokenizer.json, spiece.model, or vocab.json and merges.txt");
  write_file(folder / "tokenizer_3/spiece.model", "nothing");
  EXPECT_TRUE(refusal().starts_with("FOLDER/tokenizer_3/spiece.model: ")) << refusal();
}

}  // namespace
}  // namespace hearth::models::t5
