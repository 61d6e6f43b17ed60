#include <algorithm>

#include "core/error.h"
#include "mock_stream/network.h"
#include "models/clip/files.h"
#include "models/clip/prompt_reader.h"
#include "models/diffusion/checks.h"
#include "models/image_prompt/redux.h"
#include "models/registry.h"
#include "models/request.h"
#include "models/slots.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"
#include "parts/clip/clip_text.h"
#include "parts/siglip/files.h"
#include "sampling/compat/scheduler_config.h"
#include "text/clip/clip_tokenizer.h"

namespace hearth::models::mock_stream {
namespace {

using namespace diffusion;

constexpr Option byte_limit{.name = "byte_limit",
                            .type = Option::Type::integer,
                            .summary = "Bytes of a prompt that the byte encoder reads",
                            .standard = "64",
                            .least = 1,
                            .most = 4096};
constexpr Option pooled_scale{
    .name = "pooled_scale", .type = Option::Type::number, .summary = "Factor of the pooled text", .standard = "1", .least = 0, .most = 10};
constexpr std::array options{byte_limit, pooled_scale};

sampling::SchedulerConfig scheduler_of(const Checkpoint& checkpoint) {
  return sampling::SchedulerConfig::read(checkpoint.config("scheduler"), checkpoint.component("scheduler").class_name);
}

text::ClipTokenizer tokenizer_of(const Checkpoint& checkpoint) {
  return text::ClipTokenizer::parse(clip::clip_files(checkpoint, "tokenizer"));
}

parts::ClipTextConfig clip_config(const Checkpoint& checkpoint) {
  return parts::ClipTextConfig::from(checkpoint.config("text_encoder"), checkpoint.component("text_encoder").class_name);
}

ByteEncoderConfig byte_config(const Checkpoint& checkpoint) { return ByteEncoderConfig::from(checkpoint.config("text_encoder_2")); }

TransformerConfig transformer_config(const Checkpoint& checkpoint) { return TransformerConfig::from(checkpoint.config("transformer")); }

class MockStream;

// The prompt and the negative prompt, as bytes and as CLIP's tokens.
class Texts final : public ReadPrompts {
 public:
  Texts(const MockStream& model, std::vector<std::string> texts, int64_t limit, double scale)
      : model_(model), texts_(std::move(texts)), limit_(limit), scale_(scale) {}

  bool has_negative() const override { return texts_.size() > 1; }
  std::vector<EncodedPrompt> encode(const Loaded& networks, Backend& host) const override;

 private:
  const MockStream& model_;
  std::vector<std::string> texts_;
  int64_t limit_;
  double scale_;
};

class MockStream final : public LatentModel {
 public:
  explicit MockStream(const Checkpoint& checkpoint) : tokenizer(tokenizer_of(checkpoint)), vae_(AutoencoderConfig::from(checkpoint)) {
    const TransformerConfig config = transformer_config(checkpoint);
    clip = components_.add<parts::ClipTextModel>("text_encoder", Role::text_encoder,
                                                 [c = clip_config(checkpoint)](const Scope& w) { return parts::ClipTextModel(w, c); });
    bytes = components_.add<ByteEncoder>("text_encoder_2", Role::text_encoder,
                                         [c = byte_config(checkpoint)](const Scope& w) { return ByteEncoder(w, c); });
    transformer_ = components_.add<StreamTransformer>("transformer", Role::denoiser,
                                                      [config](const Scope& w) { return StreamTransformer(w, config); });
    codec_ = components_.add<Codec>("vae", Role::codec, [c = vae_](const Scope& w) { return Autoencoder(w, c); });
    redux_ = image_prompt::Redux::add(checkpoint, components_, config.text_width);
    const int64_t side = config.sample_size * vae_.codec.factor;
    facts_ = {.family = "mock_stream",
              .options = options,
              .codec = vae_.codec,
              .scheduler = mock_stream::scheduler_of(checkpoint),
              .native = {{side, side}},
              .reference_images = redux_                    ? ReferenceImages::as_prompt
                                  : config.reads_references ? ReferenceImages::as_latents
                                                            : ReferenceImages::none};
    checkpoint.index().finish();
  }

  void check_guidance(const sampling::Guidance& g) const override {
    if (g.method->perturbation != sampling::Perturbation::none)
      fail<UnsupportedError>("guidance '{}': not supported by this transformer", g.method->name);
  }

