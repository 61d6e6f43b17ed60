#include "server/image/image_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "models/request.h"

namespace hearth::server {

using Clock = std::chrono::steady_clock;

// Shared by the queue, the thread that runs it and its ticket.
struct ImageJob {
  ImageTask task;
  std::shared_ptr<ImageSink> sink;      // of the service's thread, once it has been queued
  std::optional<hearth::Job> prepared;  // of the first batch
  std::weak_ptr<void> service;          // ImageService::Impl

  std::atomic<bool> cancel = false;
  std::atomic<bool> finish = false;   // of the batch that runs
  std::atomic<bool> no_more = false;  // batches

  mutable std::mutex mutex;
  ImageProgress progress;        // under mutex
  Clock::time_point began;       // under mutex
  std::vector<Image> preview;    // under mutex
  int64_t pass = 0, passes = 1;  // of a batch: the second is that of Request::hires; of the service's thread

  // Steps of the pass that runs; under mutex.
  void count(int64_t step, int64_t steps) {
    progress.step = step, progress.steps = steps;
    const double of_pass = steps > 0 ? double(step) / double(steps) : 1;
    progress.batch_share = (double(std::min(pass, passes - 1)) + of_pass) / double(passes);
    progress.share = (double(progress.batch) + progress.batch_share) / double(progress.batches);
  }

  ImageProgress now() const {
    const std::lock_guard lock(mutex);
    ImageProgress p = progress;
    if (p.state != ImageProgress::State::running) return p;
    p.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (p.share > 0) p.seconds_left = p.seconds * (1 - p.share) / p.share;
    return p;
  }
};

struct ImageService::Impl {
  Impl(Model m, const Limits& l) : model(std::move(m)), limits(l) {}

  void require_room() const;
  void work();
  void run(ImageJob& job);
  void run_batches(ImageJob& job);
  void follow(ImageJob& job, const Progress& p);
  void withdraw(const std::shared_ptr<ImageJob>& job);
  void end(ImageJob& job, ImageProgress::State state);

  Model model;
  const Limits limits;
  mutable std::mutex mutex;  // everything below
  std::condition_variable changed;
  std::deque<std::shared_ptr<ImageJob>> waiting;
  std::shared_ptr<ImageJob> running;
  Metrics metrics;
  double mean_seconds = 10;  // of a job, for Retry-After
  bool stop = false;
  std::thread thread;
};

namespace {

ApiError canceled() { return {499, "the request was canceled", "", "canceled"}; }

ApiError stopped() {
  ApiError error(503, "the server is shutting down", "", "shutting_down");
  error.retry_after = 5;
  return error;
}

Model open(const std::filesystem::path& path, const OpenOptions& options) {
  return path.empty() ? Model::open_demo(options) : Model::open(path, options);
}

// Of the batch after `made`.
void advance_seeds(Request& request, const Generation& made) {
  const auto images = uint64_t(request.batch_size);
  if (request.variation.strength > 0) request.seed = made.seed, request.variation.seed = made.variation_seed + images;
  else request.seed = made.seed + images;
}

void check(const ImageTask& task, const ImageService::Limits& limits) {
  const auto refuse = [](const std::string& what) { throw ApiError(400, what, "", "limit_exceeded"); };
  const Request& r = task.request;
  if (r.batch_size < 1 || task.batches < 1 || r.batch_size > limits.images / task.batches)
    refuse(fmt::format("the request is for {} batches of {} images, expected 1 to {} images", task.batches, r.batch_size, limits.images));
  const int64_t steps = std::max(r.steps, r.hires ? r.hires->steps : 0);
  if (steps > limits.steps) refuse(fmt::format("the request has {} steps, expected at most {}", steps, limits.steps));
}

// Called for an error of Model::prepare. The client has chosen an adapter that does not fit the model: ApiError 400, which does not tell
// where the server keeps its files. Throws the error again if it is about something else.
[[noreturn]] void refuse_adapters(std::string what, const ImageService::Limits& limits) {
  const auto replace = [&](const std::string& path, const std::string& by) {
    const size_t at = path.empty() ? what.npos : what.find(path);
    if (at != what.npos) what.replace(at, path.size(), by);
    return at != what.npos;
  };
  const OfferedAdapters& offered = limits.adapters;
  bool chosen = replace(offered.lora_folder.empty() ? "" : (offered.lora_folder / "").string(), "");
  for (const auto* adapters : {&offered.controls, &offered.image_prompts})
    for (const auto& [name, path] : *adapters) chosen = replace(path.string(), name) || chosen;
  if (!chosen) throw;
  throw ApiError(400, what, "prompt", "unsupported");
}

}  // namespace

ImageService::ImageService(std::string id, const std::filesystem::path& path, const OpenOptions& open)
    : ImageService(std::move(id), path, open, Limits()) {}

ImageService::ImageService(std::string id, const std::filesystem::path& path, const OpenOptions& options, const Limits& limits)
    : id_(std::move(id)), impl_(std::make_shared<Impl>(open(path, options), limits)) {
  impl_->thread = std::thread([impl = impl_] { impl->work(); });
}

ImageService::~ImageService() {
  std::deque<std::shared_ptr<ImageJob>> refused;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
    refused.swap(impl_->waiting);
    if (impl_->running) impl_->running->cancel = true;
  }
  impl_->changed.notify_all();
  for (const auto& job : refused) {
    job->prepared.reset();
    impl_->end(*job, ImageProgress::State::failed);
    job->sink->failed(stopped());
    job->sink.reset();
  }
  if (impl_->thread.get_id() == std::this_thread::get_id()) impl_->thread.detach();  // it ends after this; Impl is its own
  else impl_->thread.join();
}

