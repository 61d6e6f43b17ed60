#include "backends/vulkan/stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace hearth::vulkan {
namespace {

constexpr size_t parameters_bytes = size_t(1) << 20;
constexpr size_t staging_bytes = size_t(8) << 20;
constexpr double most_work = 2e11;  // operations: 0.2 s of a card that does 1 TFLOP/s
constexpr int head_start = 32;      // dispatches that a card without work begins with, while the next are recorded

constexpr size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }
constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

}  // namespace

Stream::Stream(const Card* card, Pipelines* pipelines) : card_(card), pipelines_(pipelines) {
  if (!card) return;
  report_ = std::make_unique<HostBuffer>(*card, 3 * sizeof(int32_t), HostBuffer::Use::read);
  std::memset(report_->data(), 0, report_->size());
  const Functions& vk = card->vk();
  const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo semaphore{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  check(vk.vkCreateSemaphore(card->device(), &semaphore, nullptr, &timeline_), "vkCreateSemaphore");
  for (Batch& batch : batches_) {
    const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = card->family()};
    check(vk.vkCreateCommandPool(card->device(), &pool, nullptr, &batch.pool), "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo commands{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = batch.pool,
                                               .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                               .commandBufferCount = 1};
    check(vk.vkAllocateCommandBuffers(card->device(), &commands, &batch.commands), "vkAllocateCommandBuffers");
  }
}

Stream::~Stream() {
  if (!card_) return;
  const Functions& vk = card_->vk();
  vk.vkDeviceWaitIdle(card_->device());
  for (Batch& batch : batches_)
    if (batch.pool) vk.vkDestroyCommandPool(card_->device(), batch.pool, nullptr);
  if (timeline_) vk.vkDestroySemaphore(card_->device(), timeline_, nullptr);
}

void Stream::check(VkResult result, const char* call) {
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  if (lost_)
    fail<Error>("vulkan: {} stopped working (its driver was reset, or it was removed); what was on it is lost", card_->description().name);
  vulkan::check(result, call);
}

Stream::Batch& Stream::recording() {
  Batch& batch = batches_[current_];
  if (begun_) return batch;
  wait(batch.value);
  const Functions& vk = card_->vk();
  check(vk.vkResetCommandPool(card_->device(), batch.pool, 0), "vkResetCommandPool");
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  check(vk.vkBeginCommandBuffer(batch.commands, &begin), "vkBeginCommandBuffer");
  batch.parameters_used = batch.staging_used = 0;
  begun_ = true, bound_ = nullptr, work_ = 0, dispatches_ = 0;
  pending_ = true;  // the batches before this one
  return batch;
}

void Stream::order() {
  if (!pending_) return;
  constexpr VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkMemoryBarrier barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
  card_->vk().vkCmdPipelineBarrier(recording().commands, stages, stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  pending_ = false;
}

void Stream::run(Shader shader, std::optional<DType> stored, std::span<const uint32_t> constants, std::span<const std::byte> parameters,
                 int64_t groups, double work) {
  if (!card_ || groups == 0) return;
  const VkPipeline pipeline = pipelines_->get(shader, stored, constants);
  const std::lock_guard lock(mutex_);
  const auto pieces = int64_t(std::clamp(std::ceil(work / most_work), 1.0, double(groups)));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const size_t bytes = rounded(parameters.size(), 16);
    if (begun_ && (batches_[current_].parameters_used + bytes > parameters_bytes || work_ + work / double(pieces) > most_work)) submit();
    Batch& batch = recording();
    if (!batch.parameters) batch.parameters = std::make_unique<HostBuffer>(*card_, parameters_bytes, HostBuffer::Use::write);
    std::memcpy(batch.parameters->data() + batch.parameters_used, parameters.data(), parameters.size());
    const uint64_t address = batch.parameters->address() + batch.parameters_used;
    batch.parameters_used += bytes;
    const int64_t first = groups * piece / pieces;
    dispatch(pipeline, address, first, groups * (piece + 1) / pieces - first, groups);
    work_ += work / double(pieces);
    if (++dispatches_ % head_start == 0 && idle()) submit();
  }
}

bool Stream::idle() {
  uint64_t done = 0;
  check(card_->vk().vkGetSemaphoreCounterValue(card_->device(), timeline_, &done), "vkGetSemaphoreCounterValue");
  return done == submitted_;
}

