// hearth bench with the demo model. Times are looked at, never judged.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

class BenchTest : public CommandTest {
 protected:
  Json measure(const Arguments& more) const {
    Arguments arguments = {"bench", "--model", "demo", "--repeats", "1", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended r = run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json();
  }
};

TEST_F(BenchTest, json_has_the_documented_form) {
  const Json json = measure({"-W", "64", "-H", "64", "--threads", "2"});
  EXPECT_TRUE(json["machine"]["isa"].is_string());
  EXPECT_EQ(json["machine"]["threads"], 2);
  EXPECT_GT(json["machine"]["matrix_gflops"].get<double>(), 0.0);
  EXPECT_GT(json["machine"]["read_gbs"].get<double>(), 0.0);
  EXPECT_GT(json["peak_memory_bytes"].get<int64_t>(), 1'000'000);
  for (const char* part : {"load", "text", "unet_step", "vae_decode"}) EXPECT_GT(json["parts"][part]["seconds"].get<double>(), 0.0) << part;
  for (const char* part : {"unet_step", "vae_decode"}) {
    EXPECT_GT(json["parts"][part]["gflop"].get<double>(), 0.0) << part;
    EXPECT_GT(json["parts"][part]["fraction"].get<double>(), 0.0) << part;
  }
}

TEST_F(BenchTest, size_and_threads_are_those_asked_for) {
  const auto gflop = [](const Json& json) { return json["parts"]["vae_decode"]["gflop"].get<double>(); };
  const Json small = measure({"-W", "64", "-H", "64"}), wide = measure({"-W", "128", "-H", "64", "--threads", "1"});
  EXPECT_GT(gflop(wide), 1.9 * gflop(small));
  EXPECT_EQ(wide["machine"]["threads"], 1);
}

TEST_F(BenchTest, weights_are_held_in_the_precision_asked_for) {
  const auto bytes = [&](const char* precision) {
    return measure({"-W", "8", "-H", "8", "--precision", precision})["buffers_peak_bytes"].get<double>();
  };
  EXPECT_GT(bytes("f32"), 1.3 * bytes("bf16"));
}

TEST_F(BenchTest, for_people_and_in_error) {
  const Ended r = run({"bench", "--model", "demo", "--repeats", "1", "-W", "64", "-H", "64"});
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"load", "text", "unet_step", "vae_decode", "peak memory"})
    EXPECT_NE(r.out.find(part), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("measure "), std::string::npos) << r.err;
  const Ended slow = run({"bench", "--model", "demo", "--device", "reference"});
  EXPECT_EQ(slow.code, 1);
  EXPECT_NE(slow.err.find("'reference' has none to measure"), std::string::npos) << slow.err;
  EXPECT_EQ(run({"bench", "--model", "demo", "--repeats", "1", "-W", "8", "-H", "8", "--json"}).out.back(), '\n');
  EXPECT_EQ(not_one_line(run({"bench", "--model", "nowhere"}), 1), "");
  EXPECT_EQ(not_one_line(run({"bench", "--repeats", "0"}), 2), "");
  EXPECT_EQ(not_one_line(run({"bench", "--variant", "fp16", "--model", "demo", "--repeat", "1"}), 2), "");
  EXPECT_EQ(run({"bench", "--model", "demo", "--variant", "fp16"}).code, 1);
}

}  // namespace
}  // namespace hearth::test
