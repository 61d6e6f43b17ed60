#include "models/language_model.h"

#include "core/error.h"

namespace hearth::models {
namespace {

[[noreturn]] void refuse() { fail<UnsupportedError>("this model's texts cannot share memory, so it is not served"); }

}  // namespace

LanguageModel::Pooling LanguageModel::pooling(DType) const { refuse(); }
std::shared_ptr<TextPool> LanguageModel::make_pool(DType, std::span<const int64_t>) const { refuse(); }
std::unique_ptr<PooledText> LanguageModel::start(std::shared_ptr<TextPool>, int64_t) const { refuse(); }
void LanguageModel::feed(std::span<const Slice>) { refuse(); }

}  // namespace hearth::models
