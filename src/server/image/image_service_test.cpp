// The queue of one image model.
#include "server/image/image_service.h"

#include <fmt/format.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "core/memory.h"
#include "server/image/demo_images_test.h"

namespace hearth::server::test {
namespace {

using namespace std::chrono_literals;

Request small(uint64_t seed, int64_t steps = 3) {
  return {.prompt = "a red house", .width = 64, .height = 64, .steps = steps, .sampler = "euler", .seed = seed};
}

// Records what becomes of a job; may hold the service's thread at a step.
class Recorder : public ImageSink {
 public:
  void progress(const ImageProgress& p) override {
    std::unique_lock lock(mutex_);
    all.push_back(p);
    changed_.notify_all();
    changed_.wait(lock, [&] { return !(p.phase == "sample" && p.step == hold_at && p.batch == hold_batch); });
  }
  void preview(const std::vector<Image>& images, const ImageProgress&) override {
    const std::lock_guard lock(mutex_);
    previews.push_back(images);
  }
  void made(Generation&& batch) override {
    if (fails) throw std::runtime_error("a bug");
    const std::lock_guard lock(mutex_);
    batches.push_back(std::move(batch));
  }
  void done() override { end(std::nullopt); }
  void failed(const ApiError& error) override { end(error); }

  std::optional<ApiError> result() {
    auto future = ended.get_future();
    EXPECT_EQ(future.wait_for(60s), std::future_status::ready);
    return future.get();
  }
  // Waits until the job is held.
  void wait_for_step(int64_t step) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return !all.empty() && all.back().phase == "sample" && all.back().step >= step; }));
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    hold_at = -1;
    changed_.notify_all();
  }

  int64_t hold_at = -1, hold_batch = 0;
  bool fails = false;
  std::function<void()> at_end = [] {};
  std::vector<Generation> batches;
  std::vector<std::vector<Image>> previews;
  std::vector<ImageProgress> all;
  std::promise<std::optional<ApiError>> ended;

 private:
  void end(std::optional<ApiError> error) {
    at_end();
    ended.set_value(std::move(error));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
};

std::shared_ptr<Recorder> held(int64_t step, int64_t batch = 0) {
  auto sink = std::make_shared<Recorder>();
  sink->hold_at = step, sink->hold_batch = batch;
  return sink;
}

TEST(ImageService, MakesTheImagesOfHearthGenerate) {
  ImageService service("demo", "", {});
  const auto sink = std::make_shared<Recorder>();
  const auto ticket = service.submit({.request = small(7), .batches = 3}, sink);
  ASSERT_FALSE(sink->result());
  ASSERT_EQ(sink->batches.size(), 3u);
  for (uint64_t k = 0; k < 3; ++k) {
    EXPECT_EQ(sink->batches[k].seeds, std::vector<uint64_t>{7 + k});
    EXPECT_EQ(sink->batches[k].images[0].rgb, generated(small(7 + k)).images[0].rgb) << k;
  }
  EXPECT_EQ(ticket.progress().state, ImageProgress::State::done);
  EXPECT_EQ(ticket.progress().share, 1);
}

TEST(ImageService, VariesTheVariationSeedFromBatchToBatch) {
  ImageService service("demo", "", {});
  Request request = small(7);
  request.variation = {.seed = 20, .strength = 0.3};
  const auto sink = std::make_shared<Recorder>();
  const auto ticket = service.submit({.request = request, .batches = 2}, sink);
  ASSERT_FALSE(sink->result());
  request.variation.seed = 21;
  EXPECT_EQ(sink->batches.at(1).images[0].rgb, generated(request).images[0].rgb);
}

