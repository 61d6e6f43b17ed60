// Weights: the named tensors of one component (a UNet, a VAE, a text encoder), wherever they are stored.
//
// Loading is all or nothing. A module asks through a Scope; what is missing, misshapen or not a number is collected, and
// finish() throws one WeightError that lists every such name, and every tensor of the file that nobody asked for.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/weight.h"
#include "hearth/progress.h"

namespace hearth {

struct TensorInfo {
  DType dtype = DType::f32;
  Shape shape;
  std::string unreadable;  // why it cannot be used, "has the type 'F4', which …"; empty for nearly every tensor
};

// Tensors by name, read on demand. Implementations: files (weights/checkpoint_files.h), names alone (weights/seeded.h).
class PackedCache;  // weights/packed_cache.h

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual std::string describe() const = 0;                    // for messages: the file or folder
  virtual std::map<std::string, TensorInfo> list() const = 0;  // empty where any name exists (seeded)
  virtual bool has(const std::string& name) const = 0;
  // Shape as `wanted` for sources without a list; WeightError/IoError where it cannot be read. The bytes stay where they
  // are (mapped) and are valid while the source lives.
  virtual Tensor read(const std::string& name, const Shape& wanted, Backend& backend) = 0;
  // A few bytes, to be looked at without a backend: the tensor as it lies in the file. Empty where it does not lie in one piece.
  virtual std::span<const std::byte> stored_bytes(const std::string& /*name*/) const { return {}; }
  // Whether read() shows bytes of a file: they take no memory but while they are looked at.
  virtual bool mapped(const std::string& /*name*/) const { return false; }
  virtual void release(const std::string& /*name*/) {}  // its bytes are not needed for now
  virtual void release_all() {}                         // nor any others
  virtual void require_unchanged() const {}             // IoError when a file was written to since it was opened
};

// The types asked of a component's weights.
struct WeightTypes {
  std::optional<DType> hold;  // f32, f16 or bf16; default: as stored
  // Of products (core/factors.h). In place, weights that cannot have what is asked for have f32; so have a module's that Scope::exact()
  // names. Otherwise bf16 is only for weights that are held so.
  DType factors = DType::f32;
  // Linear weights stay where they are, where they need not become another type (WeightForm::in_place): the source must outlive nothing,
  // its mapped files do live on. Only then may they be of a block type.
  bool in_place = false;
};

// What to take when nobody says: bf16 for values that are stored in 16 bits, where the backend prefers to multiply it (a processor
// with matrix tiles); else as stored, with f32 factors.
WeightTypes automatic_types(const TensorSource& source, const Backend& backend);

struct LoadOptions {
  WeightTypes types;
  OnProgress progress;           // phase "load", in bytes
  PackedCache* cache = nullptr;  // weights that it holds are taken from there; the others are added to it
  std::function<std::shared_ptr<PackedCache>(const std::string& part)> cache_of_part;  // of one that is loaded later; absent: none
  // Names that may stay unread, because makers ship them and no program needs them ("*.position_ids"). A '*' matches anything.
  std::vector<std::string> ignore;
  // The same for names that are read and may yet hold what is not a number, because nothing is made of them unless asked for.
  std::vector<std::string> idle;
};

class Weights {
 public:
  // What becomes of a tensor that fits.
  enum class Reading {
    full,     // it is read and returned
    numbers,  // looked through for what is not a number; undefined is returned
    names,    // only name, type and shape are looked at; undefined is returned
  };

  Weights(std::shared_ptr<TensorSource> source, Backend& backend, LoadOptions options = {}, Reading reading = Reading::full);
  // Every tensor exists and is a function of its name (weights/seeded.h): for goldens and full-size runs without files.
  static Weights seeded(Backend& backend, LoadOptions options = {});

  Backend& backend() const { return *backend_; }
  bool has(const std::string& name) const;

  // Calls build() for a part that is loaded later: what it asks for counts as read.
  template <class F> void without_loading(F build) {
    const Reading before = std::exchange(reading_, Reading::names);
    build();
    reading_ = before;
  }
  // The same source again, for such a part; its finish() does not ask for everything to be read.
  Weights later() const;
  // later() once more, when that part is loaded: with its cache, which finish() finishes.
  Weights now(const std::string& part) const;
  // Whether the source says what it holds: only then can a part be checked without being loaded.
  bool lists_tensors() const { return !listed_.empty(); }

  // For Scope. A fault is noted, an undefined value returned; finish() reports it. Nothing returned depends on the file any more,
  // but for a table in its own type: it stays in the mapped file.
  // Throws Canceled when the user asked to stop.
  Tensor tensor(const std::string& name, const Shape& shape);  // f32: biases, norm scales
  Tensor table(const std::string& name, const Shape& shape);   // embeddings: in its type, or in a narrower one asked for
  // Prepared by the backend; exact: products of f32 factors whatever the options say.
  Weight weight(const std::string& name, const Shape& shape, WeightKind kind, bool exact = false);

  // WeightError that names what is missing, misshapen, unreadable, non-finite or left unread; nothing when all fits. Then
  // the source's pages are let go of, and the cache of a part is finished.
  // One line: the first ten of each kind and how many more.
  void finish() const;

  struct Report {
    int64_t tensors = 0, parameters = 0, bytes_held = 0;  // bytes in memory: neither mapped tables nor what is loaded later
    // Tensors that f16 would spoil (a value beyond 65504, or a relative L2 error above 2⁻¹⁰ from values too small for it) and
    // that therefore keep the type they are stored in.
    std::vector<std::string> kept_wider;
    std::vector<std::string> non_finite;  // of LoadOptions::idle
  };
  const Report& report() const { return report_; }
  const std::set<std::string>& names_read() const { return read_; }  // those asked for so far

 private:
  bool expect(const std::string& name, const Shape& shape);
  void count(const std::string& name, int64_t values, int64_t bytes);
  Tensor read(const std::string& name, const Shape& shape);
  Weight from_cache(const std::string& name, const Shape& shape, WeightKind kind);
  Weight weight_in_place(const std::string& name, Tensor x, bool exact);
  Tensor converted(const std::string& name, const Tensor& x, DType to, Backend& where);
  DType fitting(const std::string& name, const Tensor& x, DType wanted);

  std::shared_ptr<TensorSource> source_;
  Backend* backend_;
  LoadOptions options_;
  std::map<std::string, TensorInfo> listed_;
  std::set<std::string> read_;
  std::vector<std::string> missing_, misshapen_, unreadable_, non_finite_;
  Report report_;
  int64_t bytes_total_ = 0, bytes_done_ = 0;
  Reading reading_;
  bool part_ = false;
  std::shared_ptr<PackedCache> cache_of_part_;
};

}  // namespace hearth
