// Weights: the named tensors of one component (a UNet, a VAE, a text encoder), in any file format.
//
// Loading is all or nothing. A module requests tensors through a Scope. Weights collects the names of missing, misshapen and non-finite
// tensors, and finish() throws one WeightError that lists them, together with every tensor of the file that no module requested.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/side.h"
#include "core/weight.h"
#include "hearth/progress.h"

namespace hearth {

struct TensorInfo {
  DType dtype = DType::f32;
  Shape shape;
  std::string unreadable;   // why the tensor cannot be used, "has the type 'F4', which …"; empty if it can
  bool scaled = false;      // its values are those stored times TensorSource::scale()
  bool short_rank = false;  // leading axes of size 1 may be missing from the shape, because ggml drops them
};

class BlockStream;     // weights/block_stream.h
class BlockUse;        // weights/block_stream.h
class LoadedWeights;   // weights/changes.h
class Offload;         // weights/offload.h
class PackedCache;     // weights/packed_cache.h
struct WeightChanges;  // weights/changes.h

// Tensors by name, read on demand, also from several threads. Implementations: files (weights/checkpoint_files.h), values from the names
// (weights/seeded.h).
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual std::string describe() const = 0;                    // for messages: the file or folder
  virtual std::map<std::string, TensorInfo> list() const = 0;  // empty if every name exists (seeded)
  virtual bool has(const std::string& name) const = 0;
  // A source without a list returns the shape `wanted`. WeightError or IoError if the tensor cannot be read. Mapped bytes are not copied,
  // and are valid while the source lives.
  virtual Tensor read(const std::string& name, const Shape& wanted, Backend& backend) = 0;
  // The scale of a tensor of 8-bit floats or blocks (TensorInfo::scaled), f32 [1] or [rows], on the backend's host; undefined for others.
  virtual Tensor scale(const std::string& /*name*/, Backend& /*backend*/) { return {}; }
  // The tensor's bytes in the file, for short tensors that are read without a backend. Empty if they are not contiguous.
  virtual std::span<const std::byte> stored_bytes(const std::string& /*name*/) const { return {}; }
  // Whether read() returns a view of a file, which takes no memory except while it is accessed.
  virtual bool mapped(const std::string& /*name*/) const { return false; }
  virtual void release(const std::string& /*name*/) {}  // its bytes are not needed for now
  virtual void release_all() {}                         // the same for all tensors
  virtual void require_unchanged() const {}             // IoError if a file was modified since it was opened
};

// The dtypes requested for a component's weights.
struct WeightTypes {
  std::optional<DType> hold;  // f32, f16 or bf16; default: as stored
  // Factors of products (core/factors.h). In place, weights that do not support the requested dtype get f32, and so do those of a
  // Scope::exact() module. Otherwise bf16 requires weights that are held as bf16.
  DType factors = DType::f32;
  // Linear weights that need no conversion stay in the mapped file (WeightForm::in_place). The source itself may be destroyed: the weights
  // keep its mappings alive.
  bool in_place = false;
  // Factors of linear weights of compact types (block types, 8-bit floats), also of gated linear units: these always stay as they are
  // stored, in the mapped file if possible. Their other weights (of convolutions; rows that are not whole blocks) are dequantized and held
  // as `hold` or, by default, as f32; 8-bit floats without a scale as bf16. Default: `factors`.
  std::optional<DType> compact_factors = {};
};

// The default: bf16 for values that are stored in 16 bits or less, if the backend prefers bf16 products (a CPU with matrix tiles); else as
// stored, with f32 factors, and i16 factors for block types.
WeightTypes automatic_types(const TensorSource& source, const Backend& backend);

// What was found when tensors were first read, so that they can be read again without a search. Thread-safe.
class KnownTensors {
 public:
  bool checked(const std::string& name) const;  // its values are finite, or need not be
  void add_checked(const std::string& name);
  std::optional<bool> spoiled_by_f16(const std::string& name) const;
  void add_spoiled_by_f16(const std::string& name, bool spoiled);
  std::vector<std::string> kept_wider() const;  // those that f16 spoils

