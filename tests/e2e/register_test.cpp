// Faults that other engines shipped and that only the whole pipeline shows; the ids are those of the team's register. Tests for faults of
// one op, network or loader are next to it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/memory.h"
#include "core/observe.h"
#include "e2e/checkpoint_copy.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

// Attention that the configuration does not have would run with uninitialized weights.
TEST(Register, attention_that_the_config_lacks_is_refused) {
  CheckpointCopy copy("pndm");
  copy.edit_tensors("unet", [&](NamedTensors& tensors) {
    tensors.emplace("down_blocks.2.attentions.0.proj_in.weight", Tensor::zeros(copy.device(), {8, 8, 1, 1}));
  });
  try {
    Model::open(copy.path());
    FAIL() << "a tensor was left unread";
  } catch (const WeightError& e) {
    EXPECT_NE(std::string(e.what()).find("down_blocks.2.attentions.0.proj_in.weight"), std::string::npos) << e.what();
  }
}

// After a run, only the weights stay allocated; after the model is destroyed, no more than after the previous model (kernels keep some
// scratch memory for each calling thread).
TEST(Register, every_phase_frees_its_memory) {
  const auto generate = [] {
    Model model = Model::open_demo({.threads = 2});
    const int64_t weights = MemoryLedger::process().use().now;
    const MemoryWatch watch(MemoryLedger::process());
    model.generate({.prompt = "a cat", .width = 256, .height = 256, .steps = 2, .seed = 1});
    EXPECT_GT(watch.peak(), weights + (8 << 20));
    EXPECT_LT(MemoryLedger::process().use().now, weights + (8 << 20));  // scratch of two threads
  };
  generate();
  const int64_t after_one = MemoryLedger::process().use().now;
  for (int more = 0; more < 4; ++more) generate();
  // This thread's scratch memory may grow by up to 4 MiB if it gets a larger share of the work. A model would be 9 MB.
  EXPECT_LE(MemoryLedger::process().use().now, after_one + (4 << 20));
}

// Every name is a different algorithm: no two generate the same image, except those listed here.
TEST(Register, no_sampler_or_schedule_duplicates_another) {
  Model model = Model::open_demo();
  const std::set<std::set<std::string>> same{{"dpm_fast"},                 // uses only the ends of the schedule
                                             {"dpm_adaptive"},             //
                                             {"heun", "restart"},          // below 20 steps
                                             {"ddpm", "euler_ancestral"},  // DDPM's posterior is the ancestral split
                                             {"dpmpp_2m_sde_heun", "res_multistep_ancestral"},
                                             {"dpm_solver_multistep", "dpmpp_2m"},  // with its defaults
                                             // The demo model's scheduler is leading with an offset of 1; one curve is a case of another.
                                             {"automatic", "default"},
                                             {"automatic", "leading"},
                                             {"ddim_uniform", "automatic"},
                                             {"ddim_uniform", "default"},
                                             {"ddim_uniform", "leading"},
                                             {"default", "leading"},
                                             {"exponential", "polyexponential"},
                                             {"simple", "trailing"},
                                             {"simple", "turbo"},
                                             {"trailing", "turbo"}};
  const auto distinct = [&](const std::vector<Named>& names, auto request_of) {
    std::map<std::vector<float>, std::string> seen;
    int64_t runs = 0;
    for (const Named& named : names) try {
        const auto [other, first] = seen.try_emplace(model.generate(request_of(named.name)).latents.values, named.name);
        if (!first) { EXPECT_TRUE(same.contains({named.name, other->second})) << named.name << ", " << other->second; }
        ++runs;
      } catch (const Error& e) {  // the error names what this model or sampler does not support
        const std::string message = e.what();
        EXPECT_TRUE(message.find(named.name) != message.npos || message.find("is for") != message.npos ||
                    message.find("flow") != message.npos)
            << message;
      }
    return runs;
  };
  const Request four{.prompt = "a lighthouse", .steps = 4, .seed = 5, .decode = false};
  EXPECT_GE(distinct(list_samplers(),
                     [&](const std::string& name) {
                       Request r = four;
                       return r.sampler = name, r;
                     }),
            int64_t(list_samplers().size()) - 2);  // scm and ipndm_vp are for other networks
  EXPECT_GE(distinct(list_schedules(),
                     [&](const std::string& name) {
                       Request r = four;
                       return r.sampler = "euler", r.schedule = name, r;
                     }),
            30);
  Request unknown{.prompt = "a lighthouse", .steps = 1, .sampler = "eulre", .seed = 5};
  EXPECT_THROW(model.generate(unknown), UsageError);
}

// Observers see each block once per denoiser call.
TEST(Register, every_block_is_seen_at_every_step) {
  struct Count : Observer {
    void on_tap(std::string_view path, const Tensor&) override {
      mid += path == "mid_block";
      first += path == "down_blocks.0.resnets.0";
    }
    int mid = 0, first = 0;
  } count;
  Model model = Model::open_demo();
  {
    const ObserverScope watching(count);
    model.generate({.prompt = "a cat", .steps = 7, .sampler = "euler", .seed = 1, .decode = false});
  }
  EXPECT_EQ(count.mid, 7);
  EXPECT_EQ(count.first, 7);
}

// The `reference` backend and the fast kernel paths generate the same image.
TEST(Register, fast_and_slow_paths_generate_the_same_image) {
  const Request request{.prompt = "a red house on green hills", .width = 72, .height = 64, .steps = 3, .seed = 2};
  const Generation fast = Model::open_demo({.precision = Precision::f32}).generate(request),
                   slow = Model::open_demo({.device = "reference", .precision = Precision::f32}).generate(request);
  EXPECT_LE(relative_error(fast.latents.values, slow.latents.values), 5e-5);  // observed 9.4e-6 with AVX-512
  for (size_t i = 0; i < slow.images[0].rgb.size(); ++i)
    ASSERT_LE(std::abs(int(fast.images[0].rgb[i]) - int(slow.images[0].rgb[i])), 1) << i;
}

}  // namespace
}  // namespace hearth::test
