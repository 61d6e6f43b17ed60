// Work for a card, in order: shaders, copies, transfers. It is recorded into command buffers, and submitted when the card has nothing
// else to do, when there is enough of it, or when someone waits.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "backends/vulkan/arena.h"
#include "backends/vulkan/pipelines.h"

namespace hearth::vulkan {

// Thread-safe: each call is one piece of work behind all earlier ones. Without a card, in a dry run, it does nothing.
class Stream {
 public:
  Stream(const Card* card, Pipelines* pipelines);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Runs `groups` workgroups of a shader, which reads `parameters` (a struct as the shader declares it). `work`: about how many
  // operations, or values read: more than a driver's watchdog may tolerate is divided, and submitted in parts.
  void run(Shader shader, std::optional<DType> stored, std::span<const uint32_t> constants, std::span<const std::byte> parameters,
           int64_t groups, double work);
  template <class P> void run(Shader shader, std::initializer_list<uint32_t> constants, const P& parameters, int64_t groups, double work) {
    run(shader, {}, std::span(constants.begin(), constants.size()), std::as_bytes(std::span(&parameters, 1)), groups, work);
  }
  template <class P>
  void run(Shader shader, DType stored, std::initializer_list<uint32_t> constants, const P& parameters, int64_t groups, double work) {
    run(shader, std::optional(stored), std::span(constants.begin(), constants.size()), std::as_bytes(std::span(&parameters, 1)), groups,
        work);
  }
  void copy(const Span& from, const Span& to, size_t bytes);
  void zero(const Span& to, size_t bytes);  // rounded up to 4 bytes
  void upload(const void* from, const Span& to, size_t bytes);
  void download(const Span& from, void* to, size_t bytes);  // waits
  void finish();                                            // waits for everything; throws the card's error

  uint64_t submissions() const { return submitted_; }  // so far; while no other thread uses the stream
  bool lost() const { return lost_; }                  // the card has failed for good; every call throws

  // Where a shader reports a row that does not exist: {1 gather or 2 scatter_add, the row, how many rows there are}. The next wait throws
  // it.
  uint64_t report() const { return report_ ? report_->address() : 0; }

  // While it lives, the calling thread's shaders do not wait for each other: they write different memory, and read none of it.
  class Unordered {
   public:
    explicit Unordered(Stream& stream);
    ~Unordered();
    Unordered(const Unordered&) = delete;
    Unordered& operator=(const Unordered&) = delete;

   private:
    Stream& stream_;
    std::unique_lock<std::recursive_mutex> lock_;
  };

 private:
  struct Batch {
    VkCommandPool pool = nullptr;
    VkCommandBuffer commands = nullptr;
    std::unique_ptr<HostBuffer> parameters, staging;
    size_t parameters_used = 0, staging_used = 0;
    uint64_t value = 0;  // of the timeline when the batch is done; 0: never submitted
  };

  // All under mutex_.
  void dispatch(VkPipeline pipeline, uint64_t parameters, int64_t first, int64_t count, int64_t all);
  Batch& recording();  // the current batch, begun
  void order();        // a barrier behind what is recorded, unless unordered
  bool idle();         // everything submitted is done
  void submit();
  void wait(uint64_t value);
  void check(VkResult result, const char* call);  // remembers that the card is lost

  const Card* const card_;
  Pipelines* const pipelines_;
  std::recursive_mutex mutex_;
  VkSemaphore timeline_ = nullptr;
  std::array<Batch, 4> batches_;
  size_t current_ = 0;
  bool begun_ = false;    // the current batch
  bool pending_ = false;  // work since the last barrier
  int unordered_ = 0;
  double work_ = 0;     // of the current batch
  int dispatches_ = 0;  // of the current batch
  uint64_t submitted_ = 0;
  std::atomic<bool> lost_ = false;
  VkPipeline bound_ = nullptr;
  std::unique_ptr<HostBuffer> landing_;  // for downloads
  std::unique_ptr<HostBuffer> report_;
};

}  // namespace hearth::vulkan
