#include "hearth/convert.h"

#include <stdlib.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/assets.h"
#include "api/files/gguf_file_types.h"
#include "api/files/gguf_tensor_writer.h"
#include "api/files/image_gguf.h"
#include "api/places.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "core/files/file.h"
#include "core/files/json.h"
#include "hub/local_model.h"
#include "models/adapter_use.h"
#include "models/checkpoints.h"
#include "weights/changes.h"
#include "weights/dequantized.h"
#include "weights/layout/stored_tensors.h"
#include "weights/layout/written_layout.h"
#include "weights/listing.h"
#include "weights/name_pattern.h"
#include "weights/zip/zip_writer.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using api::GgufExport;
using Json = nlohmann::ordered_json;

OpenOptions open_options(const ConvertRequest& request) {
  OpenOptions options{.config = request.config, .ema = request.ema, .variant = request.variant};
  for (const auto& [name, path] : request.components) options.components[name].path = path;
  return options;
}

// A source without some of its tensors.
std::shared_ptr<TensorSource> without(std::shared_ptr<TensorSource> source, const std::vector<std::string>& names) {
  Pieces pieces;
  for (const auto& [name, info] : source->list())
    if (std::ranges::find(names, name) == names.end()) pieces.emplace(name, Piece{name, form::same, info});
  return source_of(std::move(source), std::move(pieces));
}

// A tensor whose presence is the information.
class Marker : public TensorSource {
 public:
  explicit Marker(std::string name) : name_(std::move(name)) {}
  std::string describe() const override { return "marker " + name_; }
  std::map<std::string, TensorInfo> list() const override { return {{name_, {.dtype = DType::f32, .shape = {1}, .unreadable = {}}}}; }
  bool has(const std::string& name) const override { return name == name_; }
  Tensor read(const std::string&, const Shape&, Backend& backend) override { return Tensor::zeros(backend, {1}); }

 private:
  std::string name_;
};

// Writes the files of a checkpoint.
struct CheckpointWriter {
  using Write = std::function<void(std::string_view)>;
  using Data = std::function<void(const Write&)>;
  std::function<void(const std::string& file, uint64_t size, const Data& data)> add;
  std::function<void()> commit;  // makes all files visible at once
};

