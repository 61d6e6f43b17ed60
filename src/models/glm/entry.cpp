#include "models/decoder_family.h"
#include "models/glm/config.h"

namespace hearth::models::glm {

Entry entry() {
  return {
      .name = "glm",
      .summary = "GLM-4: text to text, half of each head rotated, fused gates",
      .task = decoder_family<read_config>({
          .model_types = {"glm"},
          .class_name = "GlmForCausalLM",
      }),
  };
}

}  // namespace hearth::models::glm
