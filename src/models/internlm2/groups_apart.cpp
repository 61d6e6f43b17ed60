#include "models/internlm2/groups_apart.h"

#include <cstring>

#include "core/on_host.h"
#include "models/internlm2/config.h"

namespace hearth::models::internlm2 {
namespace {

// Rows first … first + count − 1 of each of `groups` equal parts of x.
Tensor rows_of_groups(const Tensor& x, int64_t groups, int64_t first, int64_t count) {
  const int64_t part = x.size(0) / groups;
  const size_t row = bytes_of(x.dtype(), x.numel() / x.size(0));
  Shape shape = x.shape();
  shape[0] = groups * count;
  return written_on_host(x.backend(), shape, x.dtype(), [&](Tensor& y) {
    for (int64_t g = 0; g < groups; ++g)
      std::memcpy(y.raw() + size_t(g * count) * row, x.raw() + size_t(g * part + first) * row, size_t(count) * row);
  });
}

class GroupsApart final : public TensorSource {
 public:
  GroupsApart(std::shared_ptr<TensorSource> source, const parts::AttentionConfig& a) : source_(std::move(source)), groups_(a.groups) {
    const int64_t queries = a.heads / a.groups * a.head, D = a.head;
    for (const auto& [name, info] : source_->list()) {
      const size_t at = name.find(".wqkv.");
      if (at == name.npos || info.shape.rank() < 1 || info.shape[0] != groups_ * (queries + 2 * D)) {
        listed_[name] = info;
        continue;
      }
      for (const auto& [matrix, first, count] : {Part{"wq", 0, queries}, Part{"wk", queries, D}, Part{"wv", queries + D, D}}) {
        TensorInfo part = info;
        part.shape[0] = groups_ * count;
        if (info.scaled) part.unreadable = "has a scale, which is not supported for a tensor that is rearranged";
        const std::string own = name.substr(0, at + 1) + matrix + name.substr(at + 5);
        listed_[own] = part;
        parts_[own] = {name, first, count};
      }
    }
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = parts_.find(name);
    if (found == parts_.end()) return source_->read(name, wanted, backend);
    const auto& [stored, first, count] = found->second;
    return rows_of_groups(source_->read(stored, {}, backend).dense(), groups_, first, count);
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    return parts_.contains(name) ? Tensor() : source_->scale(name, backend);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return parts_.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override { return !parts_.contains(name) && source_->mapped(name); }
  void release(const std::string& name) override {
    const auto found = parts_.find(name);
    source_->release(found == parts_.end() ? name : found->second.name);
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  struct Part {
    std::string name;  // of the matrix, or of the stored tensor
    int64_t first = 0, count = 0;
  };

  std::shared_ptr<TensorSource> source_;
  int64_t groups_;
  std::map<std::string, TensorInfo> listed_;
  std::map<std::string, Part> parts_;
};

}  // namespace

std::shared_ptr<TensorSource> groups_apart(std::shared_ptr<TensorSource> published, const Config& config) {
  const parts::DecoderConfig d = read_config(config);
  return std::make_shared<GroupsApart>(std::move(published), std::get<parts::AttentionConfig>(d.layers.at(0).mixer.block));
}

}  // namespace hearth::models::internlm2