// Has a temporary name until it is complete.
class PartialFolder {
 public:
  explicit PartialFolder(const fs::path& out) {
    std::error_code error;
    if (fs::exists(out, error) && !(fs::is_directory(out, error) && fs::is_empty(out, error)))
      fail<UsageError>("convert: {} exists, expected a new name or an empty folder", out.string());
    const fs::path absolute = fs::absolute(out).lexically_normal();
    target_ = absolute.has_filename() ? absolute : absolute.parent_path();
    const fs::path parent = target_.parent_path();
    if (!fs::is_directory(parent, error)) fail<IoError>("convert: the folder {} does not exist", parent.string());
    std::string name = (parent / ".hearth-convert-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail<IoError>("convert: cannot create a folder in {}", parent.string());
    folder_ = name;
    fs::permissions(folder_, fs::perms(0755), error);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  ~PartialFolder() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  void add(const std::string& file, const CheckpointWriter::Data& data) {
    fs::create_directories((folder_ / file).parent_path());
    FileWriter writer(folder_ / file);
    data([&](std::string_view bytes) { writer.write(bytes); });
    writer.commit();
  }
  void commit() {
    std::error_code error;
    fs::rename(folder_, target_, error);
    if (error) fail<IoError>("convert: cannot create {}: {}", target_.string(), error.message());
    folder_.clear();
  }

 private:
  fs::path folder_, target_;
};

CheckpointWriter folder_writer(const fs::path& out) {
  const auto folder = std::make_shared<PartialFolder>(out);
  return {.add = [folder](const std::string& file, uint64_t, const CheckpointWriter::Data& data) { folder->add(file, data); },
          .commit = [folder] { folder->commit(); }};
}

CheckpointWriter dduf_writer(const fs::path& out) {
  const auto zip = std::make_shared<ZipWriter>(out);
  return {.add = [zip](const std::string& file, uint64_t size, const CheckpointWriter::Data& data) { zip->add(file, size, data); },
          .commit = [zip] { zip->commit(); }};
}

class Conversion {
 public:
  explicit Conversion(const ConvertRequest& request)
      : request_(request),
        families_(models::image_files(api::assets_folder())),
        checkpoint_(models::open_checkpoint(request.model, api::places_of(request.model, open_options(request)))),
        device_(make_backend({.name = "reference", .threads = 1})) {
    for (const Component& c : checkpoint_.components()) {
      if (checkpoint_.is_added(c.name))
        fail<UsageError>("convert: {} has no {} that could be replaced", checkpoint_.pipeline_class(), checkpoint_.label_of(c.name));
      if (!checkpoint_.is_decoder_alone(c.name)) continue;
      const auto given = request.components.find(c.name);
      fail<UnsupportedError>("{}: the VAE has only a decoder, expected an encoder too",
                             (given == request.components.end() ? request.model : given->second).string());
    }
    report_.pipeline = checkpoint_.pipeline_class();
    report_.notes = checkpoint_.notes();
    if (!request.loras.empty()) read_loras();
  }

  // The diffusers layout: configurations, vocabularies and networks under their official names.
  ConvertReport to_components(const CheckpointWriter& writer) {
    Json index = Json::parse(checkpoint_.index_text());
    for (const char* own : {"_base", "_marker", "_name"}) index.erase(own);
    for (const Component& c : checkpoint_.components()) {
      index[c.name] = {c.library, c.class_name};
      if (checkpoint_.is_there(c.name)) continue;
      index[c.name] = {nullptr, nullptr};
      report_.notes.push_back(fmt::format("the component '{}' is missing", c.name));
    }
    add_text(writer, "model_index.json", index.dump(2) + "\n");
    for (const Component& c : checkpoint_.components()) {
      if (!checkpoint_.is_there(c.name)) continue;
      const std::string folder = c.name + "/";
      if (checkpoint_.config_file_name(c.name) != "tokenizer_config.json")
        add_text(writer, folder + checkpoint_.config_file_name(c.name), checkpoint_.config_text(c.name));
      else
        for (const std::string& file : text_files(c))
          if (const auto text = checkpoint_.text_file(c.name, file)) add_text(writer, folder + file, *text);
      if (!has_weights(c)) continue;
      auto source = tensors_of(c.name);
      if (checkpoint_.is_single_file()) leave_out(c, source, nullptr);
      add_shards(writer, folder + (c.library == "diffusers" ? "diffusion_pytorch_model" : "model"), stored_tensors(source));
    }
    writer.commit();
    return report_;
  }

  ConvertReport to_file() {
    const ImageFiles* layout = layout_of(checkpoint_, families_);
    if (!layout) fail<UnsupportedError>("{}: no single-file layout supports {}", request_.model.string(), report_.pipeline);
    std::vector<StoredTensor> all;
    for (const Component& c : checkpoint_.components()) {
      if (!has_weights(c)) continue;
      const WrittenPlace* place = place_in(*layout, c);
      if (!place) {
        report_.notes.push_back(fmt::format("the component '{}' ({}) cannot be stored in this layout", c.name, c.class_name));
        continue;
      }
      auto source = tensors_of(c.name);
      leave_out(c, source, place);
      for (StoredTensor& t : stored_tensors(source, std::string(place->prefix), names_in(*place, source->list())))
        all.push_back(std::move(t));
    }
    Metadata metadata{{"format", "pt"}};
    state_schedule(*layout, metadata, all);
    note_unpublished(*layout);
    set_dtype(all);
    FileWriter writer(request_.output);
    write_all(prepared(std::move(all), metadata), [&](std::string_view bytes) { writer.write(bytes); });
    writer.commit();
    return report_;
  }

  ConvertReport to_gguf() {
    GgufExport model = request_.component == "all" ? api::export_networks(checkpoint_, request_.variant)
                                                   : api::export_component(checkpoint_, request_.component, request_.variant);
    const api::FileType* type = request_.type.empty() ? nullptr : &api::file_type_named(request_.type);
    const std::vector<GgufTensor> chosen = api::choose_types(model, {.type = type});
    model.values.integer("general.file_type", api::file_type_number(type, chosen));
    model.values.integer("general.quantization_version", 2);
    const OnProgress progress = [this](const Progress& p) {
      if (request_.progress) request_.progress({.phase = "convert", .done = p.done, .total = p.total});
    };
    api::write_export(request_.output, model, chosen, *device_, progress);
    WrittenWeights file = api::written(request_.output, model, chosen);
    file.notes.insert(file.notes.begin(), report_.notes.begin(), report_.notes.end());
    static_cast<WrittenWeights&>(report_) = std::move(file);
    return report_;
  }

 private:
  void read_loras() {
    std::vector<adapters::AdapterUse> uses;
    for (const Lora& lora : request_.loras) uses.push_back(models::use_of(lora));
    adapters::Adapters made =
        adapters::read_adapters(uses, models::adapted_networks(checkpoint_, request_.variant), adapters::Pairs::merged);
    changes_ = std::move(made.changes);
    for (const adapters::Coverage& c : made.coverage) report_.notes.push_back(adapters::text_of(c));
    size_t changed_tensors = 0;
    for (const auto& [component, changes] : changes_) changed_tensors += changes->replaced.size();
    if (request_.type.empty())
      report_.notes.push_back(fmt::format("{} changed tensors are stored as f32; --dtype rounds all tensors", changed_tensors));
  }

  // A component's tensors, with what the adapters change.
  std::shared_ptr<TensorSource> tensors_of(const std::string& component) const {
    auto source = dequantized(checkpoint_.tensors(component, request_.variant));
    const auto found = changes_.find(component);
    return found == changes_.end() ? source : changed(source, found->second);
  }

  // Records what readers need from the scheduler's configuration, which this layout does not include.
  void state_schedule(const ImageFiles& layout, Metadata& metadata, std::vector<StoredTensor>& all) {
    const auto& components = checkpoint_.components();
    const auto found = std::ranges::find_if(components, is_scheduler);
    if (found == components.end()) fail<WeightError>("{}: model_index.json has no scheduler", request_.model.string());
    const Config scheduler = checkpoint_.config(found->name);
    const std::string type = scheduler.text("prediction_type", "epsilon");
    const auto prediction = std::ranges::find(layout.predictions, type, &Prediction::type);
    if (prediction != layout.predictions.end()) metadata["modelspec.prediction_type"] = prediction->stated.front();
    else if (!layout.predictions.empty())
      report_.notes.push_back(fmt::format("the prediction type '{}' cannot be recorded in this layout", type));
    for (const SchedulerMarker& marker : layout.markers)
      if (const std::string key(marker.key); !marker.value.empty() && scheduler.has(key) && scheduler.dump(key) == marker.value)
        all.push_back(stored_tensors(std::make_shared<Marker>(std::string(marker.tensor)))[0]);
  }

  void note_unpublished(const ImageFiles& layout) {
    for (const WrittenPlace& place : layout.written) {
      if (place.slot->role != ComponentRole::denoiser) continue;
      const auto tensors = checkpoint_.tensors(place.slot->name, request_.variant);
      if (configurations_with({*place.network, *place.slot, *tensors}, families_).empty())
        report_.notes.push_back(
            fmt::format("no published model has this {}'s architecture: opening the file requires --config", place.slot->label));
    }
  }

  // Leaves out tensors that no network of this class has. Those that are ignored by name stay if a folder, or the `place` in a single file,
  // has a name for them.
  void leave_out(const Component& c, std::shared_ptr<TensorSource>& source, const WrittenPlace* place) {
    const NetworkFiles* network = network_of(families_, c.class_name);
    const TensorList tensors = source->list();
    const std::vector<std::string> surplus = checkpoint_.ignored(c.name);
    const auto is_usual = [&](const std::string& name) { return network && matches_any(network->ignored, name); };
    const NameMap names = place ? names_in(*place, tensors) : NameMap();
    std::vector<std::string> dropped;
    for (const auto& [name, info] : tensors)
      if (matches_any(surplus, name) && !(is_usual(name) && (!place || to_original(name, names)))) dropped.push_back(name);
    if (!dropped.empty()) {
      report_.notes.push_back(fmt::format("{}: {} unused tensors are left out: {}", c.name, dropped.size(), shortened_list(dropped)));
      source = without(source, dropped);
    }
    const ImageFiles* layout = checkpoint_.is_single_file() ? layout_of(checkpoint_, families_) : nullptr;
    const WrittenPlace* origin = layout ? place_in(*layout, c) : nullptr;
    if (!origin) return;
    std::vector<std::string> unknown;
    const NameMap known = names_in(*origin, tensors);
    for (const auto& [name, info] : source->list())
      if (!is_usual(name) && !to_original(name, known)) unknown.push_back("'" + name + "'");
    if (!unknown.empty())
      fail<WeightError>("{}: {} unknown tensors of the {}: {}", source->describe(), unknown.size(), checkpoint_.label_of(c.name),
                        shortened_list(unknown));
  }

  static void add_text(const CheckpointWriter& writer, const std::string& file, const std::string& text) {
    writer.add(file, text.size(), [&](const CheckpointWriter::Write& write) { write(text); });
  }

  // `stem`.safetensors, or its shards and their index.
  void add_shards(const CheckpointWriter& writer, const std::string& stem, std::vector<StoredTensor> tensors) {
    set_dtype(tensors);
    std::vector<StoredFile> files;
    for (auto& shard : in_shards(std::move(tensors), uint64_t(request_.max_shard_size)))
      files.push_back(prepared(std::move(shard), {{"format", "pt"}}));
    Json map = Json::object();
    int64_t total = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string part = files.size() == 1 ? "" : fmt::format("-{:05}-of-{:05}", i + 1, files.size());
      const std::string file = stem + part + ".safetensors";
      writer.add(file, files[i].bytes, [&](const CheckpointWriter::Write& write) { write_all(files[i], write); });
      for (const StoredTensor& t : files[i].tensors) map[t.name] = fs::path(file).filename().string();
      total += int64_t(files[i].bytes - files[i].head.size());
    }
    if (files.size() > 1)
      add_text(writer, stem + ".safetensors.index.json",
               Json{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}}.dump(2) + "\n");
  }

