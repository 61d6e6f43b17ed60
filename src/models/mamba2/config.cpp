#include "models/mamba2/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::mamba2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"mamba2"});
  const DecoderKeys keys = DecoderKeys::read_without_attention(
      c, {.vocabulary = 32768, .width = 4096, .layers = 64, .positions = 1 << 20, .eps = 1e-5f, .names = {.eps = "layer_norm_epsilon"}});
  StateSpaceMixerConfig mixer{.heads = positive_integer(c, "num_heads", 128)};
  // A GGUF file states the product of heads and their size.
  mixer.head = positive_integer(c, "head_dim", c.has("inner_size") ? c.integer("inner_size") / mixer.heads : 64);
  const int64_t inner = positive_integer(c, "inner_size", mixer.heads * mixer.head),
                expanded = int64_t(c.number("expand", 2.0) * double(keys.width));
  if (inner != mixer.heads * mixer.head || (c.has("expand") && inner != expanded))
    fail<WeightError>("{}: 'num_heads' = {} times 'head_dim' = {} is {}, expected {}, {}", c.where(), mixer.heads, mixer.head,
                      mixer.heads * mixer.head, inner != mixer.heads * mixer.head ? inner : expanded,
                      inner != mixer.heads * mixer.head ? "'inner_size'" : "'expand' times 'hidden_size'");
  mixer.states = positive_integer(c, "state_size", 128);
  mixer.groups = positive_integer(c, "n_groups", 8);
  if (mixer.heads % mixer.groups)
    fail<WeightError>("{}: 'n_groups' = {} does not divide 'num_heads' = {}", c.where(), mixer.groups, mixer.heads);
  mixer.kernel = positive_integer(c, "conv_kernel", 4);
  mixer.activation = keys.activation;
  mixer.bias = c.boolean("use_bias", false);
  mixer.conv_bias = c.boolean("use_conv_bias", true);
  mixer.eps = keys.eps;
  mixer.logarithms = read_decay_logarithms(c);
  read_step_limits(c, "time_step_limit", mixer);

  c.only("rms_norm", true);
  // The reference reads neither of the last two: the gate comes first, and the size of steps is one for each head.
  c.no_effect({"expand", "head_dim", "norm_before_gate", "time_step_rank"});
  ignore_recurrent_training(c);
  keys.finish(c);
  return backbone(keys, mixer);
}

}  // namespace hearth::models::mamba2
