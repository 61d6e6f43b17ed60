// Concurrent runs of one model: each returns what it returns alone.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "hearth/hearth.h"

namespace hearth::test {
namespace {

struct Generated {
  std::vector<float> latents;
  std::vector<uint8_t> rgb;
  bool operator==(const Generated&) const = default;
};

Generated generated(Model& model, const Request& request) {
  const Generation made = model.generate(request);
  return {made.latents.values, made.images.at(0).rgb};
}

std::vector<Request> different_requests() {
  Request first{.prompt = "a red house on green hills", .width = 64, .height = 64, .steps = 4, .seed = 1};
  Request second = first;
  second.prompt = "a white boat at sea";
  second.sampler = "dpmpp_2m", second.schedule = "karras", second.seed = 2, second.width = 96;
  Request third = first;
  third.sampler = "euler_ancestral", third.guidance = 3, third.seed = 3;
  return {first, second, third};
}

void expect_each_as_alone(const OpenOptions& options, const std::function<void(Request&)>& change) {
  std::vector<Request> requests = different_requests();
  for (Request& request : requests) change(request);
  std::vector<Generated> alone;
  for (const Request& request : requests) {
    Model model = Model::open_demo(options);
    alone.push_back(generated(model, request));
  }
  Model shared = Model::open_demo(options);
  for (int round = 0; round < 3; ++round) {
    std::vector<Generated> together(requests.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < requests.size(); ++i) threads.emplace_back([&, i] { together[i] = generated(shared, requests[i]); });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < requests.size(); ++i) EXPECT_TRUE(together[i] == alone[i]) << "request " << i << ", round " << round;
  }
}

TEST(Concurrency, networks_that_stay_loaded) {
  expect_each_as_alone({.threads = 2}, [](Request&) {});
}

TEST(Concurrency, networks_that_are_loaded_and_unloaded) {
  expect_each_as_alone({.threads = 2, .load_when_needed = true}, [](Request& request) { request.last = true; });
}

TEST(Concurrency, images_to_start_from_and_previews) {
  Model model = Model::open_demo();
  const Image image = model.generate({.prompt = "a house", .width = 64, .height = 64, .steps = 2, .seed = 7}).images.at(0);
  expect_each_as_alone({.threads = 2}, [&](Request& request) {
    request.edit.image = image;
    request.edit.strength = 0.7;
    request.preview.show = [](const std::vector<Image>&, int64_t, int64_t) {};
  });
}

}  // namespace
}  // namespace hearth::test