  // In the requested dtype.
  void set_dtype(std::vector<StoredTensor>& tensors) {
    if (request_.type.empty()) return;
    const auto kept = hearth::set_dtype(tensors, *dtype_named(request_.type), *device_);
    if (!kept.empty())
      report_.notes.push_back(fmt::format("{} tensors have values too large for {} and keep their dtype: {}", kept.size(), request_.type,
                                          shortened_list(kept)));
  }

  // Counts the tensors and lays out the file.
  StoredFile prepared(std::vector<StoredTensor> tensors, const Metadata& metadata) {
    for (const StoredTensor& t : tensors) {
      ++report_.tensors;
      report_.parameters += t.shape.numel();
      report_.bytes += int64_t(bytes_of(t.dtype, t.shape.numel()));
      ++report_.types[std::string(name_of(t.dtype))];
    }
    StoredFile file = stored_file(std::move(tensors), metadata);
    total_ += int64_t(file.bytes);
    return file;
  }

  void write_all(const StoredFile& file, const CheckpointWriter::Write& write) {
    write_stored(file, *device_, [&](std::string_view bytes) {
      write(bytes);
      written_ += int64_t(bytes.size());
      if (request_.progress) request_.progress({.phase = "convert", .done = written_, .total = total_});
    });
  }

  const ConvertRequest& request_;
  std::vector<KnownFamily> families_;
  Checkpoint checkpoint_;
  std::unique_ptr<Backend> device_;
  ConvertReport report_;
  std::map<std::string, std::shared_ptr<const WeightChanges>> changes_;  // by component, of request_.loras
  int64_t written_ = 0, total_ = 0;                                      // bytes of tensor files: written, and of all
};

}  // namespace

