#include "weights/gguf/gguf_types.h"

#include <algorithm>
#include <array>

namespace hearth {
namespace {

constexpr auto none = std::nullopt;
// clang-format off
constexpr std::array<GgufTensorType, 43> table{{
    {0, "F32", {1, 4}, DType::f32}, {1, "F16", {1, 2}, DType::f16}, {30, "BF16", {1, 2}, DType::bf16}, {28, "F64", {1, 8}, DType::f64},
    {24, "I8", {1, 1}, DType::i8}, {25, "I16", {1, 2}, DType::i16}, {26, "I32", {1, 4}, DType::i32}, {27, "I64", {1, 8}, DType::i64},
    {2, "Q4_0", {32, 18}, DType::q4_0}, {3, "Q4_1", {32, 20}, DType::q4_1}, {6, "Q5_0", {32, 22}, DType::q5_0},
    {7, "Q5_1", {32, 24}, DType::q5_1}, {8, "Q8_0", {32, 34}, DType::q8_0}, {9, "Q8_1", {32, 36}, none},
    {10, "Q2_K", {256, 84}, DType::q2_k}, {11, "Q3_K", {256, 110}, DType::q3_k}, {12, "Q4_K", {256, 144}, DType::q4_k},
    {13, "Q5_K", {256, 176}, DType::q5_k}, {14, "Q6_K", {256, 210}, DType::q6_k}, {15, "Q8_K", {256, 292}, none},
    {16, "IQ2_XXS", {256, 66}, DType::iq2_xxs}, {17, "IQ2_XS", {256, 74}, DType::iq2_xs}, {22, "IQ2_S", {256, 82}, DType::iq2_s},
    {18, "IQ3_XXS", {256, 98}, DType::iq3_xxs}, {21, "IQ3_S", {256, 110}, DType::iq3_s}, {19, "IQ1_S", {256, 50}, DType::iq1_s}, {29, "IQ1_M", {256, 56}, DType::iq1_m},
    {20, "IQ4_NL", {32, 18}, DType::iq4_nl}, {23, "IQ4_XS", {256, 136}, DType::iq4_xs},
    {34, "TQ1_0", {256, 54}, none}, {35, "TQ2_0", {256, 66}, none}, {39, "MXFP4", {32, 17}, DType::mxfp4},
    {40, "NVFP4", {64, 36}, none}, {41, "Q1_0", {128, 18}, none}, {42, "Q2_0", {64, 18}, none},
    {4, "Q4_2", {0, 0}, none}, {5, "Q4_3", {0, 0}, none}, {31, "Q4_0_4_4", {0, 0}, none}, {32, "Q4_0_4_8", {0, 0}, none},
    {33, "Q4_0_8_8", {0, 0}, none}, {36, "IQ4_NL_4_4", {0, 0}, none}, {37, "IQ4_NL_4_8", {0, 0}, none}, {38, "IQ4_NL_8_8", {0, 0}, none},
}};
// clang-format on

const GgufTensorType* found(const GgufTensorType* type) { return type == table.end() ? nullptr : type; }

}  // namespace

const GgufTensorType* gguf_tensor_type(uint32_t id) { return found(std::ranges::find(table, id, &GgufTensorType::id)); }

const GgufTensorType* gguf_tensor_type(DType dtype) {
  return found(std::ranges::find(table, std::optional(dtype), &GgufTensorType::dtype));
}

}  // namespace hearth
