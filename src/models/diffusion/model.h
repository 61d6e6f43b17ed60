// An image model: a latent diffusion model with its networks on a device, and the jobs that run on it.
#pragma once

#include <map>
#include <mutex>

#include "models/diffusion/memory.h"

namespace hearth::adapters {
struct Adapters;  // adapters/adapters.h
}

namespace hearth::models::diffusion {

class LatentImageModel final : public ImageModel {
 public:
  // Opens the component files of all members; loads them unless `request` says when needed. `refiner`: request.refiner's model, or null.
  LatentImageModel(const Checkpoint& checkpoint, std::unique_ptr<const LatentModel> model, std::unique_ptr<const LatentModel> refiner,
                   Backend& device, const LoadRequest& request);

  std::string family() const override { return std::string(facts().family); }
  std::vector<ComponentReport> components() const override { return networks_.reports(); }
  int64_t factor() const override { return facts().codec.factor; }
  int64_t side_unit() const override { return facts().side_unit(); }
  bool shows_previews() const override { return facts().codec.encodes || networks_.has(Role::preview); }
  bool edits_references() const override { return facts().reference_images == ReferenceImages::as_latents; }
  bool references_as_prompt() const override { return facts().reference_images == ReferenceImages::as_prompt; }
  std::vector<std::string> notes() const override { return facts().notes; }
  std::string scheduler() const override { return std::string(name_of(facts().scheduler.scheduler)); }

  std::unique_ptr<ImageJob> prepare(const ImageTask& task) override;

  Tensor encode(const Tensor& images) override;
  Tensor decode(const Tensor& latents) override;

 private:
  friend class LatentJob;

  const Facts& facts() const { return members_[0]->facts(); }
  void require_room() const;  // UsageError if the networks together need more memory than is available
  void open_preview(const std::filesystem::path& path);
  // The control networks of a task, opened or found among those opened before.
  std::vector<RunControl> open_controls(const ImageTask& task);
  std::vector<RunImagePrompt> open_image_prompts(const ImageTask& task);
  HostedCodec codec_of(const Holding& holding, std::optional<int64_t> tile = {}) const;  // the codec must be loaded

  int64_t memory_limit_;
  std::optional<int64_t> card_memory_;
  Members members_;
  Networks networks_;

  // What belongs to runs, opened once: a network for a path.
  template <class Kind> struct OpenedForRuns {
    size_t member = 0;
    std::shared_ptr<const Kind> model;
    std::string stamp;  // of its files: sizes and times
    std::vector<std::filesystem::path> files;
  };
  template <class Kind, class Fit>
  const OpenedForRuns<Kind>& opened(std::map<std::string, OpenedForRuns<Kind>>& all, std::string_view name, const std::string& path,
                                    GivenComponent (*open)(const std::filesystem::path&), const Fit& fit);
  std::mutex controls_mutex_;
  std::map<std::string, OpenedForRuns<ControlModel>> controls_;      // by path
  std::map<std::string, OpenedForRuns<ImagePromptModel>> adapters_;  // by path
};

// A job of one or two passes.
class LatentJob final : public ImageJob {
 public:
  LatentJob(LatentImageModel& model, const ImageTask& task);

  const ResolvedImage& resolved() const override { return resolved_; }
  void resume(std::shared_ptr<const ResumePoint> state) override;
  const MemoryPlan& plan() override;
  std::vector<ComponentReport> controls() const override;
  ImageResult run(const OnProgress& progress) override;

 private:
  void add_controls();
  // Those of the request, and those in the files of image prompts.
  static adapters::Adapters read_adapters(const LatentImageModel& model, const Request& request,
                                          std::span<const RunImagePrompt> image_prompts);

  LatentImageModel& model_;
  ImageTask task_;
  std::vector<RunImagePrompt> image_prompts_;
  Changes changes_;  // of the adapters
  std::vector<Pass> passes_;
  ResolvedImage resolved_;
  std::optional<MemoryPlan> plan_;
};

}  // namespace hearth::models::diffusion
