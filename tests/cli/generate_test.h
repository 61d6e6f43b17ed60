// hearth generate with the demo model, small and short.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"
#include "media/formats/image_file.h"

namespace hearth::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

class GenerateTest : public CommandTest {
 protected:
  // 64 × 64, two steps, seed 7, unless `more` says otherwise; a flag of `more` replaces ours.
  Ended generate(const Arguments& more, const std::function<void()>& prepare = {}) const {
    Arguments arguments = {"generate"};
    const Arguments ours[] = {{"--prompt", "a red house"}, {"--steps", "2"},   {"--seed", "7"},
                              {"--width", "64"},           {"--height", "64"}, {"--output", "a.png"}};
    for (const Arguments& flag : ours)
      if (std::find(more.begin(), more.end(), flag[0]) == more.end()) arguments.insert(arguments.end(), flag.begin(), flag.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, prepare);
  }
  Json generate_json(Arguments more) const {
    more.push_back("--json");
    const Ended r = generate(more);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json();
  }
  Pixels image(const std::string& name) const { return read_png(folder / name).image; }
  Pixels generated(const Arguments& more) const {
    const Ended r = generate(more);
    EXPECT_EQ(r.code, 0) << r.err;
    return image("a.png");
  }
};

}  // namespace hearth::test
