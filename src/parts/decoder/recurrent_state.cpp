#include "parts/decoder/recurrent_state.h"

#include <algorithm>
#include <stdexcept>

#include "core/on_host.h"

namespace hearth::parts {
namespace {

int64_t checkpoints_for(int64_t context) { return std::min(RecurrentState::most_checkpoints, context / RecurrentState::spacing); }

void copy_all(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    Tensor y = to[i];
    if (y.numel() > 0) from[i].backend().copy(from[i], y);
  }
}

}  // namespace

RecurrentState::RecurrentState(Backend& backend, std::span<const Shape> shapes, int64_t context) : bytes_(bytes_for(shapes, context)) {
  for (const Shape& shape : shapes) now_.push_back(Tensor::zeros(backend, shape));
  unused_.resize(size_t(checkpoints_for(context)));
  for (auto& copy : unused_)
    for (const Shape& shape : shapes) copy.push_back(Tensor::empty(backend, shape));
}

int64_t RecurrentState::bytes_for(std::span<const Shape> shapes, int64_t context) {
  int64_t values = 0;
  for (const Shape& shape : shapes) values += shape.numel();
  return (1 + checkpoints_for(context)) * values * int64_t(sizeof(float));
}

int64_t RecurrentState::reachable(int64_t stored, int64_t length) const {
  if (length >= stored) return stored;
  const auto after = std::ranges::find_if(kept_, [&](const Checkpoint& c) { return c.length > length; });
  return after == kept_.begin() ? 0 : std::prev(after)->length;
}

void RecurrentState::shorten(int64_t length) {
  while (!kept_.empty() && kept_.back().length > length) {
    unused_.push_back(std::move(kept_.back().tensors));
    kept_.pop_back();
  }
  if (!kept_.empty() && kept_.back().length == length) return copy_all(kept_.back().tensors, now_);
  if (length != 0) throw std::logic_error("recurrent state: cannot be shortened to this length");
  for (Tensor& x : now_)
    if (x.numel() > 0) x.backend().fill(x, 0);
}

void RecurrentState::checkpoint(int64_t length) {
  if (!kept_.empty() && kept_.back().length >= length) return;
  if (unused_.empty()) make_room();
  if (unused_.empty()) return;
  kept_.push_back({length, std::move(unused_.back())});
  unused_.pop_back();
  copy_all(now_, kept_.back().tensors);
}

// Without checkpoint i a text that is shortened to just before i + 1 is computed again from i − 1 on. The gap between these two, in
// relation to the distance of i + 1 from the end, is smallest for the one that is missed least. The newest is never dropped.
void RecurrentState::make_room() {
  if (kept_.size() < 2) return;
  const int64_t end = kept_.back().length + spacing;
  size_t least = 0;
  double smallest = 0;
  for (size_t i = 0; i + 1 < kept_.size(); ++i) {
    const int64_t gap = kept_[i + 1].length - (i == 0 ? 0 : kept_[i - 1].length);
    const double missed = double(gap) / double(end - kept_[i + 1].length + spacing);
    if (i == 0 || missed < smallest) least = i, smallest = missed;
  }
  unused_.push_back(std::move(kept_[least].tensors));
  kept_.erase(kept_.begin() + std::ptrdiff_t(least));
}

std::vector<Tensor> RecurrentState::save(int64_t) const {
  std::vector<Tensor> saved;
  for (const Tensor& x : now_)
    saved.push_back(written_on_host(x.backend(), x.shape(), DType::f32, [&](Tensor& y) { x.backend().download(x, y); }));
  return saved;
}

void RecurrentState::load(int64_t, std::span<const Tensor> saved) {
  if (saved.size() != now_.size()) fail<WeightError>("recurrent state: {} saved tensors, expected {}", saved.size(), now_.size());
  for (size_t i = 0; i < now_.size(); ++i)
    if (saved[i].shape() != now_[i].shape() || saved[i].dtype() != DType::f32)
      fail<WeightError>("recurrent state: saved tensor {} is {} {}, expected f32 {}", i, name_of(saved[i].dtype()), saved[i].shape(),
                        now_[i].shape());
  for (size_t i = 0; i < now_.size(); ++i) {
    if (now_[i].numel() == 0) continue;
    now_[i].backend().upload(saved[i].dense(), now_[i]);
    now_[i].backend().finish();
  }
  while (!kept_.empty()) {
    unused_.push_back(std::move(kept_.back().tensors));
    kept_.pop_back();
  }
}

}  // namespace hearth::parts
