#include <algorithm>
#include <cmath>
#include <set>

#include "api/language/language_state.h"
#include "api/run_scope.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/observe.h"
#include "core/on_host.h"
#include "weights/gguf/imatrix.h"
#include "weights/listing.h"

namespace hearth {
namespace api {
namespace {

constexpr int64_t chunks_between_files = 10;  // as llama.cpp

// Adds up what the products of a model multiply with each matrix.
class ImportanceObserver final : public Observer {
 public:
  ImportanceObserver(std::map<std::string, GgufPlace> places, bool output_matrix, Imatrix& to)
      : places_(std::move(places)), output_matrix_(output_matrix), to_(to) {}

  void on_op(const OpEvent& event) override {
    if (event.weight.empty() || event.op != "linear") return;
    const std::string weight(event.weight);
    const auto place = places_.find(weight);
    if (place == places_.end()) {
      unnamed_.insert(weight);
      return;
    }
    if (!place->second.name.starts_with("blk.") && !output_matrix_) return;
    // Several products of one left side with some rows of the matrix each count once.
    int64_t& covered = covered_[weight];
    const bool first = covered == 0;
    covered += event.y.size(-1);
    if (covered >= place->second.rows) covered = 0;
    if (first) add(place->second, event.x);
  }

  const std::set<std::string>& unnamed() const { return unnamed_; }

 private:
  void add(const GgufPlace& place, const Tensor& left) {
    const int64_t K = left.size(-1), M = left.numel() / K;
    ImatrixEntry& entry = to_.entries[place.name];
    if (entry.sums.empty()) {
      entry.sums.resize(size_t(K * place.slices));
      entry.counts.resize(size_t(place.slices));
    }
    if (std::ssize(entry.sums) != K * place.slices)
      fail<WeightError>("calibrate: '{}' has {} sums in a file, expected {}", place.name, entry.sums.size(), K * place.slices);
    if (std::ssize(entry.counts) != place.slices) entry.counts.assign(size_t(place.slices), entry.counts[0]);  // of the older format
    const std::vector<float> x = dense_on_host(left).to_vector();
    double* const sums = entry.sums.data() + place.slice * K;
    for (int64_t m = 0; m < M; ++m)
      for (int64_t k = 0; k < K; ++k) sums[k] += double(x[size_t(m * K + k)]) * double(x[size_t(m * K + k)]);
    entry.counts[size_t(place.slice)] += double(M);
    if (!std::all_of(sums, sums + K, [](double v) { return std::isfinite(v); }))
      fail<Error>("calibrate: '{}' multiplies activations that are NaN or infinite", place.name);
  }

  std::map<std::string, GgufPlace> places_;
  bool output_matrix_;
  Imatrix& to_;
  std::map<std::string, int64_t> covered_;
  std::set<std::string> unnamed_;
};

ImatrixFormat format_named(const std::string& name) {
  if (name == "gguf") return ImatrixFormat::gguf;
  if (name == "dat") return ImatrixFormat::dat;
  fail<UsageError>("calibrate: unknown format '{}', expected gguf or dat", name);
}

Imatrix merged(const ImatrixRequest& request) {
  Imatrix all;
  for (const std::filesystem::path& file : request.merge) add_imatrix(all, read_imatrix(file, request.context), file.string());
  return all;
}

// Experts that no token has reached have no importance.
void note_untouched(const Imatrix& matrix, std::vector<std::string>& notes) {
  for (const auto& [name, entry] : matrix.entries)
    if (const auto none = std::ranges::count(entry.counts, 0.0))
      notes.push_back(fmt::format("{} of the {} experts of '{}' got no token", none, entry.counts.size(), name));
}

}  // namespace

ImatrixReport write_imatrix(LanguageState& state, const ImatrixRequest& request) {
  const auto start = Clock::now();
  const ImatrixFormat format = format_named(request.format);
  if (request.context < 2) fail<UsageError>("context {}: expected at least 2", request.context);
  check_writable(request.output);
  std::map<std::string, GgufPlace> places = state.gguf_places();
  if (places.empty()) fail<UnsupportedError>("calibrate: models of the family '{}' have no names in GGUF files", state.family);
  Imatrix matrix = merged(request);
  const std::vector<int32_t> ids = state.tokenizer().encode(request.text);
  const int64_t all = std::ssize(ids) / request.context, last = std::min(all, request.first_chunk + request.chunks.value_or(all));
  if (all == 0) fail<UsageError>("calibrate: the text has {} tokens, expected at least the {} of a chunk", ids.size(), request.context);
  if (request.first_chunk < 0 || last <= request.first_chunk)
    fail<UsageError>("calibrate: the text has {} chunks, expected more than the {} that are left out", all, request.first_chunk);
  const std::optional<int32_t> bos = state.tokenizer().bos();
  const bool starts_with_bos = bos && ids[0] == *bos;
  matrix.chunk_size = request.context;
  if (!request.dataset.empty() && std::ranges::find(matrix.datasets, request.dataset) == matrix.datasets.end())
    matrix.datasets.push_back(request.dataset);

  require_card_room(state, request.context);
  state.text.reset();
  state.fed.clear();
  ImportanceObserver observer(std::move(places), request.output_matrix, matrix);
  for (int64_t chunk = request.first_chunk; chunk < last; ++chunk) {
    std::vector<int32_t> window(ids.begin() + chunk * request.context, ids.begin() + (chunk + 1) * request.context);
    if (starts_with_bos) window[0] = *bos;
    const std::unique_ptr<models::TextState> text = state.model->start(request.context, state.cache_type);
    {
      const ObserverScope scope(observer);
      state.model->feed(*text, window, request.output_matrix ? 0 : request.context, [](int64_t, std::span<const float>) {});
    }
    ++matrix.chunks;
    const int64_t done = chunk + 1 - request.first_chunk;
    if (done % chunks_between_files == 0 || chunk + 1 == last) hearth::write_imatrix(request.output, matrix, format);
    if (request.progress) request.progress({.phase = "calibrate", .done = done, .total = last - request.first_chunk});
  }

  ImatrixReport report{.entries = std::ssize(matrix.entries),
                       .chunks = matrix.chunks,
                       .tokens = (last - request.first_chunk) * request.context,
                       .seconds = seconds_since(start),
                       .notes = {}};
  if (const std::vector<std::string> unnamed(observer.unnamed().begin(), observer.unnamed().end()); !unnamed.empty())
    report.notes.push_back(
        fmt::format("{} matrices without a name in GGUF files are left out: {}", unnamed.size(), shortened_list(unnamed)));
  note_untouched(matrix, report.notes);
  return report;
}

}  // namespace api

ImatrixReport merge_imatrices(const ImatrixRequest& request) {
  const auto start = api::Clock::now();
  if (request.merge.empty()) fail<UsageError>("calibrate: there are no files to merge");
  const Imatrix matrix = api::merged(request);
  write_imatrix(request.output, matrix, api::format_named(request.format));
  ImatrixReport report{.entries = std::ssize(matrix.entries), .chunks = matrix.chunks, .seconds = api::seconds_since(start), .notes = {}};
  api::note_untouched(matrix, report.notes);
  return report;
}

}  // namespace hearth
