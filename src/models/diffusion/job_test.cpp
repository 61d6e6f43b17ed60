#include <gtest/gtest.h>

#include <algorithm>

#include "backends/backends.h"
#include "models/checkpoints.h"
#include "models/diffusion/model.h"
#include "models/registry.h"

namespace hearth::models::diffusion {
namespace {

// The demo model, counting how often prompts are parsed: this looks up tokens and embedding files.
class Counting final : public LatentModel {
 public:
  Counting(std::unique_ptr<const LatentModel> inner, int& reads) : inner_(std::move(inner)), reads_(reads) {
    facts_ = inner_->facts();
    components_.specs = inner_->components();
    const auto codec = std::ranges::find(components_.specs, Role::codec, &ComponentSpec::role);
    codec_ = {size_t(codec - components_.specs.begin())};
  }
  void check_guidance(const sampling::Guidance& guidance) const override { inner_->check_guidance(guidance); }
  std::unique_ptr<ReadPrompts> read_prompts(const ImageTask& task, bool use_negative, Backend& device,
                                            ResolvedImage& resolved) const override {
    ++reads_;
    return inner_->read_prompts(task, use_negative, device, resolved);
  }
  Tensor denoise(const Loaded& networks, const Tensor& x, float timestep, const Call& call) const override {
    return inner_->denoise(networks, x, timestep, call);
  }

 private:
  std::unique_ptr<const LatentModel> inner_;
  int& reads_;
};

int reads_of(const Request& request) {
  const auto device = make_backend();
  const Checkpoint checkpoint = open_checkpoint(std::filesystem::path(HEARTH_SOURCE_DIR) / "assets/demo-model");
  int reads = 0;
  LatentImageModel model(checkpoint, std::make_unique<Counting>(find_family(checkpoint).family.describe(checkpoint), reads), nullptr,
                         *device, {.warn = [](const std::string&) {}});
  const auto job = model.prepare({.request = request, .seed = 1});
  job->plan();
  job->run({});
  EXPECT_EQ(job->run({}).images.size(), size_t(request.batch_size));
  return reads;
}

TEST(Job, resolves_each_pass_once) {
  const Request request{.prompt = "a house", .width = 64, .height = 64, .steps = 2};
  EXPECT_EQ(reads_of(request), 1);
  Request two = request;
  two.hires = Hires{.scale = 1.5};
  EXPECT_EQ(reads_of(two), 2);
}

TEST(Job, resolved_requests_state_everything) {
  const auto device = make_backend();
  const Checkpoint checkpoint = open_checkpoint(std::filesystem::path(HEARTH_SOURCE_DIR) / "assets/demo-model");
  const auto model = open_image_model(checkpoint, *device, {.warn = [](const std::string&) {}});
  const auto job = model->prepare({.request = {.prompt = "a house", .steps = 3, .sampler = "DPM++ 2M Karras"}, .seed = 9});
  const Request& used = job->resolved().request;
  EXPECT_EQ(used.width, 128);
  EXPECT_EQ(used.height, 128);
  EXPECT_EQ(used.sampler, "dpmpp_2m");
  EXPECT_EQ(used.schedule, "karras");
  EXPECT_EQ(used.seed, 9u);
  EXPECT_EQ(used.prompt_syntax, PromptSyntax::plain);
  EXPECT_EQ(used.options.at("clip_skip"), OptionValue(int64_t(1)));
  EXPECT_EQ(used.guidance_method, "cfg");
}

}  // namespace
}  // namespace hearth::models::diffusion
