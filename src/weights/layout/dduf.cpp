#include "weights/layout/dduf.h"

#include <algorithm>
#include <fstream>

#include "weights/checkpoint_files.h"
#include "weights/listing.h"

namespace hearth {

namespace fs = std::filesystem;

namespace {

std::string_view bytes_of(const MappedFile& file) { return {reinterpret_cast<const char*>(file.data()), file.size()}; }

}  // namespace

bool DdufFile::is_one(const fs::path& path) {
  if (path.extension() == ".dduf") return true;
  char head[4];
  if (!std::ifstream(path, std::ios::binary).read(head, 4) || !ZipArchive::is_one({head, 4})) return false;
  const MappedFile mapping(path);
  try {
    return ZipArchive::parse(bytes_of(mapping), path.string()).has("model_index.json");
  } catch (const Error&) {
    return false;  // the reader that matches its name reports the error
  }
}

std::shared_ptr<DdufFile> DdufFile::open(const fs::path& path) {
  auto file = std::make_shared<DdufFile>();
  file->path_ = path;
  file->mapping_ = std::make_shared<const MappedFile>(path);
  if (!ZipArchive::is_one(bytes_of(*file->mapping_))) fail<IoError>("{}: is not a zip archive, expected a DDUF file", path.string());
  file->archive_ = ZipArchive::parse(bytes_of(*file->mapping_), path.string());
  for (const auto& [name, member] : file->archive_.members()) {
    file->archive_.stored(name);
    if (std::ranges::count(name, '/') > 1) fail<IoError>("{}: member '{}' is in nested folders", path.string(), name);
  }
  if (!file->has("model_index.json")) fail<IoError>("{}: has no model_index.json, which a DDUF file needs", path.string());
  return file;
}

std::string DdufFile::where(const std::string& member) const { return (path_ / member).string(); }

bool DdufFile::has_folder(const std::string& name) const {
  const auto& all = archive_.members();
  const auto found = all.lower_bound(name + "/");
  return found != all.end() && found->first.starts_with(name + "/");
}

std::string DdufFile::text(const std::string& member) const {
  const auto& [begin, end, method, encrypted] = archive_.stored(member);
  constexpr uint64_t limit = uint64_t(1) << 28;
  if (end - begin > limit) fail<IoError>("{}: {} bytes, at most {} are read", where(member), end - begin, limit);
  return std::string(bytes_of(*mapping_).substr(begin, end - begin));
}

std::shared_ptr<TensorSource> DdufFile::open_member(const std::string& member) const {
  if (!has(member)) return nullptr;
  const ZipMember& m = archive_.stored(member);
  return SafetensorsFile::inside(mapping_, m.begin, m.end, where(member));
}

std::shared_ptr<TensorSource> DdufFile::tensors(const std::string& component) const {
  const std::string folder = component + "/";
  std::vector<std::string> files, indices;
  for (const auto& [name, member] : archive_.members()) {
    if (!name.starts_with(folder)) continue;
    if (name.ends_with(".safetensors")) files.push_back(name);
    if (name.ends_with(".safetensors.index.json")) indices.push_back(name);
  }
  if (indices.size() > 1) fail<IoError>("{}: has {}, expected one index", where(component), shortened_list(indices));
  if (indices.size() == 1)
    return join_shards(text(indices[0]), where(indices[0]), [&](const std::string& name) { return open_member(folder + name); });
  if (files.empty()) fail<IoError>("{}: has no safetensors", where(component));
  if (files.size() > 1)
    fail<IoError>("{}: has {} but no index that lists the shards of each model", where(component), shortened_list(files));
  return open_member(files[0]);
}

}  // namespace hearth
