// What every shader includes: memory by address, elements of any float dtype, the index of a workgroup.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

layout(buffer_reference, scalar) buffer Floats { float at[]; };
layout(buffer_reference, scalar) buffer Ints { int at[]; };
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) buffer Halves { uint16_t at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quads { uvec4 at[]; };
layout(buffer_reference, scalar) buffer Bytes { uint8_t at[]; };

// As in core/dtype.h.
const uint F32 = 0, F16 = 1, BF16 = 2;

float f16_to_f32(uint bits) {
  const uint sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude < 0x400u) return uintBitsToFloat(floatBitsToUint(float(magnitude) * 5.9604644775390625e-8) | sign);
  return uintBitsToFloat(sign | (magnitude >= 0x7c00u ? 0x7f800000u | (magnitude << 13) : (magnitude << 13) + 0x38000000u));
}

// To nearest even; overflow becomes infinity, NaN stays NaN.
uint f32_to_f16(float value) {
  const uint bits = floatBitsToUint(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude >= 0x38800000u) return sign | ((magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13);
  precise float shifted = uintBitsToFloat(magnitude) + 0.5;
  return sign | (floatBitsToUint(shifted) - 0x3f000000u);
}

uint f32_to_bf16(float value) {
  const uint bits = floatBitsToUint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// The nearest value of bf16.
float as_bf16(float value) { return uintBitsToFloat(f32_to_bf16(value) << 16); }
vec4 as_bf16(vec4 values) { return vec4(as_bf16(values.x), as_bf16(values.y), as_bf16(values.z), as_bf16(values.w)); }

// Element i of dense memory at x.
float read(uint type, uint64_t x, uint i) {
  if (type == F32) return Floats(x).at[i];
  const uint bits = uint(Halves(x).at[i]);
  return type == F16 ? f16_to_f32(bits) : uintBitsToFloat(bits << 16);
}
void write(uint type, uint64_t y, uint i, float value) {
  if (type == F32) Floats(y).at[i] = value;
  else Halves(y).at[i] = uint16_t(type == F16 ? f32_to_f16(value) : f32_to_bf16(value));
}
// A row that does not exist, for the host (Stream::report).
void report_row(uint64_t report, int op, int row, uint rows) {
  Ints(report).at[1] = row;
  Ints(report).at[2] = int(rows);
  Ints(report).at[0] = op;
}

// Drops the first of eight values and appends another: loops that make values one by one stay loops, and their code short.
void append(inout float values[8], float value) {
  for (uint j = 0; j < 7; ++j) values[j] = values[j + 1];
  values[7] = value;
}
// Values i … i + 7 at x; zeros from the `count`-th on. aligned: all exist, at a multiple of 16 bytes.
void read_eight(uint type, uint64_t x, uint i, uint count, bool aligned, out float values[8]) {
  if (!aligned) {
    for (uint j = 0; j < 8; ++j) values[j] = 0;
    [[dont_unroll]] for (uint j = 0; j < 8; ++j) append(values, j < count ? read(type, x, i + j) : 0.0);
  } else if (type == F32) {
    const uvec4 a = Quads(x).at[i / 4], b = Quads(x).at[i / 4 + 1];
    for (uint j = 0; j < 4; ++j) values[j] = uintBitsToFloat(a[j]), values[j + 4] = uintBitsToFloat(b[j]);
  } else {
    const uvec4 a = Quads(x).at[i / 8];
    for (uint j = 0; j < 4; ++j) {
      values[2 * j] = type == F16 ? f16_to_f32(a[j] & 0xffffu) : uintBitsToFloat(a[j] << 16);
      values[2 * j + 1] = type == F16 ? f16_to_f32(a[j] >> 16) : uintBitsToFloat(a[j] & 0xffff0000u);
    }
  }
}

float read_f32(uint64_t x, uint i) { return Floats(x).at[i]; }

// Declares what a shader gets: the address of its Parameters, which main() copies to p first, and which of all workgroups a dispatch runs;
// long ones are divided.
#define PARAMETERS                                                                                        \
  layout(buffer_reference, scalar) readonly buffer At { Parameters values; };                             \
  layout(push_constant) uniform Push { At parameters; uint first_workgroup, workgroups_end; };            \
  Parameters p
// They are counted over both axes of a dispatch, whose last row may be too long: those from workgroups_end on must return.
#define workgroup() (first_workgroup + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)
#define invocation() (workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationID.x)

#define infinity uintBitsToFloat(0x7f800000u)
