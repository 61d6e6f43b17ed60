// The header is parsed event by event into a fixed structure, so that a malicious header needs no more memory than its text.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "weights/safetensors/safetensors.h"
#include "weights/safetensors/safetensors_types.h"

namespace hearth {
namespace {

// The description of one tensor in the file, not yet checked.
struct Claim {
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, offsets;
};

class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  std::map<std::string, Claim> claims;
  Metadata metadata;

  bool key(std::string& name) override {
    if (depth_ == 1) {
      if (!names_.insert(name).second) fail<IoError>("{}: header lists '{}' twice", where_, name);
      tensor_ = name;
      in_metadata_ = name == "__metadata__";
      metadata_seen_ |= in_metadata_;
      return true;
    }
    field_ = name;
    if (in_metadata_) {
      if (metadata.contains(name)) fail<IoError>("{}: __metadata__ has the key '{}' twice", where_, name);
      return true;
    }
    Claim& claim = claims[tensor_];
    if (name != "dtype" && name != "shape" && name != "data_offsets") refuse("has the unknown field '" + name + "'");
    if ((name == "dtype" && claim.dtype) || (name == "shape" && claim.shape) || (name == "data_offsets" && claim.offsets))
      refuse("has '" + name + "' twice");
    return true;
  }
  bool start_object(size_t) override {
    if (list_ || depth_ > 1) misplaced();
    if (depth_ == 1 && !in_metadata_) claims[tensor_];
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    in_metadata_ = in_metadata_ && depth_ > 1;
    return true;
  }
  bool start_array(size_t) override {
    if (list_ || depth_ != 2 || in_metadata_ || field_ == "dtype") misplaced();
    std::optional<std::vector<uint64_t>>& target = field_ == "shape" ? claims[tensor_].shape : claims[tensor_].offsets;
    list_ = &target.emplace();
    return true;
  }
  bool end_array() override {
    list_ = nullptr;
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (!list_) misplaced();
    list_->push_back(value);
    return true;
  }
  bool string(std::string& value) override {
    if (list_ || depth_ != 2) misplaced();
    if (in_metadata_) metadata[field_] = value;
    else if (field_ == "dtype") claims[tensor_].dtype = value;
    else misplaced();
    return true;
  }
  bool null() override { misplaced(); }
  bool boolean(bool) override { misplaced(); }
  bool number_integer(int64_t) override { misplaced(); }
  bool number_float(double, const std::string&) override { misplaced(); }
  bool binary(nlohmann::json::binary_t&) override { misplaced(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail<IoError>("{}: header is not well-formed JSON at byte {}", where_, position);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail<IoError>("{}: tensor '{}' {}", where_, tensor_, what); }
  [[noreturn]] void misplaced() const {
    if (depth_ == 0) fail<IoError>("{}: header is not a JSON object", where_);
    if (in_metadata_) fail<IoError>("{}: __metadata__ is malformed, expected an object of strings", where_);
    if (depth_ == 1) refuse("is malformed, expected an object with dtype, shape and data_offsets");
    refuse("has an invalid value in '" + field_ + "' (dtype is a string, shape and data_offsets are lists of non-negative integers)");
  }

  const std::string& where_;
  int depth_ = 0;
  bool in_metadata_ = false, metadata_seen_ = false;
  std::string tensor_, field_;
  std::vector<uint64_t>* list_ = nullptr;
  std::set<std::string> names_;
};

// Checks the description of a tensor; `where` ends with its name.
SafetensorsEntry believe(const Claim& claim, uint64_t data_bytes, const std::string& where) {
  if (!claim.dtype || !claim.shape || !claim.offsets) fail<IoError>("{} lacks dtype, shape or data_offsets", where);
  if (claim.offsets->size() != 2) fail<IoError>("{} has {} data_offsets, expected begin and end", where, claim.offsets->size());
  SafetensorsEntry entry{.type = *claim.dtype, .info = {}, .begin = claim.offsets->front(), .end = claim.offsets->back()};
  if (entry.begin > entry.end || entry.end > data_bytes)
    fail<IoError>("{} is at bytes [{}, {}) of {} bytes of data: the file is cut off or its header is wrong", where, entry.begin, entry.end,
                  data_bytes);

  constexpr uint64_t largest = uint64_t(1) << 60;  // so that the byte count fits in 64 bits
  uint64_t elements = 1;
  const bool empty = std::ranges::count(*claim.shape, 0u) > 0;
  for (uint64_t d : *claim.shape) {  // even with an axis of 0 the other sizes must not overflow: their products are formed in any order
    if (d > largest || __builtin_mul_overflow(elements, std::max<uint64_t>(d, 1), &elements) || elements > largest)
      fail<IoError>("{} has more elements than any file can hold", where);
  }
  if (empty) elements = 0;

  if (claim.shape->size() > size_t(Shape::max_rank))
    entry.info.unreadable = fmt::format("has {} axes, at most {} are supported", claim.shape->size(), Shape::max_rank);
  else
    for (uint64_t d : *claim.shape) entry.info.shape.push_back(int64_t(d));

  if (const auto dtype = safetensors_type(entry.type)) {
    entry.info.dtype = *dtype;
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements, uint64_t(size_of(*dtype)), &bytes) || bytes != entry.end - entry.begin)
      fail<IoError>("{} has {} bytes of data, its shape and type {} need {} elements of {}", where, entry.end - entry.begin, entry.type,
                    elements, size_of(*dtype));
  } else {
    entry.info.unreadable = fmt::format("has the type '{}', which is not supported", entry.type);
  }
  return entry;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where) {
  if (json.empty() || json.front() != '{') fail<IoError>("{}: header does not start with '{{' (is it a safetensors file?)", where);
  HeaderReader reader(where);
  nlohmann::json::sax_parse(json, &reader);

  SafetensorsHeader header;
  header.metadata = std::move(reader.metadata);
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> by_place;
  for (const auto& [name, claim] : reader.claims)
    by_place.push_back(&*header.tensors.emplace(name, believe(claim, data_bytes, fmt::format("{}: tensor '{}'", where, name))).first);

  std::ranges::sort(by_place,
                    [](auto* a, auto* b) { return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end); });
  uint64_t filled = 0;
  for (const auto* tensor : by_place) {
    if (tensor->second.begin < filled) fail<IoError>("{}: tensor '{}' overlaps the one before it", where, tensor->first);
    if (tensor->second.begin > filled)
      fail<IoError>("{}: bytes [{}, {}) before tensor '{}' belong to no tensor", where, filled, tensor->second.begin, tensor->first);
    filled = tensor->second.end;
  }
  if (filled != data_bytes) fail<IoError>("{}: {} bytes after the last tensor belong to none", where, data_bytes - filled);
  return header;
}

}  // namespace hearth
