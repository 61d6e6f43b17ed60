#include "weights/aliases.h"

#include "support/backend_test.h"
#include "support/files.h"

namespace hearth {
namespace {

using test::message_of;

std::map<std::string, TensorInfo> names(std::initializer_list<const char*> list) {
  std::map<std::string, TensorInfo> all;
  for (const char* name : list) all[name] = {};
  return all;
}

TEST(Aliases, a_rule_rewrites_whole_names) {
  EXPECT_EQ(rewrite("a.1.x", "a.#.x", "b.#.y"), "b.1.y");
  EXPECT_EQ(rewrite("a.12.bias", "a.#.*", "#.a.*"), "12.a.bias");
  EXPECT_EQ(rewrite("p.a.b.c", "p.**", "**"), "a.b.c");
  EXPECT_EQ(rewrite("a", "**", "p.q.**"), "p.q.a");
}

// Names that a search for parts of the name would wrongly rename.
TEST(Aliases, a_rule_is_anchored) {
  EXPECT_EQ(rewrite("x.a.1.x", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("a.1.x.y", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("a.1", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("aa.1.x", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("a.1x.x", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("a.01.x", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("a..x", "a.#.x", "b.#.y"), std::nullopt);
  EXPECT_EQ(rewrite("a..x", "a.*.x", "b.*.y"), std::nullopt);
  EXPECT_EQ(rewrite("p", "p.**", "**"), std::nullopt);
  // The UNet never uses the VAE's old names of attention layers, and has norms of the same names in other blocks.
  constexpr std::array<Alias, 2> vae{{
      {"*.mid_block.attentions.#.query.*", "*.mid_block.attentions.#.to_q.*"},
      {"*.mid_block.attentions.#.proj_attn.*", "*.mid_block.attentions.#.to_out.0.*"},
  }};
  const auto stored = names({"decoder.up_blocks.0.attentions.0.query.weight", "decoder.mid_block.attentions.0.group_norm.weight",
                             "decoder.mid_block.resnets.0.key.weight"});
  for (const auto& [name, official] : official_names(stored, vae)) EXPECT_EQ(name, official);
}

TEST(Aliases, names_stay_distinct) {
  const std::vector<Alias> rules{{"a.#", "b.#"}, {"*.0", "c.*"}};
  EXPECT_EQ(message_of<WeightError>([&] {
              official_names(names({"a.1", "b.1"}), rules);
            }),
            "aliases: 'a.1' and 'b.1' are both names of 'b.1'");
  EXPECT_EQ(message_of<WeightError>([&] { official_names(names({"a.0"}), rules); }), "aliases: 'a.0' could be 'b.0' or 'c.a'");
}

TEST(Aliases, a_second_name_applies_only_without_the_first) {
  const std::vector<Alias> rules{{.stored = "encoder.embedding", .official = "shared", .unless_there = true}};
  using Names = std::map<std::string, std::string>;
  EXPECT_EQ(official_names(names({"encoder.embedding"}), rules), (Names{{"encoder.embedding", "shared"}}));
  EXPECT_EQ(official_names(names({"encoder.embedding", "shared"}), rules),
            (Names{{"encoder.embedding", "encoder.embedding"}, {"shared", "shared"}}));
}

// Records the names that are requested.
class Recorder : public TensorSource {
 public:
  std::string describe() const override { return "recorder"; }
  std::map<std::string, TensorInfo> list() const override { return names({"a.0", "x"}); }
  bool has(const std::string& name) const override { return list().contains(name); }
  Tensor read(const std::string& name, const Shape&, Backend&) override { return asked.push_back("read " + name), Tensor(); }
  void release(const std::string& name) override { asked.push_back("release " + name); }
  std::vector<std::string> asked;
};

TEST(Aliases, a_source_receives_its_own_names) {
  const auto device = test::make_test_backend("reference");
  const auto source = std::make_shared<Recorder>();
  const auto official = aliased(source, std::vector<Alias>{{"a.#", "b.#"}});
  EXPECT_TRUE(official->has("b.0"));
  EXPECT_FALSE(official->has("a.0"));
  EXPECT_EQ(official->list().size(), 2u);
  EXPECT_THROW(official->read("a.0", {}, *device), WeightError);
  official->read("b.0", {}, *device);
  official->release("b.0");
  official->release("a.0");
  official->read("x", {}, *device);
  EXPECT_EQ(source->asked, (std::vector<std::string>{"read a.0", "release a.0", "read x"}));
}

}  // namespace
}  // namespace hearth
