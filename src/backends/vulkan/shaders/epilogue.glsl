// What happens to a sum of products before it is stored (core/specs.h's Epilogue). Needs functions.glsl.
struct Epilogue {
  uint64_t bias, scale, per_image, addend, gate, residual;  // 0: none; scale: of a weight in place, for each column or for all
  float alpha;
  uint scale_each, image_rows;  // image_rows: of y, of an image
  uint activation, y_type, residual_type, padding[2];
};

// α·sum + bias + per_image, of column n of `columns`.
float shifted(Epilogue e, float sum, uint row, uint n, uint columns) {
  if (e.scale != 0) sum *= read_f32(e.scale, e.scale_each != 0 ? n : 0);
  precise float value = e.alpha * sum;
  if (e.bias != 0) value += read_f32(e.bias, n);
  if (e.per_image != 0) value += read_f32(e.per_image, row / e.image_rows * columns + n);
  if (e.addend != 0) value += read_f32(e.addend, row * columns + n);
  return value;
}

// y = gate · value + residual, at column n of `outputs`.
void store(Epilogue e, uint64_t y, float value, uint row, uint n, uint outputs) {
  precise float result = value;
  if (e.gate != 0) result *= read_f32(e.gate, row / e.image_rows * outputs + n);
  if (e.residual != 0) result += read(e.residual_type, e.residual, row * outputs + n);
  write(e.y_type, y, row * outputs + n, result);
}