TEST(ImageService, RunsJobsInTheirOrder) {
  ImageService service("demo", "", {});
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::shared_ptr<Recorder>> sinks{held(1)};
  std::vector<ImageService::Ticket> tickets;
  for (int i = 0; i < 4; ++i) {
    if (i > 0) sinks.push_back(std::make_shared<Recorder>());
    sinks.back()->at_end = [&order, &mutex, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    };
    tickets.push_back(service.submit({.request = small(uint64_t(i))}, sinks.back()));
    if (i == 0) sinks[0]->wait_for_step(1);
  }
  EXPECT_EQ(tickets[0].progress().state, ImageProgress::State::running);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(tickets[size_t(i)].progress().state, ImageProgress::State::waiting);
    EXPECT_EQ(tickets[size_t(i)].progress().ahead, i);
  }
  EXPECT_EQ(service.metrics().waiting, 3);
  EXPECT_EQ(service.metrics().running, 1);
  EXPECT_FALSE(service.idle());
  sinks[0]->let_go();
  for (const auto& sink : sinks) EXPECT_FALSE(sink->result());
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST(ImageService, RefusesMoreJobsThanItsQueueHolds) {
  ImageService service("demo", "", {}, {.waiting = 2});
  const auto first = held(1);
  std::vector<ImageService::Ticket> tickets;
  tickets.push_back(service.submit({.request = small(1)}, first));
  first->wait_for_step(1);
  std::vector<std::shared_ptr<Recorder>> sinks;
  for (int i = 0; i < 2; ++i) tickets.push_back(service.submit({.request = small(2)}, sinks.emplace_back(std::make_shared<Recorder>())));
  try {
    service.submit({.request = small(3)}, std::make_shared<Recorder>());
    FAIL() << "was accepted";
  } catch (const ApiError& e) {
    EXPECT_EQ(e.status, 429);
    EXPECT_EQ(e.code, "queue_full");
    EXPECT_GE(e.retry_after.value_or(0), 1);
    EXPECT_STREQ(e.what(), "2 jobs wait for this model already, try again later");
  }
  first->let_go();
  for (const auto& sink : sinks) EXPECT_FALSE(sink->result());
  EXPECT_EQ(service.metrics().finished, 3);
}

TEST(ImageService, RefusesWhatIsBeyondItsLimits) {
  ImageService service("demo", "", {}, {.images = 4, .steps = 10});
  const auto complaint = [&](ImageTask task) -> std::string {
    try {
      service.submit(std::move(task), std::make_shared<Recorder>());
    } catch (const ApiError& e) {
      EXPECT_EQ(e.status, 400);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint({.request = small(1), .batches = 5}), "the request is for 5 batches of 1 images, expected 1 to 4 images");
  EXPECT_EQ(complaint({.request = small(1, 11)}), "the request has 11 steps, expected at most 10");
  Request odd = small(1);
  odd.width = 65;
  EXPECT_THROW(service.submit({.request = odd}, std::make_shared<Recorder>()), UsageError);
  EXPECT_TRUE(service.idle());
}

TEST(ImageService, CancelsAJobThatRuns) {
  ImageService service("demo", "", {});
  const auto first = held(1), second = std::make_shared<Recorder>();
  auto ticket = service.submit({.request = small(1, 100)}, first);
  first->wait_for_step(1);
  const auto other = service.submit({.request = small(2)}, second);
  ticket.cancel();
  first->let_go();
  const auto error = first->result();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 499);
  EXPECT_LE(first->all.back().step, 2);
  ASSERT_FALSE(second->result());
  EXPECT_EQ(second->batches[0].images[0].rgb, generated(small(2)).images[0].rgb);
  EXPECT_EQ(service.metrics().canceled, 1);
}

TEST(ImageService, CancelsAJobThatWaitsAtOnce) {
  ImageService service("demo", "", {});
  const auto first = held(1), second = std::make_shared<Recorder>();
  const auto ticket = service.submit({.request = small(1)}, first);
  first->wait_for_step(1);
  { const auto other = service.submit({.request = small(2)}, second); }  // a ticket that is destroyed cancels
  const auto error = second->result();                                   // while the first is held
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "canceled");
  EXPECT_EQ(service.metrics().waiting, 0);
  first->let_go();
  EXPECT_FALSE(first->result());
}

TEST(ImageService, FinishKeepsWhatThereIs) {
  ImageService service("demo", "", {});
  const auto sink = held(2, 1);
  auto ticket = service.submit({.request = small(5, 6), .batches = 4}, sink);
  while (ticket.progress().batch < 1 || ticket.progress().step < 2) std::this_thread::sleep_for(1ms);
  ticket.finish();
  sink->let_go();
  ASSERT_FALSE(sink->result());
  ASSERT_EQ(sink->batches.size(), 2u);
  EXPECT_EQ(sink->batches[0].ended_after, 0);
  EXPECT_EQ(sink->batches[1].ended_after, 2);
  EXPECT_EQ(sink->batches[1].images.size(), 1u);
  EXPECT_EQ(service.metrics().finished, 1);
}

TEST(ImageService, SkipEndsOneBatch) {
  ImageService service("demo", "", {});
  const auto sink = held(2);
  auto ticket = service.submit({.request = small(5, 6), .batches = 2}, sink);
  sink->wait_for_step(2);
  ticket.skip();
  sink->let_go();
  ASSERT_FALSE(sink->result());
  ASSERT_EQ(sink->batches.size(), 2u);
  EXPECT_EQ(sink->batches[0].ended_after, 2);
  EXPECT_EQ(sink->batches[1].ended_after, 0);
  EXPECT_EQ(sink->batches[1].images[0].rgb, generated(small(6, 6)).images[0].rgb);
}