const ImageService::Limits& ImageService::limits() const { return impl_->limits; }
std::string ImageService::family() const { return impl_->model.family(); }
bool ImageService::device_lost() const { return impl_->model.device_lost(); }
Model::Traits ImageService::traits() const { return impl_->model.traits(); }

ImageService::Ticket ImageService::submit(ImageTask task, std::shared_ptr<ImageSink> sink) {
  check(task, impl_->limits);
  auto job = std::make_shared<ImageJob>();
  job->sink = std::move(sink);
  job->service = impl_;
  job->progress.batches = task.batches;
  job->passes = task.request.hires ? 2 : 1;
  Request& r = task.request;
  ImageJob* const raw = job.get();  // outlives the run: the service's thread holds it
  Impl* const impl = impl_.get();
  r.last = false;
  r.cancel = &job->cancel, r.finish = &job->finish;
  r.progress = [raw, impl](const Progress& p) { impl->follow(*raw, p); };
  r.preview = {};
  if (task.preview_every > 0 && traits().previews) {
    r.preview.every = task.preview_every;
    r.preview.show = [raw](const std::vector<Image>& images, int64_t step, int64_t steps) {
      {
        const std::lock_guard lock(raw->mutex);
        raw->preview = images;
        raw->count(step, steps);
      }
      raw->sink->preview(images, raw->now());
    };
  }
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->require_room();
  }
  if (models::syntax_of(r) == PromptSyntax::a1111) r.lora_folder = impl_->limits.adapters.lora_folder;
  try {
    job->prepared = impl_->model.prepare(r);
  } catch (const WeightError& e) { refuse_adapters(e.what(), impl_->limits); } catch (const IoError& e) {
    refuse_adapters(e.what(), impl_->limits);
  }
  job->task = std::move(task);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->require_room();
    impl_->waiting.push_back(job);
  }
  impl_->changed.notify_all();
  Ticket ticket;
  ticket.job_ = std::move(job);
  return ticket;
}

ImageService::Metrics ImageService::metrics() const {
  const std::lock_guard lock(impl_->mutex);
  Metrics m = impl_->metrics;
  m.waiting = int64_t(impl_->waiting.size());
  m.running = impl_->running ? 1 : 0;
  return m;
}

bool ImageService::idle() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->waiting.empty() && !impl_->running;
}

// ApiError if no job may be added.
void ImageService::Impl::require_room() const {
  if (stop) throw stopped();
  if (int64_t(waiting.size()) < limits.waiting) return;
  ApiError error(429, fmt::format("{} jobs wait for this model already, try again later", waiting.size()), "", "queue_full");
  error.retry_after = int64_t(std::clamp(std::ceil(mean_seconds), 1.0, 600.0));
  throw error;
}

// The service's thread.
void ImageService::Impl::work() {
  for (;;) {
    std::shared_ptr<ImageJob> job;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stop || !waiting.empty(); });
      if (stop) return;
      job = running = waiting.front();
      waiting.pop_front();
    }
    run(*job);
  }
}

