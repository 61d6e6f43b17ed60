#include "weights/completed.h"

#include <gtest/gtest.h>

#include "support/backend_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

class Values final : public TensorSource {
 public:
  Values(std::string name, std::map<std::string, std::vector<float>> values) : name_(std::move(name)), values_(std::move(values)) {}
  std::string describe() const override { return name_; }
  std::map<std::string, TensorInfo> list() const override {
    std::map<std::string, TensorInfo> all;
    for (const auto& [name, v] : values_) all[name] = {DType::f32, Shape{int64_t(v.size())}, {}};
    return all;
  }
  bool has(const std::string& name) const override { return values_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    return Tensor::from(backend, wanted, values_.at(name));
  }

 private:
  std::string name_;
  std::map<std::string, std::vector<float>> values_;
};

TEST(Completed, a_source_has_the_shared_tensors_that_it_lacks) {
  const auto device = test::make_test_backend("reference");
  const auto own = std::make_shared<Values>("own", std::map<std::string, std::vector<float>>{{"a", {1}}, {"p.b", {2}}});
  const auto other =
      std::make_shared<Values>("other", std::map<std::string, std::vector<float>>{{"a", {7}}, {"p.b", {8}}, {"p.c", {9, 10}}});
  const auto all = completed(own, other, [](const std::string& name) { return name.starts_with("p."); });
  EXPECT_EQ(all->describe(), "own");
  EXPECT_EQ(all->list().size(), 3u);
  EXPECT_TRUE(all->has("p.c"));
  const auto read = [&](const char* name, const Shape& shape) { return all->read(name, shape, *device).to_vector(); };
  EXPECT_EQ(read("a", {1}), std::vector<float>{1});
  EXPECT_EQ(read("p.b", {1}), std::vector<float>{2});
  EXPECT_EQ(read("p.c", {2}), (std::vector<float>{9, 10}));
  EXPECT_NE(test::complaint_of([&] {
              completed(own, other, [](const std::string& name) { return name == "x"; });
            }).find("other: has no tensors that own shares"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