  std::unique_ptr<ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend&, ResolvedImage& resolved) const override {
    const Request& request = task.request;
    if (const PromptSyntax syntax = syntax_of(request); syntax != PromptSyntax::plain)
      fail<UnsupportedError>("generate: mock_stream supports only plain prompts, not {}", name_of(syntax));
    if (!request.embeddings.empty()) fail<UnsupportedError>("generate: mock_stream does not support embeddings");
    const auto limit = option_of<int64_t>(request.options, byte_limit.name).value_or(64);
    const auto scale = option_of<double>(request.options, pooled_scale.name).value_or(1);
    resolved.options[std::string(byte_limit.name)] = limit;
    resolved.options[std::string(pooled_scale.name)] = scale;
    std::vector<std::string> texts = {request.prompt};
    if (use_negative) texts.push_back(request.negative_prompt.value_or(""));
    return std::make_unique<Texts>(*this, std::move(texts), limit, scale);
  }

  Tensor denoise(const Loaded& networks, const Tensor& x, float timestep, const Call& call) const override {
    const auto lengths = call.given.lengths.find("text");
    return networks[transformer_](x, timestep, call.given["text"], lengths->second, call.given["pooled"], call.references);
  }

  // The images' rows follow the valid rows of the text.
  EncodedPrompt with_references(const Loaded& networks, const ImageTask& task, EncodedPrompt prompt, Backend& host) const override {
    Conditioning& given = prompt.conditions[0].entries[0].given;
    Tensor& text = given.tensors["text"];
    std::vector<Tensor> parts = {text.slice(1, 0, given.lengths["text"][0])};
    for (const Pixels& image : task.references) parts.push_back(redux_->rows(networks, image, host).to(text.backend()));
    text = ops::concat(parts, 1);
    given.lengths["text"][0] = text.size(1);
    return prompt;
  }

  const text::ClipTokenizer tokenizer;
  Slot<parts::ClipTextModel> clip;
  Slot<ByteEncoder> bytes;

 private:
  AutoencoderConfig vae_;
  Slot<StreamTransformer> transformer_;
  std::optional<image_prompt::Redux> redux_;
};

std::vector<EncodedPrompt> Texts::encode(const Loaded& networks, Backend&) const {
  size_t longest = 1;
  for (const std::string& text : texts_) longest = std::max(longest, std::min(text.size(), size_t(limit_)));
  std::vector<EncodedPrompt> prompts;
  for (const std::string& text : texts_) {
    Tensor states = networks[model_.bytes](std::string_view(text).substr(0, size_t(limit_)));
    const int64_t length = states.size(1), missing = int64_t(longest) - length;
    if (missing > 0) states = ops::concat({states, Tensor::zeros(states.backend(), {1, missing, states.size(2)})}, 1);
    const Tensor pooled = networks[model_.clip]({model_.tokenizer.encode(text).ids}).pooled;
    Conditioning given{.tensors = {{"text", states}, {"pooled", ops::linear_combination({pooled}, {float(scale_)})}},
                       .lengths = {{"text", {length}}}};
    prompts.push_back({.conditions = {{.entries = {{.given = std::move(given)}}}}});
  }
  return prompts;
}

std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const std::string& variant) {
  Checks checks(checkpoint, variant);
  checks.builds(
      "text_encoder", [&] { return clip_config(checkpoint); }, [](const Scope& w, const auto& c) { parts::ClipTextModel(w, c); });
  checks.builds(
      "text_encoder_2", [&] { return byte_config(checkpoint); }, [](const Scope& w, const auto& c) { ByteEncoder(w, c); });
  checks.builds(
      "transformer", [&] { return transformer_config(checkpoint); }, [](const Scope& w, const auto& c) { StreamTransformer(w, c); });
  checks.builds(
      "vae", [&] { return AutoencoderConfig::from(checkpoint); }, [](const Scope& w, const auto& c) { Autoencoder(w, c); });
  checks.attempt("tokenizer", [&] { tokenizer_of(checkpoint); });
  checks.attempt("scheduler", [&] { mock_stream::scheduler_of(checkpoint); });
  return checks.finish([&] { const MockStream model(checkpoint); });
}

std::vector<std::unique_ptr<PromptReader>> prompt_readers(const Checkpoint& checkpoint) {
  std::vector<std::unique_ptr<PromptReader>> readers;
  readers.push_back(std::make_unique<clip::ClipPromptReader>(tokenizer_of(checkpoint), "text_encoder"));
  return readers;
}

const ImageFiles files{
    .slots = {&slots::image_encoder, &slots::image_embedder},
    .places = {{"", &parts::siglip_vision_files, &slots::image_encoder}, {"", &parts::redux_files, &slots::image_embedder}},
    .signatures = [] { return std::vector<Signature>(); },
};

}  // namespace

Entry entry() {
  return {
      .name = "mock_stream",
      .summary = "For tests: text to image by a transformer on one stream of tokens, two text encoders",
      .task =
          ImageFamily{
              .pipelines = {"MockStreamPipeline"},
              .files = &files,
              .options = {options.begin(), options.end()},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<LatentModel> { return std::make_unique<MockStream>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = mock_stream::scheduler_of,
          },
  };
}

}  // namespace hearth::models::mock_stream