TEST(ImageService, AJobThatFailsAffectsNoOther) {
  ImageService service("demo", "", {});
  const auto first = std::make_shared<Recorder>(), second = std::make_shared<Recorder>();
  first->fails = true;
  const auto one = service.submit({.request = small(1)}, first), two = service.submit({.request = small(2)}, second);
  const auto error = first->result();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 500);
  EXPECT_EQ(std::string(error->what()).find("a bug"), std::string::npos);
  ASSERT_FALSE(second->result());
  EXPECT_EQ(second->batches[0].images[0].rgb, generated(small(2)).images[0].rgb);
  EXPECT_EQ(service.metrics().failed, 1);
}

TEST(ImageService, ShowsPreviewsAndProgress) {
  ImageService service("demo", "", {});
  const auto sink = held(3);
  Request request = small(1, 4);
  request.hires = Hires{.scale = 2, .steps = 2};
  const auto ticket = service.submit({.request = request, .batches = 2, .preview_every = 2}, sink);
  sink->wait_for_step(3);
  ASSERT_EQ(ticket.preview().size(), 1u);
  EXPECT_EQ(ticket.preview()[0].width, 64);
  EXPECT_DOUBLE_EQ(ticket.progress().share, 0.25 * 0.75);  // three of four steps of the first of two passes of the first of two batches
  EXPECT_GT(ticket.progress().seconds_left.value_or(0), 0);
  sink->let_go();
  ASSERT_FALSE(sink->result());
  ASSERT_EQ(sink->previews.size(), 6u);  // per batch two of the first pass, one of the second
  EXPECT_EQ(sink->previews[2][0].width, 128);
  double share = 0;
  for (const ImageProgress& p : sink->all) {
    EXPECT_GE(p.share, share);
    share = p.share;
  }
  EXPECT_EQ(share, 1);
  EXPECT_EQ(sink->batches[0].images[0].rgb, generated(request).images[0].rgb);  // previews do not change it
}

TEST(ImageService, RefusesWhatWaitsWhenItEnds) {
  const auto first = held(1), second = std::make_shared<Recorder>();
  ImageService::Ticket one, two;
  std::thread releasing;
  {
    ImageService service("demo", "", {});
    one = service.submit({.request = small(1, 100)}, first);
    first->wait_for_step(1);
    two = service.submit({.request = small(2)}, second);
    releasing = std::thread([&] {
      EXPECT_EQ(second->result().value_or(ApiError(0, "")).status, 503);
      first->let_go();
    });
  }
  releasing.join();
  EXPECT_EQ(first->result().value_or(ApiError(0, "")).status, 503);
  EXPECT_EQ(two.progress().state, ImageProgress::State::failed);
  two.cancel();  // of a service that is gone
}

TEST(ImageService, MayBeHeldByItsLastJobAlone) {
  auto service = std::make_shared<ImageService>("demo", "", OpenOptions());
  const auto sink = held(1);
  const std::weak_ptr<ImageService> watched = service;
  ImageService* const raw = service.get();
  sink->at_end = [held = std::move(service)]() mutable { held.reset(); };
  const auto ticket = raw->submit({.request = small(1)}, sink);
  sink->let_go();
  EXPECT_FALSE(sink->result());
  while (!watched.expired()) std::this_thread::sleep_for(1ms);
}

// Devices keep freed memory for the next run, so the second and the third service need no more than the first one left.
TEST(ImageService, GivesItsMemoryBack) {
  const auto in_use = [] { return MemoryLedger::process().use().now; };
  const int64_t before = in_use();
  for (const int64_t hold_at : {int64_t(-1), int64_t(2)}) {
    {
      ImageService service("demo", "", {});
      EXPECT_GT(service.bytes(), 8'000'000);  // 4.7 M parameters in 16 bits or more
      const auto sink = held(hold_at);
      auto ticket = service.submit({.request = small(1, 4), .preview_every = 1}, sink);
      if (hold_at > 0) {
        sink->wait_for_step(hold_at);
        ticket.cancel();
        sink->let_go();
      }
      EXPECT_EQ(sink->result().has_value(), hold_at > 0);
      EXPECT_GT(in_use(), before + 8'000'000);
    }
    EXPECT_LT(in_use(), before + 1'000'000) << hold_at;  // scratch of this thread
  }
}

}  // namespace
}  // namespace hearth::server::test
