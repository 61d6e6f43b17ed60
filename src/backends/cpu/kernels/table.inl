// The table of kernels of one instruction set.

namespace hearth::cpu {
namespace {

constexpr Kernels table_named(const char* name) {
  return {.name = name,
          .lanes = W,
          .tile_rows = tile_height,
          .panel = panel_width,
          .tile = any_tile,
          .epilogue = any_epilogue,
          .dot_rows = dot_height,
          .dot_columns = dot_width,
          .pack_left = pack_left,
          .dot_tile = dot_tile,
          .row_dots = row_dots,
          .widen_row = widen_row,
          .turn_left = turn_left,
          .turn_right = turn_right,
          .turned_tile = turned_tile,
          .pair_rows = pair_rows,
          .winograd_input = winograd_input,
          .winograd_weight = winograd_weight,
          .winograd_output = winograd_output,
          .depthwise = depthwise,
          .softmax_block = softmax_block,
          .softmax_rows = softmax_rows,
          .seen_rows = seen_rows,
          .soft_cap = soft_cap,
          .pack_keys = pack_keys,
          .pack_values = pack_values,
          .softmax_part = softmax_part,
          .merge_part = merge_part,
          .moments = moments,
          .column_moments = column_moments,
          .normalize = normalize,
          .squares = squares,
          .normalize_columns = normalize_columns,
          .activate = activate,
          .scale = scale,
          .add_scaled = add_scaled,
          .keep_larger = keep_larger,
          .multiply = multiply,
          .affine = affine,
          .exp = exponential,
          .widen_f16 = widen_f16,
          .widen_bf16 = widen_bf16,
          .narrow_f16 = narrow_f16,
          .narrow_bf16 = narrow_bf16,
          .round_bf16 = round_bf16,
          .transpose = transpose,
          .transpose_16 = transpose_bits<uint16_t>,
          .transpose_32 = transpose_bits<uint32_t>,
          .turn_halves = turn_halves,
          .turn_neighbors = turn_neighbors,
          .encode_q8_0 = encode_q8_0,
          .selective_scan = selective_scan,
          .state_space_scan = state_space_scan,
          .clamp = clamp,

          .delta_rule = delta_rule,
          .add_weighted = add_weighted,
          .gated_scan = gated_scan,

          .linear_attention = linear_attention,

          .fma_loop = fma_loop,
          .read_loop = read_loop};
}

}  // namespace
}  // namespace hearth::cpu
