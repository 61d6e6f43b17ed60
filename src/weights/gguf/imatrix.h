// An importance matrix: for every matrix of a language model, the sums of squares of each column of its products' left sides. Quantization
// uses their means as the importance of the matrix' columns.
//
// Two formats, both llama.cpp's. GGUF, general.type "imatrix":
//   X.in_sum2 f32 [matrices, K], X.counts f32 [matrices, 1] (rows of left sides), imatrix.datasets, imatrix.chunk_count, imatrix.chunk_size
// and the older one, little endian:
//   i32 entries | entries | i32 chunks | text dataset (both may be missing)
//   entry: text X | i32 calls | i32 values | f32 values, those of all matrices: mean · calls     (text: i32 length and bytes)
// X is the tensor's name in GGUF files; the experts of a layer are one tensor of many matrices.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hearth {

struct ImatrixEntry {
  std::vector<double> sums;    // [matrices, K]
  std::vector<double> counts;  // [matrices]
  int64_t columns() const { return std::ssize(sums) / std::ssize(counts); }
};

struct Imatrix {
  std::map<std::string, ImatrixEntry> entries;
  std::vector<std::string> datasets;  // names of the texts
  int64_t chunks = 0, chunk_size = 0;
};

enum class ImatrixFormat { gguf, dat };

// Of either format. A file of the older one has counts of calls, one for all matrices of an entry, instead of rows: they are multiplied by
// `chunk_size`. IoError for a file that cannot be read or is neither, WeightError for one whose entries are inconsistent, negative or
// non-finite.
Imatrix read_imatrix(const std::filesystem::path& path, int64_t chunk_size = 512);

// Atomically. Counts of the older format are rows divided by the size of a chunk, rounded up. IoError.
void write_imatrix(const std::filesystem::path& path, const Imatrix& matrix, ImatrixFormat format);

// Adds the sums, counts and chunks of another file. WeightError for a tensor that has another number of columns in it.
void add_imatrix(Imatrix& to, const Imatrix& other, const std::string& where);

// The importance of the columns of one matrix of an entry, of `columns` sums each: their means, divided by the mean of all, and not below
// 1e-5. Empty if no row reached it.
std::vector<float> importance_of(const ImatrixEntry& entry, int64_t matrix, int64_t columns);

}  // namespace hearth
