// Needs tile.glsl and the functions that it names. sum_at() has the sums afterwards. `rounds`: to bf16; 1 what load_left(), 2 what
// load_right() gives.
void multiply_tile(uint row0, uint column0, uint depth, uint rounds) {
  const uint own = gl_LocalInvocationID.x, x = own % across, y = own / across;
  const uint left_jobs = chunk / 8 * tile_rows / 4, jobs = left_jobs + chunk / 8 * tile_columns / 4;  // eights of four rows or columns
  const uint right = chunk * tile_rows / 4, width = own_columns / 4;
  vec4 totals[own_rows * width];
  for (uint i = 0; i < own_rows * width; ++i) totals[i] = vec4(0);
  [[dont_unroll]] for (uint k0 = 0; k0 < depth; k0 += chunk) {
    [[dont_unroll]] for (uint job = own; job < jobs; job += gl_WorkGroupSize.x) {
      const bool is_left = job < left_jobs;
      const uint i = is_left ? job : job - left_jobs, k = i % (chunk / 8) * 8, four = i / (chunk / 8);
      vec4 gathered[8];
      for (uint j = 0; j < 8; ++j) gathered[j] = vec4(0);
      [[dont_unroll]] for (uint r = four * 4; r < four * 4 + 4; ++r) {
        float values[8];
        if (is_left) load_left(row0 + r, k0 + k, values);
        else load_right(column0 + r, k0 + k, values);
        if ((rounds & (is_left ? 1 : 2)) != 0)
          for (uint j = 0; j < 8; ++j) values[j] = as_bf16(values[j]);
        for (uint j = 0; j < 8; ++j) gathered[j] = vec4(gathered[j].yzw, values[j]);
      }
      const uint to = is_left ? k * tile_rows / 4 + four : right + k * tile_columns / 4 + four, step = (is_left ? tile_rows : tile_columns) / 4;
      for (uint j = 0; j < 8; ++j) tile[to + j * step] = gathered[j];
    }
    barrier();
    vec4 sums[own_rows * width];
    for (uint i = 0; i < own_rows * width; ++i) sums[i] = vec4(0);
    [[dont_unroll]] for (uint k = 0; k < chunk; ++k) {
      vec4 values[width];
      for (uint c = 0; c < width; ++c) values[c] = tile[right + (k * across + x) * width + c];
      for (uint r = 0; r < own_rows; r += 4) {
        const vec4 left = tile[(k * tile_rows + y * own_rows + r) / 4];
        for (uint i = 0; i < 4; ++i)
          for (uint c = 0; c < width; ++c) sums[(r + i) * width + c] = fma(vec4(left[i]), values[c], sums[(r + i) * width + c]);
      }
    }
    for (uint i = 0; i < own_rows * width; ++i) totals[i] += sums[i];
    barrier();
  }
  for (uint r = 0; r < own_rows; ++r)
    for (uint c = 0; c < width; ++c) tile[((y * own_rows + r) * across + x) * width + c] = totals[r * width + c];
  barrier();
}
