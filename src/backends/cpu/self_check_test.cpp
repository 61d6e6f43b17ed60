#include "backends/cpu/self_check.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/processor.h"
#include "core/error.h"

namespace hearth {
namespace {

const cpu::Kernels& best() { return cpu::processor_has_avx512() ? cpu::avx512_kernels() : cpu::avx2_kernels(); }

// One wrong element in one kernel, as a fault of the CPU or compiler would produce.
cpu::Kernels faulty() {
  cpu::Kernels kernels = best();
  kernels.tile = [](int64_t rows, bool wide, const cpu::Segment* segments, int64_t count, const float* b, float* c, bool add) {
    best().tile(rows, wide, segments, count, b, c, add);
    if (rows == 5) c[4 * best().panel + 1] += 0.01f;
  };
  return kernels;
}

TEST(SelfCheck, passes_on_every_path_of_this_cpu) {
  EXPECT_EQ(cpu::processor_has_avx2() ? cpu::check_kernels(cpu::avx2_kernels()) : "", "");
  EXPECT_EQ(cpu::processor_has_avx512() ? cpu::check_kernels(cpu::avx512_kernels()) : "", "");
  EXPECT_EQ(cpu::processor_has_avx512bf16() ? cpu::check_kernels(cpu::avx512bf16_kernels()) : "", "");
  EXPECT_EQ(cpu::processor_has_amx() ? cpu::check_kernels(cpu::amx_kernels()) : "", "");
}

TEST(SelfCheck, names_the_kernel_that_is_wrong) {
  EXPECT_NE(cpu::check_kernels(faulty()).find("product tile"), std::string::npos) << cpu::check_kernels(faulty());
  cpu::Kernels kernels = best();
  kernels.exp = [](const float* x, int64_t n, float* y) { best().scale(x, 2, n, y); };
  EXPECT_EQ(cpu::check_kernels(kernels).substr(0, 4), "exp:");
}

TEST(SelfCheck, a_faulty_path_is_skipped_with_one_warning) {
  const auto broken = []() -> const cpu::Kernels& {
    static const cpu::Kernels kernels = faulty();
    return kernels;
  };
  const std::array<cpu::Path, 3> paths{{{"absent", false, broken}, {"broken", true, broken}, {"good", true, best}}};
  std::vector<std::string> lines;
  EXPECT_EQ(&cpu::choose_path(paths, "", [&](const std::string& line) { lines.push_back(line); }), &best());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("'broken' computes wrong results"), std::string::npos) << lines[0];
  EXPECT_THROW(cpu::choose_path(std::span(paths).first(2), "", [](const std::string&) {}), UnsupportedError);
}

TEST(SelfCheck, an_unavailable_path_is_an_error) {
  const std::array<cpu::Path, 2> paths{{{"avx512", false, best}, {"avx2", true, best}}};
  const auto silent = [](const std::string&) {};
  EXPECT_THROW(cpu::choose_path(paths, "avx512", silent), UnsupportedError);
  EXPECT_THROW(cpu::choose_path(paths, "sse9", silent), UsageError);
  EXPECT_EQ(&cpu::choose_path(paths, "avx2", silent), &best());
}

TEST(SelfCheck, the_environment_selects_a_lower_path) {
  if (!cpu::processor_has_avx2()) GTEST_SKIP() << "this CPU lacks AVX2";
  setenv("HEARTH_CPU", "avx2", 1);
  const auto backend = make_cpu_backend("", 1);
  setenv("HEARTH_CPU", "nonsense", 1);
  EXPECT_THROW(make_cpu_backend("", 1), UsageError);
  EXPECT_NO_THROW(make_cpu_backend("avx2", 1));  // the caller's choice precedes the environment
  unsetenv("HEARTH_CPU");
  EXPECT_EQ(backend->features(), "avx2");
}

}  // namespace
}  // namespace hearth
