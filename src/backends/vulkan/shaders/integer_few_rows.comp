#version 460
#extension GL_GOOGLE_include_directive : require
#define BOTH_AT_ONCE [[dont_unroll]]
#include "integer_few_rows.glsl"
