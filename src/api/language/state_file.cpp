#include "api/language/state_file.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "api/language/language_state.h"
#include "core/error.h"
#include "core/files/config.h"
#include "core/on_host.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::api {
namespace {

using Json = nlohmann::json;

constexpr const char* format = "hearth text state 1";

std::string part_name(size_t part, size_t index) { return fmt::format("state.{}.{}", part, index); }

// A hash of some bytes of each tensor, which tells models of one architecture apart (FNV-1a).
std::string fingerprint(const TensorSource& tensors) {
  constexpr size_t most = 256;
  uint64_t hash = 14695981039346656037ull;
  for (const auto& [name, info] : tensors.list()) {
    const std::span<const std::byte> bytes = tensors.stored_bytes(name);
    const size_t count = std::min(most, bytes.size());
    for (const std::byte b : bytes.subspan((bytes.size() - count) / 2, count)) hash = (hash ^ uint64_t(b)) * 1099511628211ull;
  }
  return fmt::format("{:016x}", hash);
}

// What must be equal in the file and in the model.
std::map<std::string, std::string> identity(const LanguageState& s) {
  std::map<std::string, std::string> all = s.config;
  all["family"] = s.family;
  all["weight_bytes"] = std::to_string(s.weight_bytes);
  all["weights"] = fingerprint(*s.tensors);
  return all;
}

// The bytes as a tensor of a block type.
Tensor as_blocks(const Tensor& bytes, const Config& c) {
  const std::optional<DType> dtype = dtype_named(c.text("dtype"));
  const std::vector<int64_t> sizes = c.integers("shape");
  double values = 1;
  for (const int64_t size : sizes) values *= size > 0 ? double(size) : 0;
  if (!dtype || !is_blocked(*dtype) || sizes.empty() || sizes.size() > size_t(Shape::max_rank) ||
      sizes.back() % block_of(*dtype).values != 0 ||
      values / double(block_of(*dtype).values) * double(block_of(*dtype).bytes) != double(bytes.bytes()))
    fail<WeightError>("{}: {} {} does not describe {} bytes", c.where(), c.text("dtype"), c.dump("shape"), bytes.bytes());
  return written_on_host(bytes.backend(), Shape(std::span<const int64_t>(sizes)), *dtype,
                         [&](Tensor& y) { std::memcpy(y.raw(), bytes.raw(), bytes.bytes()); });
}

}  // namespace

void write_state(const std::filesystem::path& path, const LanguageState& s) {
  if (!s.text || s.fed.empty()) fail<UsageError>("{}: the model has processed no text, expected a completion first", path.string());
  Backend& host = s.device->host();
  std::map<std::string, Tensor> tensors{{"tokens", Tensor::from(host, {std::ssize(s.fed)}, s.fed)}};
  Json blocked = Json::object();
  const models::TextState::Parts parts = s.text->save();
  for (size_t p = 0; p < parts.size(); ++p)
    for (size_t i = 0; i < parts[p].size(); ++i) {
      const Tensor& x = parts[p][i];
      const std::string name = part_name(p, i);
      if (!is_blocked(x.dtype())) {
        tensors[name] = x;
        continue;
      }
      blocked[name] = {{"dtype", name_of(x.dtype())}, {"shape", std::vector<int64_t>(x.shape().begin(), x.shape().end())}};
      tensors[name] = written_on_host(host, {int64_t(x.bytes())}, DType::u8, [&](Tensor& y) { std::memcpy(y.raw(), x.raw(), x.bytes()); });
    }
  write_safetensors(path, tensors,
                    {{"format", format},
                     {"model", Json(identity(s)).dump()},
                     {"cache_type", std::string(name_of(s.cache_type))},
                     {"text", Json({{"context", s.text->context()}, {"parts", parts.size()}}).dump()},
                     {"blocks", blocked.dump()}});
}

SavedText read_state(const std::filesystem::path& path, const LanguageState& s) {
  const auto file = SafetensorsFile::open(path);
  const Metadata& metadata = file->header().metadata;
  const auto stated = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (stated("format") != format) fail<WeightError>("{}: not the state of a text, expected \"{}\" in its metadata", path.string(), format);
  const Config of_file = Config::parse(stated("model"), path.string() + ": model");
  const auto require = [&](const std::string& key, const std::string& value) {
    if (const std::string theirs = of_file.text(key, "absent"); theirs != value)
      fail<WeightError>("{}: is of another model: '{}' is {}, expected {}", path.string(), key, theirs, value);
  };
  require("family", s.family);  // keys of another family would say less
  for (const auto& [key, value] : identity(s)) require(key, value);
  if (stated("cache_type") != name_of(s.cache_type))
    fail<WeightError>("{}: has a KV cache of {}, expected {}", path.string(), stated("cache_type"), name_of(s.cache_type));

  Backend& host = s.device->host();
  const Config text = Config::parse(stated("text"), path.string() + ": text");
  SavedText saved{.context = text.integer("context")};
  const Tensor tokens = file->read("tokens", {}, host);
  if (tokens.dtype() != DType::i32 || tokens.rank() != 1)
    fail<WeightError>("{}: 'tokens' is {} {}, expected i32 [n]", path.string(), name_of(tokens.dtype()), tokens.shape());
  saved.tokens.assign(tokens.data<int32_t>(), tokens.data<int32_t>() + tokens.numel());
  const int64_t parts = text.integer("parts");
  if (parts < 0 || parts > 100'000) fail<WeightError>("{}: has {} parts, expected 0 to 100000", path.string(), parts);
  saved.parts.resize(size_t(parts));
  const Config blocks = Config::parse(stated("blocks"), path.string() + ": blocks");
  for (size_t p = 0; p < saved.parts.size(); ++p)
    for (size_t i = 0; file->has(part_name(p, i)); ++i) {
      const std::string name = part_name(p, i);
      const Tensor x = file->read(name, {}, host);
      saved.parts[p].push_back(blocks.has(name) ? as_blocks(x, blocks.object(name)) : x);
    }
  return saved;
}

}  // namespace hearth::api
