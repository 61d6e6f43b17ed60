#include "hearth/quantize.h"

#include "api/files/gguf_file_types.h"
#include "api/files/gguf_tensor_writer.h"
#include "api/files/image_gguf.h"
#include "api/places.h"
#include "api/run_scope.h"
#include "backends/backends.h"
#include "core/files/file.h"
#include "hub/local_model.h"
#include "models/checkpoints.h"
#include "models/language_registry.h"
#include "weights/gguf/gguf_folder.h"

namespace hearth {
namespace {

using api::GgufExport;

GgufExport exported(const QuantizeRequest& request, const std::filesystem::path& path, Backend& device) {
  if (api::holds_image_networks(path)) {
    if (!request.imatrix.empty())
      fail<UsageError>("quantize: {} is no language model, which an importance matrix is for", request.model.string());
    if (request.component == "all") return api::export_networks(models::open_checkpoint(path, api::places_of(path)), request.variant);
    return api::export_component(path, request.component, request.variant);
  }
  if (!request.component.empty())
    fail<UsageError>("quantize: {} is a language model, which has no component '{}'", request.model.string(), request.component);
  if (GgufFile::is_one(path)) return api::export_gguf(GgufFile::open(path));
  return api::export_checkpoint(models::open_language_checkpoint(path), device);
}

}  // namespace

QuantizeReport quantize(const QuantizeRequest& request) {
  const api::OptionalCancel cancel(request.cancel);
  api::TypeChoice choice{.type = &api::file_type_named(request.type), .pure = request.pure};
  for (const std::string& rule : request.rules) choice.rules.push_back(api::type_rule(rule));
  const auto device = make_backend({.name = "cpu", .threads = request.threads});
  check_writable(request.output);
  std::optional<Imatrix> importance;
  if (!request.imatrix.empty()) importance = read_imatrix(request.imatrix);
  GgufExport model = exported(request, gguf_file_of(hub::local_model(request.model)), *device);
  const std::vector<GgufTensor> chosen = api::choose_types(model, choice);
  model.values.integer("general.file_type", api::file_type_number(choice.type, chosen));
  model.values.integer("general.quantization_version", 2);
  if (importance) {
    api::check_importance(*importance, request.imatrix.string(), chosen, model.notes);
    // As llama.cpp.
    model.values.text("quantize.imatrix.file", request.imatrix.filename().string());
    if (!importance->datasets.empty()) model.values.text("quantize.imatrix.dataset", importance->datasets[0]);
    model.values.integer("quantize.imatrix.entries_count", std::ssize(importance->entries));
    model.values.integer("quantize.imatrix.chunks_count", importance->chunks);
  }
  api::write_export(request.output, model, chosen, *device, request.progress, importance ? &*importance : nullptr);
  QuantizeReport report;
  static_cast<WrittenWeights&>(report) = api::written(request.output, model, chosen);
  report.architecture = model.architecture;
  return report;
}

}  // namespace hearth
