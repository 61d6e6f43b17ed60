// One resident image model with a queue: its jobs run one after the other, in the order in which they came, on a thread of the service.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hearth/hearth.h"
#include "server/api_error.h"
#include "server/image/offered_adapters.h"

namespace hearth::server {

// What a client asks for: runs of one request, whose seeds follow each other as those of `hearth generate --batch-count`.
struct ImageTask {
  Request request;  // its progress, preview, cancel and finish are the service's
  int64_t batches = 1;
  int64_t preview_every = 0;  // steps between previews; 0: none. A model without previews shows none
};

struct ImageProgress {
  enum class State { waiting, running, done, failed, canceled };
  State state = State::waiting;
  int64_t ahead = 0;  // of a job that waits: jobs that run before it
  std::string phase;  // of the batch that runs: "load", "encode", "sample", "decode"
  int64_t step = 0;   // of `steps` of the pass that runs
  int64_t steps = 0;
  int64_t batch = 0;  // from 0
  int64_t batches = 1;
  double batch_share = 0;              // of the batch that is done, 0 … 1
  double share = 0;                    // of the whole job
  double seconds = 0;                  // since it began to run
  std::optional<double> seconds_left;  // estimated, after the first step
};

// Receives what becomes of a job, on the service's thread, which must not wait for anything else. Nothing follows done() or failed().
class ImageSink {
 public:
  virtual ~ImageSink() = default;
  virtual void progress(const ImageProgress&) {}
  virtual void preview(const std::vector<Image>& /*images*/, const ImageProgress&) {}
  virtual void made(Generation&& batch) = 0;       // the result of one batch
  virtual void done() = 0;                         // all batches, or those before finish()
  virtual void failed(const ApiError& error) = 0;  // 499 "canceled" of a job that was canceled
};

class ImageService {
 public:
  struct Limits {
    int64_t waiting = 32;                     // jobs in the queue
    int64_t images = 64;                      // of one job
    int64_t steps = 1000;                     // of a pass
    int64_t input_pixels = int64_t(1) << 26;  // of an input image
    OfferedAdapters adapters = {};
  };

  // Loads the model; empty path: the demo model. Errors of Model::open.
  ImageService(std::string id, const std::filesystem::path& path, const OpenOptions& open);
  ImageService(std::string id, const std::filesystem::path& path, const OpenOptions& open, const Limits& limits);
  // Cancels the job that runs and refuses those that wait. May be called on the service's own thread, by the last sink that held it.
  ~ImageService();
  ImageService(const ImageService&) = delete;
  ImageService& operator=(const ImageService&) = delete;

  const std::string& id() const { return id_; }
  const Limits& limits() const;
  std::string family() const;
  Model::Traits traits() const;
  int64_t bytes() const { return traits().weight_bytes; }
  bool device_lost() const;  // Model::device_lost

  // A job; it is canceled when its ticket is destroyed.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&&) = default;
    Ticket& operator=(Ticket&&) noexcept;
    ~Ticket();

    void cancel();  // waiting or running; its sink gets failed()
    void finish();  // if it runs: the batch ends after its step, and done() follows. No effect while it waits
    void skip();    // the same for its batch only
    ImageProgress progress() const;
    std::vector<Image> preview() const;  // the latest of the batch that runs; empty: none

   private:
    friend class ImageService;
    std::shared_ptr<struct ImageJob> job_;
  };
  // Checks the request and plans its memory, on the calling thread, then queues it. ApiError 429 with retry_after if the queue is full, 400
  // for a request beyond the limits; UsageError, UnsupportedError of Model::prepare.
  Ticket submit(ImageTask task, std::shared_ptr<ImageSink> sink);

  struct Metrics {
    int64_t waiting = 0, running = 0;
    int64_t finished = 0, failed = 0, canceled = 0;  // jobs so far
    int64_t images = 0, steps = 0;                   // made so far
    double seconds = 0;                              // of all jobs that ended, without waiting
  };
  Metrics metrics() const;
  bool idle() const;  // no job waits or runs

 private:
  struct Impl;
  std::string id_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hearth::server
