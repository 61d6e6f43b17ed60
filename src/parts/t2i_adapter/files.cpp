#include "parts/t2i_adapter/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 1> of_conv_in{{{"conv_in.*", "adapter.conv_in.*"}}};
constexpr std::array<NameRule, 2> of_resnet{{{"block1.*", "block1.*"}, {"block2.*", "block2.*"}}};
constexpr std::array<NameRule, 1> of_first{{{"in_conv.*", "in_conv.*"}}};
constexpr std::array<NameRule, 2> of_ends{{{"in_conv.*", "in_conv.*"}, {"out_conv.*", "out_conv.*"}}};

int64_t count_of(const TensorList& stored, std::string_view pattern) {
  int64_t n = 0;
  while (stored.contains(fmt::format(fmt::runtime(pattern), n))) ++n;
  return n;
}

// The authors have the residual blocks of all four levels in one list.
NameMap names_of_full(const TensorList& stored, const nlohmann::json&) {
  NameMap map{{"", "", of_conv_in}};
  const int64_t all = count_of(stored, "body.{}.block1.weight"), of_level = std::max<int64_t>(1, all / 4);
  for (int64_t k = 0; k < all; ++k) {
    const int64_t level = k / of_level, j = k % of_level;
    map.push_back({fmt::format("body.{}", k), fmt::format("adapter.body.{}.resnets.{}", level, j), of_resnet});
    if (j == 0) map.push_back({fmt::format("body.{}", k), fmt::format("adapter.body.{}", level), of_first});
  }
  return map;
}

NameMap names_of_light(const TensorList& stored, const nlohmann::json&) {
  NameMap map;
  for (int64_t i = 0; i < count_of(stored, "body.{}.in_conv.weight"); ++i) {
    map.push_back({fmt::format("body.{}", i), fmt::format("adapter.body.{}", i), of_ends});
    for (int64_t j = 0; stored.contains(fmt::format("body.{}.body.{}.block1.weight", i, j)); ++j)
      map.push_back({fmt::format("body.{}.body.{}", i, j), fmt::format("adapter.body.{}.resnets.{}", i, j), of_resnet});
  }
  return map;
}

}  // namespace

const NetworkFiles t2i_adapter_files{
    .classes = {"T2IAdapter"},
    .spellings = {{.name = "original",
                   .marks = {"conv_in.weight", "body.0.block1.weight", "body.3.block2.weight"},
                   .reading = names_of_full},
                  {.name = "original, light",
                   .marks = {"body.0.in_conv.weight", "body.0.body.0.block1.weight", "body.0.out_conv.weight"},
                   .reading = names_of_light},
                  {.name = "diffusers", .marks = {"adapter.body.0.resnets.0.block1.weight"}}},
};

}  // namespace hearth::parts