void ImageService::Impl::run(ImageJob& job) {
  {
    const std::lock_guard lock(job.mutex);
    job.progress.state = ImageProgress::State::running;
    job.began = Clock::now();
  }
  std::optional<ApiError> error;
  ImageProgress::State state = ImageProgress::State::done;
  try {
    run_batches(job);
  } catch (const Canceled&) { error = canceled(), state = ImageProgress::State::canceled; } catch (...) {
    error = api_error(std::current_exception()), state = ImageProgress::State::failed;
  }
  job.prepared.reset();
  job.task = {};  // its images
  const double seconds = job.now().seconds;
  end(job, state);
  {
    const std::lock_guard lock(mutex);
    running.reset();
    metrics.seconds += seconds;
    mean_seconds += (seconds - mean_seconds) / 4;
    if (stop && error) error = stopped();
  }
  const std::shared_ptr<ImageSink> sink = std::move(job.sink);
  try {
    if (error) sink->failed(*error);
    else sink->done();
  } catch (const std::exception&) {}  // its responder answers 500 when it is destroyed
}

void ImageService::Impl::run_batches(ImageJob& job) {
  for (int64_t batch = 0; batch < job.task.batches && !job.no_more; ++batch) {
    if (batch > 0) job.finish = job.no_more.load();
    {
      const std::lock_guard lock(job.mutex);
      job.progress.batch = batch, job.progress.step = job.progress.steps = 0, job.progress.batch_share = 0;
      job.preview.clear();
    }
    job.pass = 0;
    if (!job.prepared) job.prepared = model.prepare(job.task.request);
    Generation made = job.prepared->run();
    job.prepared.reset();
    advance_seeds(job.task.request, made);
    {
      const std::lock_guard lock(mutex);
      metrics.images += int64_t(made.images.size());
    }
    job.sink->made(std::move(made));
  }
}

void ImageService::Impl::follow(ImageJob& job, const Progress& p) {
  {
    const std::lock_guard lock(job.mutex);
    ImageProgress& now = job.progress;
    const bool samples = p.phase == "sample";
    if (samples && p.done == 0 && now.phase != "sample" && now.steps > 0) ++job.pass;
    now.phase = p.phase;
    if (samples) job.count(p.done, p.total);
  }
  if (p.phase == "sample" && p.done > 0) {
    const std::lock_guard lock(mutex);
    ++metrics.steps;
  }
  job.sink->progress(job.now());
}

// Takes a job that waits out of the queue.
void ImageService::Impl::withdraw(const std::shared_ptr<ImageJob>& job) {
  {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(waiting, job);
    if (found == waiting.end()) return;
    waiting.erase(found);
  }
  job->prepared.reset();
  end(*job, ImageProgress::State::canceled);
  const std::shared_ptr<ImageSink> sink = std::move(job->sink);
  sink->failed(canceled());
}

void ImageService::Impl::end(ImageJob& job, ImageProgress::State state) {
  {
    const std::lock_guard lock(mutex);
    ++(state == ImageProgress::State::done       ? metrics.finished
       : state == ImageProgress::State::canceled ? metrics.canceled
                                                 : metrics.failed);
  }
  const std::lock_guard lock(job.mutex);
  job.progress.state = state;
  if (state == ImageProgress::State::done) job.progress.share = 1;
  job.preview.clear();
}

ImageService::Ticket& ImageService::Ticket::operator=(Ticket&& other) noexcept {
  std::swap(job_, other.job_);
  return *this;
}

ImageService::Ticket::~Ticket() { cancel(); }

void ImageService::Ticket::cancel() {
  if (!job_) return;
  job_->cancel = true;
  if (const auto impl = std::static_pointer_cast<Impl>(job_->service.lock())) impl->withdraw(job_);
}

void ImageService::Ticket::finish() {
  if (!job_ || progress().state != ImageProgress::State::running) return;
  job_->no_more = true;
  job_->finish = true;
}

void ImageService::Ticket::skip() {
  if (job_ && progress().state == ImageProgress::State::running) job_->finish = true;
}

ImageProgress ImageService::Ticket::progress() const {
  if (!job_) return {};
  ImageProgress p = job_->now();
  if (p.state != ImageProgress::State::waiting) return p;
  const auto impl = std::static_pointer_cast<Impl>(job_->service.lock());
  if (!impl) return p;
  const std::lock_guard lock(impl->mutex);
  p.ahead = std::ranges::find(impl->waiting, job_) - impl->waiting.begin() + (impl->running ? 1 : 0);
  return p;
}

std::vector<Image> ImageService::Ticket::preview() const {
  if (!job_) return {};
  const std::lock_guard lock(job_->mutex);
  return job_->preview;
}

}  // namespace hearth::server
