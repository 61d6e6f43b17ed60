#include "parts/bert/files.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hearth::parts {
namespace {

constexpr std::array<NameRule, 3> bert_official{{
    {"embeddings.**", "embeddings.**"},
    {"encoder.**", "encoder.**"},
    {"pooler.**", "pooler.**"},
}};

}  // namespace

const NetworkFiles bert_files{
    .classes = {"BertModel"},
    .spellings = {{.name = "transformers",
                   .marks = {"embeddings.word_embeddings.weight", "embeddings.token_type_embeddings.weight",
                             "encoder.layer.0.attention.self.query.weight", "encoder.layer.0.output.LayerNorm.weight"},
                   .writing =
                       [](const TensorList&) {
                         return NameMap{{"", "", bert_official}};
                       }}},
    .ignored = {"pooler.*", "embeddings.position_ids", "cls.*"},
};

}  // namespace hearth::parts
