#version 460
#extension GL_GOOGLE_include_directive : require
// integer_few_rows.comp for cards with dot products of bytes.
#define BYTE_DOTS
#define BOTH_AT_ONCE [[unroll]]
#include "integer_few_rows.glsl"