 private:
  mutable std::mutex mutex_;
  std::set<std::string> checked_;
  std::map<std::string, bool> spoiled_;
};

struct LoadOptions {
  WeightTypes types;
  OnProgress progress;                 // phase "load", in bytes
  std::shared_ptr<PackedCache> cache;  // supplies the weights that it holds; the others are added to it
  std::function<std::shared_ptr<PackedCache>(const std::string& part)> cache_of_part;  // for a part that is loaded later; absent: none
  // Names that may stay unread, because publishers ship them and no program needs them ("*.position_ids"). A '*' matches anything.
  std::vector<std::string> ignore;
  // Patterns of names that are read and may hold non-finite values, because only some requests use them.
  std::vector<std::string> idle;
  // Part of the bytes of the network's blocks (weights/blocks.h) that stays in memory, 0 to 1. The other blocks are loaded when a loop
  // reaches them, and checked then.
  double resident = 1;
  std::shared_ptr<KnownTensors> known;  // shared by all that load the same tensors; absent: every tensor is checked
  // Which blocks are on the card of a device with two sides; null: all are.
  std::shared_ptr<const Offload> offload;
  std::shared_ptr<BlockUse> use;  // counts the blocks that are loaded later; absent: nothing does
  // Of a run's own network. The source is that of changed(); absent: none.
  std::shared_ptr<const WeightChanges> changes;
  std::shared_ptr<const LoadedWeights> shared;  // supplies what does not change
  std::shared_ptr<LoadedWeights> keep;          // receives what is loaded, except blocks that do not stay in memory
};

class Weights {
 public:
  // What to do with a tensor whose name and shape match.
  enum class Reading {
    full,     // read it and return it
    numbers,  // check its values for NaN and infinity; return an undefined tensor
    names,    // check only name, dtype and shape; return an undefined tensor
  };

  Weights(std::shared_ptr<TensorSource> source, Backend& backend, LoadOptions options = {}, Reading reading = Reading::full);
  // Every tensor exists and is a function of its name (weights/seeded.h), for goldens and full-size runs without files.
  static Weights seeded(Backend& backend, LoadOptions options = {});

  Backend& backend() const { return *backend_; }
  bool has(const std::string& name) const;

  // Calls build() for a part that is loaded later: the tensors that it requests count as read.
  template <class F> void without_loading(F build) {
    const Reading before = std::exchange(reading_, Reading::names);
    build();
    reading_ = before;
  }
  // The same source for such a part; its finish() accepts unread tensors.
  Weights later() const;
  // The same for a block that is loaded repeatedly: with this cache, which others finish, and what is known of the tensors.
  Weights again() const;
  // The same as later(), called when the part is loaded: with the part's cache, which finish() finishes.
  Weights now(const std::string& part) const;
  // Whether the source lists its tensors: only then can a part be checked without loading it.
  bool lists_tensors() const { return !listed_->empty(); }
  // For Blocks. Loads those that do not stay in memory; nullptr if all do, or if nothing is loaded (Reading).
  const std::shared_ptr<BlockStream>& stream();
  const LoadOptions& options() const { return options_; }
  // Where the tensor belongs, on a device with two sides; nullopt: wherever the device puts it.
  std::optional<Side> side_of(const std::string& name) const;
  void count_block(bool stays) { ++report_.blocks, report_.blocks_in_memory += stays; }
  bool sound() const { return missing_.empty() && misshapen_.empty() && unreadable_.empty() && non_finite_.empty(); }

  // For Scope. On an error they return an undefined value, which finish() reports. The results do not depend on the file, except for a
  // table in its stored dtype, which stays in the mapped file. Throws Canceled if the user cancels.
  Tensor tensor(const std::string& name, const Shape& shape);  // f32: biases, norm scales
  Tensor table(const std::string& name, const Shape& shape);   // embeddings: in the stored dtype, or in a narrower one if requested
  struct Rows {
    int64_t begin, end;
  };
  // Prepared by the backend; exact: f32 factors regardless of the options. rows: only these rows of the tensor; others request the rest.
  Weight weight(const std::string& name, const Shape& shape, WeightKind kind, bool exact = false, std::optional<Rows> rows = {},
                int64_t groups = 1);

