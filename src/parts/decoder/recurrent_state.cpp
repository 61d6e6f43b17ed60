#include "parts/decoder/recurrent_state.h"

#include <algorithm>
#include <stdexcept>

#include "core/on_host.h"

namespace hearth::parts {
namespace {

int64_t checkpoints_for(int64_t context) { return std::min(RecurrentState::most_checkpoints, context / RecurrentState::spacing); }

int64_t bytes_of(std::span<const Shape> shapes) {
  int64_t values = 0;
  for (const Shape& shape : shapes) values += shape.numel();
  return values * int64_t(sizeof(float));
}

void copy_all(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    Tensor y = to[i];
    if (y.numel() > 0) from[i].backend().copy(from[i], y);
  }
}

}  // namespace

RecurrentState::RecurrentState(Backend& backend, std::span<const Shape> shapes, int64_t context)
    : most_(checkpoints_for(context)), copy_bytes_(bytes_of(shapes)) {
  for (const Shape& shape : shapes) now_.push_back(Tensor::zeros(backend, shape));
}

int64_t RecurrentState::bytes_for(std::span<const Shape> shapes, int64_t context) {
  return (1 + checkpoints_for(context)) * bytes_of(shapes);
}

int64_t RecurrentState::reachable(int64_t stored, int64_t length) const {
  if (length >= stored) return stored;
  const auto after = std::ranges::find_if(kept_, [&](const Checkpoint& c) { return c.length > length; });
  return after == kept_.begin() ? 0 : std::prev(after)->length;
}

void RecurrentState::shorten(int64_t length) {
  while (!kept_.empty() && kept_.back().length > length) kept_.pop_back();
  if (!kept_.empty() && kept_.back().length == length) return copy_all(kept_.back().tensors, now_);
  if (length != 0) throw std::logic_error("recurrent state: cannot be shortened to this length");
  for (Tensor& x : now_)
    if (x.numel() > 0) x.backend().fill(x, 0);
}

void RecurrentState::checkpoint(int64_t length) {
  if (most_ == 0 || (!kept_.empty() && kept_.back().length >= length)) return;
  std::vector<Tensor> tensors = room();
  copy_all(now_, tensors);
  kept_.push_back({length, std::move(tensors)});
}

// Without checkpoint i a text that is shortened to just before i + 1 is computed again from i − 1 on. The gap between these two, in
// relation to the distance of i + 1 from the end, is smallest for the one that is missed least. The newest is never dropped.
std::vector<Tensor> RecurrentState::room() {
  if (std::ssize(kept_) < most_) {
    std::vector<Tensor> tensors;
    for (const Tensor& x : now_) tensors.push_back(Tensor::empty(x.backend(), x.shape()));
    return tensors;
  }
  const int64_t end = kept_.back().length + spacing;
  size_t least = 0;
  double smallest = 0;
  for (size_t i = 0; i + 1 < kept_.size(); ++i) {
    const int64_t gap = kept_[i + 1].length - (i == 0 ? 0 : kept_[i - 1].length);
    const double missed = double(gap) / double(end - kept_[i + 1].length + spacing);
    if (i == 0 || missed < smallest) least = i, smallest = missed;
  }
  std::vector<Tensor> tensors = std::move(kept_[least].tensors);
  kept_.erase(kept_.begin() + std::ptrdiff_t(least));
  return tensors;
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
  kept_.clear();
}

std::unique_ptr<BlockState> Recurrence::start(std::unique_ptr<PagedState>, int64_t context) const {
  return std::make_unique<RecurrentState>(*backend_, shapes_, context);
}

int64_t Recurrence::state_bytes(int64_t context) const { return RecurrentState::bytes_for(shapes_, context); }

}  // namespace hearth::parts
