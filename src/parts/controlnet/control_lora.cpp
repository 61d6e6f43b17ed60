#include "parts/controlnet/control_lora.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace hearth::parts {
namespace {

// Of the UNet: what a ControlNet copies.
constexpr std::array<std::string_view, 5> copied{"conv_in.", "time_embedding.", "add_embedding.", "down_blocks.", "mid_block."};

class ControlLora final : public TensorSource {
 public:
  ControlLora(std::shared_ptr<TensorSource> lora, std::shared_ptr<TensorSource> unet) : lora_(std::move(lora)), unet_(std::move(unet)) {
    const auto base = unet_->list();
    for (const auto& [name, info] : lora_->list()) {
      if (name.ends_with(".down")) continue;
      if (!name.ends_with(".up")) {
        all_[name] = info, from_[name] = From::lora;
        continue;
      }
      const std::string stem = name.substr(0, name.size() - 3), weight = stem + ".weight";
      const auto found = base.find(weight);
      if (found == base.end()) fail<WeightError>("{}: changes '{}', which the model's UNet does not have", describe(), weight);
      if (!lora_->has(stem + ".down")) fail<WeightError>("{}: '{}' has no '{}.down', expected both", describe(), name, stem);
      const DType dtype = found->second.dtype;
      if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
        fail<UnsupportedError>("{}: adds to weights that the model's UNet stores as {}, expected f32, f16 or bf16", describe(),
                               name_of(dtype));
      all_[weight] = {.dtype = DType::f32, .shape = found->second.shape}, from_[weight] = From::both;
    }
    for (const auto& [name, info] : base) {
      const bool is_copied = std::ranges::any_of(copied, [&, &n = name](std::string_view part) { return n.starts_with(part); });
      if (is_copied && !all_.contains(name)) all_[name] = info, from_[name] = From::unet;
    }
  }

  std::string describe() const override { return lora_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return all_; }
  bool has(const std::string& name) const override { return all_.contains(name); }
  Tensor scale(const std::string& name, Backend& backend) override {
    return from_.at(name) == From::unet   ? unet_->scale(name, backend)
           : from_.at(name) == From::lora ? lora_->scale(name, backend)
                                          : Tensor();
  }
  void require_unchanged() const override { lora_->require_unchanged(), unet_->require_unchanged(); }
  void release_all() override { lora_->release_all(), unet_->release_all(); }

  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const From from = from_.at(name);
    if (from != From::both) return (from == From::lora ? lora_ : unet_)->read(name, wanted, backend);
    Backend& host = backend.host();
    const std::string stem = name.substr(0, name.size() - std::string_view(".weight").size());
    const auto part = [&](TensorSource& source, const std::string& n, const Shape& shape) { return source.read(n, shape, host); };
    const auto infos = lora_->list();
    const Tensor up = part(*lora_, stem + ".up", infos.at(stem + ".up").shape),
                 down = part(*lora_, stem + ".down", infos.at(stem + ".down").shape);
    const int64_t N = wanted[0], K = wanted.numel() / N, rank = up.numel() / N;
    if (up.size(0) != N || down.size(0) != rank || down.numel() != rank * K)
      fail<WeightError>("{}: '{}.up' {} and '.down' {} do not give the shape {} of the UNet's weight", describe(), stem, up.shape(),
                        down.shape(), wanted);
    std::vector<float> sum = part(*unet_, name, wanted).to_vector();
    const std::vector<float> u = up.to_vector(), d = down.to_vector();
    std::vector<float> row(static_cast<size_t>(K));
    for (int64_t n = 0; n < N; ++n) {
      std::ranges::fill(row, 0.0f);
      for (int64_t r = 0; r < rank; ++r) {
        const float factor = u[size_t(n * rank + r)];
        const float* const from_row = d.data() + r * K;
        for (int64_t k = 0; k < K; ++k) row[size_t(k)] += factor * from_row[k];
      }
      for (int64_t k = 0; k < K; ++k) sum[size_t(n * K + k)] += row[size_t(k)];
    }
    return Tensor::from(backend, wanted, sum);
  }

 private:
  enum class From { lora, unet, both };
  std::shared_ptr<TensorSource> lora_, unet_;
  std::map<std::string, TensorInfo> all_;
  std::map<std::string, From> from_;
};

}  // namespace

std::shared_ptr<TensorSource> completed_control_lora(std::shared_ptr<TensorSource> lora, std::shared_ptr<TensorSource> unet) {
  return std::make_shared<ControlLora>(std::move(lora), std::move(unet));
}

}  // namespace hearth::parts