ConvertReport convert(const ConvertRequest& given) {
  ConvertRequest request = given;
  request.model = hub::local_model(request.model);
  const api::OptionalCancel cancel(request.cancel);
  if (!request.type.empty() && request.type != "f32" && request.type != "f16" && request.type != "bf16")
    fail<UsageError>("convert: unknown type '{}', expected f32, f16 or bf16", request.type);
  if (request.layout != "diffusers" && request.layout != "single" && request.layout != "dduf" && request.layout != "gguf")
    fail<UsageError>("convert: unknown layout '{}', expected diffusers, single, dduf or gguf", request.layout);
  if (!request.component.empty() && request.layout != "gguf")
    fail<UsageError>("convert: a component is given, expected the layout gguf, got {}", request.layout);
  if (!request.loras.empty() && request.layout == "gguf")
    fail<UnsupportedError>("convert: adapters are merged into the layouts diffusers, dduf and single, not into gguf");
  if (request.max_shard_size < 1) fail<UsageError>("convert: shards of {} bytes, expected at least 1", request.max_shard_size);
  if (request.layout == "diffusers") {
    const CheckpointWriter writer = folder_writer(request.output);
    return Conversion(request).to_components(writer);
  }
  check_writable(request.output);
  Conversion conversion(request);
  if (request.layout == "single") return conversion.to_file();
  if (request.layout == "gguf") return conversion.to_gguf();
  return conversion.to_components(dduf_writer(request.output));
}

}  // namespace hearth
