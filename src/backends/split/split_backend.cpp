#include "backends/split/split_backend.h"

#include "backends/split/split_class.h"
#include "core/memory.h"

namespace hearth {
namespace split {
namespace {

// The side of the calling thread's last op with a weight, of one backend.
struct Last {
  uint64_t backend = 0;
  Side side = Side::card;
};
thread_local Last last;

uint64_t next_id() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

// All bytes of a storage.
Tensor bytes_of(const std::shared_ptr<const Storage>& storage) {
  const auto size = int64_t(storage->size);
  return size % 4 == 0 ? Tensor(storage, {size / 4}, DType::i32) : Tensor(storage, {size}, DType::u8);
}

bool is_whole(const Tensor& y) { return y.contiguous() && y.bytes() == y.storage().size; }

}  // namespace

Split::Split(std::shared_ptr<Backend> card, std::shared_ptr<Backend> host, std::function<Side()> undecided,
             std::unique_ptr<MemoryLedger> card_ledger)
    : card_ledger_(std::move(card_ledger)),
      card_(std::move(card)),
      host_(std::move(host)),
      undecided_(std::move(undecided)),
      id_(next_id()) {}

Split::~Split() = default;

SplitTransfers Split::transfers() const { return {.up = up_, .down = down_, .bytes_up = bytes_up_, .bytes_down = bytes_down_}; }

void Split::count(Side to, size_t bytes) {
  (to == Side::card ? up_ : down_) += 1;
  (to == Side::card ? bytes_up_ : bytes_down_) += int64_t(bytes);
}

std::shared_ptr<const Storage> Split::allocate(size_t bytes) {
  auto storage = std::make_shared<Storage>();
  storage->size = bytes;
  storage->backend = this;
  storage->on_host = false;
  storage->owner = std::make_shared<Copies>(static_cast<Sides&>(*this), bytes);
  return storage;
}

void Split::transfer(Side from, const std::shared_ptr<const Storage>& x, const std::shared_ptr<const Storage>& y) {
  Tensor to = bytes_of(y);
  if (computes()) from == Side::host ? card_->upload(bytes_of(x), to) : card_->download(bytes_of(x), to);
  count(other(from), x->size);
}

Copies& Split::copies_of(const Tensor& x) const { return const_cast<Copies&>(*static_cast<const Copies*>(x.storage().owner.get())); }

// What is written as a whole has no old contents, unless they are read first.
Tensor Split::written(const Tensor& y, Side side, bool updates, bool floating) const {
  return y.seen_in(copies_of(y).write(side, is_whole(y) && !updates, floating));
}

void Split::add_to(Vote& vote, const Tensor& x) const {
  const Copies::State state = copies_of(x).state();
  if (state.pinned && !vote.pinned) vote.pinned = state.pinned;
  if (state.has_contents()) (state.floating ? vote.floating : vote.settled) = true;
}

void Split::add_to(Vote& vote, const Output& output) const {
  const Copies::State state = copies_of(*output.y).state();
  if (!state.has_contents() || (is_whole(*output.y) && !output.updates)) return;
  if (state.floating) vote.floating = true;
  else if (state.on_card != state.on_host) vote.contents = state.on_card ? Side::card : Side::host;
  else vote.settled = true;
}

Side Split::now() { return last.backend == id_ ? last.side : Side::card; }

Split::Choice Split::choose(const Vote& vote) {
  if (const std::optional<Side> fixed = vote.weight ? vote.weight : vote.pinned) {
    last = {.backend = id_, .side = *fixed};
    return {*fixed, false};
  }
  if (vote.contents) return {*vote.contents, false};
  if (undecided_) return {undecided_(), false};
  if (vote.floating && !vote.settled) return {Side::host, true};
  return {now(), false};
}

void Split::upload(const Tensor& x, Tensor& y) {
  if (x.numel() == 0) return;
  Copies& copies = copies_of(y);
  const std::optional<Side> belongs = SideScope::current();
  if (belongs == Side::host && SideScope::lasts() && is_whole(y) && x.dtype() == y.dtype()) {
    copies.adopt(x);
    copies.pin(Side::host);
    return;
  }
  const Copies::State state = copies.state();
  const bool whole = is_whole(y), settled = !whole && state.has_contents() && !state.floating;
  const Side side = belongs ? *belongs : settled && !state.on_host ? Side::card : undecided_ ? undecided_() : Side::host;
  Tensor own = written(y, side, false, !belongs && !settled);
  if (computes()) at(side).upload(x, own);
  if (side == Side::card) count(side, own.bytes());
  if (belongs) copies.pin(side);
}

void Split::download(const Tensor& x, Tensor& y) {
  if (x.numel() == 0) return;
  const Copies::State state = copies_of(x).state();
  const Side side = state.on_card && !state.on_host ? Side::card : Side::host;
  const Tensor own = there(x, side);
  if (computes()) at(side).download(own, y);
  if (side == Side::card) count(Side::host, y.bytes());
}

void Split::fill(Tensor& y, float value) {
  if (y.numel() == 0) return;
  if (is_whole(y) && (value == 0 || is_float(y.dtype()))) return copies_of(y).set(value, y.dtype());
  Vote vote;
  add_to(vote, Output{&y});
  const Choice to = choose(vote);
  Tensor own = written(y, to.side, false, to.floating);
  at(to.side).fill(own, value);
}

void Split::finish() {
  card_->finish();
  host_->finish();
}

void Split::release_cached() {
  card_->release_cached();
  host_->release_cached();
}

std::unique_ptr<Backend> Split::dry_twin(MemoryLedger& ledger) const {
  auto card_ledger = std::make_unique<MemoryLedger>();
  std::shared_ptr<Backend> card = card_->dry_twin(*card_ledger), host = host_->dry_twin(ledger);
  return std::make_unique<Split>(std::move(card), std::move(host), undecided_, std::move(card_ledger));
}

std::shared_ptr<const PreparedWeight> Split::prepare(const Tensor& w, WeightKind kind, const WeightForm& form) {
  auto weight = std::make_shared<SplitWeight>();
  weight->side = SideScope::current().value_or(undecided_ ? undecided_() : Side::card);
  weight->own = at(weight->side).prepare(w, kind, form);
  weight->bytes = weight->own->bytes;
  return weight;
}

}  // namespace split

std::unique_ptr<SplitBackend> make_split_backend(std::shared_ptr<Backend> card, std::shared_ptr<Backend> host,
                                                 std::function<Side()> undecided) {
  if (!host) {
    if (&card->host() == card.get())
      fail<UsageError>("backend: {} computes in the host's memory, so that nothing can be split; expected a card", card->name());
    host = {card, &card->host()};
  }
  return std::make_unique<split::Split>(std::move(card), std::move(host), std::move(undecided), nullptr);
}

}  // namespace hearth
