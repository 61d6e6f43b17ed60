#include "backends/vulkan/pipelines.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>

#include "core/error.h"

namespace hearth::vulkan {
namespace {

// The shaders as glslc compiled them, SPIR-V words.
#include "vulkan_shaders.inc"

struct Code {
  std::string_view name;
  int stored;  // of a variant: its DType; else −1
  std::span<const uint32_t> words;
};
constexpr Code codes[] = {
#define HEARTH_CODE(name, variable, stored) {#name, stored, variable},
    HEARTH_COMPILED_SHADERS(HEARTH_CODE)
#undef HEARTH_CODE
};

std::string_view name_of(Shader shader) {
  constexpr std::string_view names[] = {
#define HEARTH_STRING(name) #name,
      HEARTH_SHADERS(HEARTH_STRING) HEARTH_SHADERS_OF_WEIGHTS(HEARTH_STRING)
#undef HEARTH_STRING
  };
  return names[size_t(shader)];
}

const Code& code_of(Shader shader, std::optional<DType> stored) {
  const int variant = stored && *stored > DType::bf16 ? int(*stored) : -1;
  for (const Code& code : codes)
    if (code.name == name_of(shader) && code.stored == variant) return code;
  fail<UnsupportedError>("vulkan: the shader {} does not read {}", name_of(shader), hearth::name_of(*stored));
}

// In front of the driver's bytes: what they were made by, and their size.
struct Header {
  char magic[8] = {'h', 'v', 'k', 'p', 'i', 'p', 'e', '1'};
  uint32_t vendor = 0, device = 0, driver = 0, reserved = 0;
  uint8_t uuid[VK_UUID_SIZE] = {};
  uint64_t bytes = 0, sum = 0;
};

uint64_t sum_of(std::span<const char> bytes) {  // FNV-1a
  uint64_t sum = 14695981039346656037u;
  for (const char c : bytes) sum = (sum ^ uint8_t(c)) * 1099511628211u;
  return sum;
}

Header header_of(const Card& card, std::span<const char> bytes) {
  const VkPhysicalDeviceProperties& p = card.properties();
  Header h;
  h.vendor = p.vendorID, h.device = p.deviceID, h.driver = p.driverVersion, h.bytes = bytes.size(), h.sum = sum_of(bytes);
  std::memcpy(h.uuid, p.pipelineCacheUUID, sizeof h.uuid);
  return h;
}

std::filesystem::path cache_file(const Card& card) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (!cache && !home) return {};
  const VkPhysicalDeviceProperties& p = card.properties();
  return (cache ? std::filesystem::path(cache) : std::filesystem::path(home) / ".cache") / "hearth" /
         fmt::format("vulkan-{:04x}-{:04x}.bin", p.vendorID, p.deviceID);
}

// The driver's bytes of an earlier run; empty if there is no file, or if another driver or a crash left it.
std::vector<char> read_cache(const Card& card, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
  Header stored;
  if (all.size() < sizeof stored) return {};
  std::memcpy(&stored, all.data(), sizeof stored);
  const Header expected = header_of(card, std::span(all).subspan(sizeof stored));
  if (std::memcmp(&stored, &expected, sizeof stored) != 0) return {};
  all.erase(all.begin(), all.begin() + sizeof stored);
  return all;
}

}  // namespace

Pipelines::Pipelines(const Card& card) : card_(card), file_(cache_file(card)) {
  const VkPushConstantRange parameters{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = sizeof(PushConstants)};
  const VkPipelineLayoutCreateInfo layout{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .pushConstantRangeCount = 1, .pPushConstantRanges = &parameters};
  check(card.vk().vkCreatePipelineLayout(card.device(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  const std::vector<char> stored = file_.empty() ? std::vector<char>() : read_cache(card, file_);
  const VkPipelineCacheCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = stored.size(), .pInitialData = stored.data()};
  check(card.vk().vkCreatePipelineCache(card.device(), &info, nullptr, &cache_), "vkCreatePipelineCache");
}

Pipelines::~Pipelines() {
  const Functions& vk = card_.vk();
  size_t bytes = 0;
  if (added_ && !file_.empty() && vk.vkGetPipelineCacheData(card_.device(), cache_, &bytes, nullptr) == VK_SUCCESS && bytes > 0) {
    std::vector<char> data(bytes);
    std::error_code error;
    std::filesystem::create_directories(file_.parent_path(), error);
    if (vk.vkGetPipelineCacheData(card_.device(), cache_, &bytes, data.data()) == VK_SUCCESS && !error) {
      data.resize(bytes);
      const Header header = header_of(card_, data);
      const std::filesystem::path part = fmt::format("{}.{}.part", file_.string(), std::random_device()());
      std::ofstream file(part, std::ios::binary);
      file.write(reinterpret_cast<const char*>(&header), sizeof header);
      file.write(data.data(), std::streamsize(data.size()));
      file.close();
      if (file) std::filesystem::rename(part, file_, error);
      else std::filesystem::remove(part, error);
    }
  }
  for (const auto& [key, pipeline] : pipelines_) vk.vkDestroyPipeline(card_.device(), pipeline, nullptr);
  if (cache_) vk.vkDestroyPipelineCache(card_.device(), cache_, nullptr);
  if (layout_) vk.vkDestroyPipelineLayout(card_.device(), layout_, nullptr);
}

VkPipeline Pipelines::get(Shader shader, std::optional<DType> stored, std::span<const uint32_t> constants) {
  const std::lock_guard lock(mutex_);
  VkPipeline& pipeline = pipelines_[{shader, stored, {constants.begin(), constants.end()}}];
  if (!pipeline) pipeline = make(shader, stored, constants), added_ = true;
  return pipeline;
}

VkPipeline Pipelines::make(Shader shader, std::optional<DType> stored, std::span<const uint32_t> constants) {
  const Functions& vk = card_.vk();
  const Code& code = code_of(shader, stored);
  const VkShaderModuleCreateInfo words{
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code.words.size_bytes(), .pCode = code.words.data()};
  VkShaderModule module = nullptr;
  check(vk.vkCreateShaderModule(card_.device(), &words, nullptr, &module), "vkCreateShaderModule");
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({.constantID = i, .offset = i * 4, .size = 4});
  const VkSpecializationInfo specialization{uint32_t(entries.size()), entries.data(), constants.size_bytes(), constants.data()};
  const VkComputePipelineCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                   .module = module,
                                                   .pName = "main",
                                                   .pSpecializationInfo = &specialization},
                                         .layout = layout_};
  VkPipeline pipeline = nullptr;
  const VkResult result = vk.vkCreateComputePipelines(card_.device(), cache_, 1, &info, nullptr, &pipeline);
  vk.vkDestroyShaderModule(card_.device(), module, nullptr);
  if (result < 0) fail<Error>("vulkan: {} does not compile the shader {} ({})", card_.description().name, code.name, int(result));
  return pipeline;
}

}  // namespace hearth::vulkan