  // WeightError, in one line, that names what is missing, misshapen, unreadable, non-finite or unread: the first ten of each kind and how
  // many more. If there is nothing to report, releases the source's pages and finishes the cache, unless blocks are still to be added.
  void finish() const;

  struct Report {
    int64_t tensors = 0, parameters = 0, bytes_held = 0;  // bytes_held: without mapped tables and parts that are loaded later
    int64_t bytes_mapped = 0;                             // of weights that are used in the mapped file
    int64_t bytes_on_card = 0;                            // of bytes_held, on the card of a device with two sides
    int64_t bytes_stored = 0;                             // of the tensors, in the file
    int64_t blocks = 0, blocks_in_memory = 0;             // of the network, and those that stay
    // Tensors that keep their stored dtype because f16 cannot represent them (a value beyond 65504, or a relative L2 error above 2⁻¹⁰ from
    // values that are too small).
    std::vector<std::string> kept_wider;
    std::vector<std::string> non_finite;  // of LoadOptions::idle
  };
  const Report& report() const { return report_; }
  // Stored bytes of the largest tensor that has been requested since the last call and does not stay in the file.
  int64_t take_largest_read() { return std::exchange(largest_read_, 0); }
  const std::set<std::string>& names_read() const { return read_; }         // requested so far
  const std::vector<std::string>& requested() const { return requested_; }  // the same in the order of the first requests

 private:
  bool expect(const std::string& name, const Shape& shape);
  void count(const std::string& name, int64_t values, int64_t bytes);
  void hold(size_t bytes);  // counts them in the report
  enum class Stays { in_file, in_memory };
  bool changes(const std::string& name) const;
  Weight own_weight(const std::string& name, const Shape& shape, WeightKind kind, bool exact, std::optional<Rows> rows, int64_t groups);
  Tensor own_tensor(const std::string& name, const Shape& shape);
  Tensor own_table(const std::string& name, const Shape& shape);
  template <class Load> Tensor shared_or(const std::string& key, const std::string& name, const Shape& shape, Load load);
  std::shared_ptr<const WeightBranch> branch_of(const Weight& w, std::optional<Rows> rows);
  Tensor read(const std::string& name, const Shape& shape, Stays stays = Stays::in_memory, std::optional<Rows> rows = {});
  Tensor in_use(const std::string& name, const Tensor& x);
  Weight from_cache(const std::string& name, const Shape& shape, WeightKind kind);
  bool stays_as_stored(const std::string& name, const Shape& shape, WeightKind kind) const;
  Weight weight_in_place(const std::string& name, Tensor x, bool mapped, WeightKind kind, bool exact, std::optional<Rows> rows);
  DType stored_type(const std::string& name) const;
  Tensor scale_of(const std::string& name, std::optional<Rows> rows);
  Tensor values_of(const std::string& name, const Tensor& x, std::optional<Rows> rows = {});
  Tensor converted(const std::string& name, const Tensor& x, DType to, Backend& where);
  DType fitting(const std::string& name, const Tensor& x, DType wanted);

  std::shared_ptr<TensorSource> source_;
  Backend* backend_;
  LoadOptions options_;
  std::shared_ptr<const std::map<std::string, TensorInfo>> listed_;
  std::set<std::string> read_;
  std::vector<std::string> requested_;
  std::vector<std::string> missing_, misshapen_, unreadable_, non_finite_;
  Report report_;
  int64_t bytes_total_ = 0, largest_read_ = 0;
  Reading reading_;
  bool part_ = false, again_ = false;
  bool any_in_file_ = false;  // a weight that stays in the mapped file
  std::shared_ptr<BlockStream> stream_;
};

}  // namespace hearth
