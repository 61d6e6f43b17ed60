#include "models/mamba/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::mamba {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"mamba", "falcon_mamba"});
  const DecoderKeys keys = DecoderKeys::read_without_attention(c, {.vocabulary = 50280,
                                                                   .width = 768,
                                                                   .layers = 32,
                                                                   .positions = 1 << 20,
                                                                   .eps = 1e-5f,
                                                                   .tied = true,
                                                                   .names = {.eps = "layer_norm_epsilon"}});
  SelectiveMixerConfig mixer{.states = positive_integer(c, "state_size", 16), .kernel = positive_integer(c, "conv_kernel", 4)};
  mixer.inner = positive_integer(c, "intermediate_size", int64_t(c.number("expand", 2.0) * double(keys.width)));
  mixer.rank = read_step_rank(c, "time_step_rank", keys.width);
  mixer.activation = keys.activation;
  mixer.bias = c.boolean("use_bias", false);
  mixer.conv_bias = c.boolean("use_conv_bias", true);
  mixer.logarithms = read_decay_logarithms(c);
  const auto norm_eps = float(c.number("mixer_rms_eps", 1e-6));
  if (c.boolean("parameter_norms", c.text("model_type", "mamba") == "falcon_mamba"))
    mixer.norms = SelectiveMixerConfig::Norms{.eps = norm_eps};

  c.no_effect({"expand", "model_type"});
  c.only_number("d_model", double(keys.width));
  c.only_number("d_inner", double(mixer.inner));
  c.only_number("n_layer", double(keys.layers));
  c.only("rms_norm", true);
  ignore_recurrent_training(c);
  keys.finish(c);
  return backbone(keys, mixer);
}

}  // namespace hearth::models::mamba
