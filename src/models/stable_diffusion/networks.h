// The networks of a Stable Diffusion checkpoint, each kind of them in memory or not.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/memory.h"
#include "models/registry.h"
#include "models/stable_diffusion/config.h"
#include "models/stable_diffusion/preview.h"
#include "parts/clip/clip_text.h"
#include "parts/unet/unet.h"

namespace hearth::models::stable_diffusion {

class Networks {
 public:
  // Opens the files and reads their headers; nothing is loaded. With a refiner in `request` its text encoders and UNet belong to it.
  Networks(const Checkpoint& checkpoint, const StableDiffusionConfig& config, Backend& device, const LoadRequest& request);
  // The same files for a dry twin; `ledger` counts what of a file is in memory while it is loaded.
  Networks on(Backend& twin, MemoryLedger& ledger) const;

  // Each loads what is not there, all or nothing: WeightError that lists every missing, misshapen, non-finite and unread tensor of
  // the first component that has any. Phase "load", in bytes.
  void load(const OnProgress& progress);        // all, the refiner's too
  void load_texts(const OnProgress& progress);  // the refiner's too
  void load_unet(const OnProgress& progress);
  void load_vae(const OnProgress& progress);
  void load_preview(const OnProgress& progress);  // nothing where none was given

  // The same WeightError for everything that is not loaded, without loading it. `numbers`: the tensors are looked through, too.
  void check(Weights::Reading reading);
  void require_unchanged() const;  // IoError when a file was written to since it was opened

  std::vector<parts::ClipTextModel> texts;  // of all towers or of none; to be cleared by who needs their memory
  std::optional<parts::Unet> unet;          // and these to be reset
  std::optional<Vae> vae;
  std::optional<PreviewDecoder> preview;
  bool decodes_previews() const { return preview_files_.has_value(); }
  std::shared_ptr<Networks> refiner;  // without an autoencoder; absent where there is none
  void clear_texts();                 // of the refiner too
  void clear();                       // all

  int64_t bytes_loaded() const;
  std::vector<ComponentReport> reports() const;  // texts, unet, vae; then "refiner/…"; of what makes pictures, so no preview

 private:
  Networks(const Checkpoint& checkpoint, const StableDiffusionConfig& config, Backend& device, const LoadRequest& request,
           const Checkpoint* refined);  // `refined`: the checkpoint whose refiner it is, or null

  struct Component {
    std::shared_ptr<TensorSource> source;
    std::vector<std::filesystem::path> paths;
    std::vector<std::string> ignored, idle;
    std::string part_of_files;  // for the cache of packed weights
    WeightTypes types;
    int64_t bytes = 0, largest = 0;  // in the files; of one tensor
    ComponentReport report;
  };
  void open_preview(const std::filesystem::path& path);
  static void describe(Component& c, const std::optional<WeightTypes>& asked, const Backend& device);
  static Component open(const Checkpoint& checkpoint, const std::string& name, const std::string& variant,
                        const std::optional<WeightTypes>& asked, const Backend& device);
  template <class Self> static auto files(Self& self);  // pointers to all components
  template <class Network, class NetworkConfig>
  Network build(Component& c, const NetworkConfig& config, Weights::Reading reading, const OnProgress& progress);

  int64_t text_bytes() const;  // in the files, the refiner's too
  int64_t bytes_to_load() const;

  std::vector<Component> text_files_;
  Component unet_files_;
  std::optional<Component> vae_files_, preview_files_;
  std::vector<parts::ClipTextConfig> text_configs_;
  parts::UnetConfig unet_config_;
  VaeConfig vae_config_;
  parts::AutoencoderTinyConfig preview_config_;
  Backend* device_;
  std::filesystem::path cache_;
  std::function<void(const std::string&)> warn_;
  MemoryLedger* ledger_ = nullptr;
};

// For TextToImageFamily::check.
std::vector<ComponentCheck> check(const Checkpoint& checkpoint, const Family& family, const std::string& variant);

}  // namespace hearth::models::stable_diffusion