void Stream::dispatch(VkPipeline pipeline, uint64_t parameters, int64_t first, int64_t count, int64_t all) {
  const Functions& vk = card_->vk();
  const VkCommandBuffer commands = recording().commands;
  if (unordered_ < 2) order();
  if (unordered_ == 1) unordered_ = 2;
  if (pipeline != bound_) vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  bound_ = pipeline;
  const PushConstants constants{parameters, uint32_t(first), uint32_t(first + count)};
  vk.vkCmdPushConstants(commands, pipelines_->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants, &constants);
  constexpr int64_t widest = 65535;  // workgroups of an axis that every card supports
  const int64_t columns = std::min(count, widest), rows = parts(count, columns);
  if (rows > widest) fail<UnsupportedError>("vulkan: an op of {} workgroups is too large", all);
  vk.vkCmdDispatch(commands, uint32_t(columns), uint32_t(rows), 1);
  pending_ = true;
}

void Stream::copy(const Span& from, const Span& to, size_t bytes) {
  if (!card_ || bytes == 0) return;
  const std::lock_guard lock(mutex_);
  Batch& batch = recording();
  order();
  const VkBufferCopy region{from.offset, to.offset, bytes};
  card_->vk().vkCmdCopyBuffer(batch.commands, from.buffer, to.buffer, 1, &region);
  pending_ = true;
}

void Stream::zero(const Span& to, size_t bytes) {
  if (!card_ || bytes == 0) return;
  const std::lock_guard lock(mutex_);
  Batch& batch = recording();
  order();
  card_->vk().vkCmdFillBuffer(batch.commands, to.buffer, to.offset, rounded(bytes, 4), 0);
  pending_ = true;
}

void Stream::upload(const void* from, const Span& to, size_t bytes) {
  if (!card_) return;
  const std::lock_guard lock(mutex_);
  for (size_t done = 0; done < bytes;) {
    if (begun_ && batches_[current_].staging_used == staging_bytes) submit();
    Batch& batch = recording();
    if (!batch.staging) batch.staging = std::make_unique<HostBuffer>(*card_, staging_bytes, HostBuffer::Use::write);
    const size_t part = std::min(bytes - done, staging_bytes - batch.staging_used);
    std::memcpy(batch.staging->data() + batch.staging_used, static_cast<const std::byte*>(from) + done, part);
    order();
    const VkBufferCopy region{batch.staging_used, to.offset + done, part};
    card_->vk().vkCmdCopyBuffer(batch.commands, batch.staging->buffer(), to.buffer, 1, &region);
    pending_ = true;
    batch.staging_used = std::min(staging_bytes, rounded(batch.staging_used + part, 16));
    done += part;
  }
}

void Stream::download(const Span& from, void* to, size_t bytes) {
  if (!card_) return;
  const std::lock_guard lock(mutex_);
  if (!landing_) landing_ = std::make_unique<HostBuffer>(*card_, staging_bytes, HostBuffer::Use::read);
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, staging_bytes);
    Batch& batch = recording();
    order();
    const VkBufferCopy region{from.offset + done, 0, part};
    card_->vk().vkCmdCopyBuffer(batch.commands, from.buffer, landing_->buffer(), 1, &region);
    const VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT, .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    card_->vk().vkCmdPipelineBarrier(batch.commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                                     0, nullptr);
    pending_ = true;
    submit();
    wait(submitted_);
    std::memcpy(static_cast<std::byte*>(to) + done, landing_->data(), part);
    done += part;
  }
}

void Stream::finish() {
  const std::lock_guard lock(mutex_);
  submit();
  wait(submitted_);
}

void Stream::submit() {
  if (!begun_) return;
  Batch& batch = batches_[current_];
  const Functions& vk = card_->vk();
  begun_ = false;
  current_ = (current_ + 1) % batches_.size();
  // What shaders report is visible to the host when the batch is done.
  const VkMemoryBarrier to_host{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT, .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
  vk.vkCmdPipelineBarrier(batch.commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0,
                          nullptr);
  check(vk.vkEndCommandBuffer(batch.commands), "vkEndCommandBuffer");
  batch.value = ++submitted_;
  const VkTimelineSemaphoreSubmitInfo timeline{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &batch.value};
  const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &timeline,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &batch.commands,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &timeline_};
  check(vk.vkQueueSubmit(card_->queue(), 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
}

void Stream::wait(uint64_t value) {
  if (value == 0) return;
  const VkSemaphoreWaitInfo info{
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &timeline_, .pValues = &value};
  check(card_->vk().vkWaitSemaphores(card_->device(), &info, UINT64_MAX), "vkWaitSemaphores");
  card_->instance().validation().require_clean();
  int32_t report[3];
  std::memcpy(report, report_->data(), sizeof report);
  if (report[0] == 0) return;
  std::memset(report_->data(), 0, report_->size());
  fail<ShapeError>("{}: row {} does not exist, expected one of {} rows", report[0] == 1 ? "gather" : "scatter_add", report[1], report[2]);
}

Stream::Unordered::Unordered(Stream& stream) : stream_(stream), lock_(stream.mutex_) { stream_.unordered_ = 1; }
Stream::Unordered::~Unordered() { stream_.unordered_ = 0; }

}  // namespace hearth::vulkan
