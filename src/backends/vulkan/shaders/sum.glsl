// Sums and maxima over the invocations of a workgroup, in a fixed order. Every invocation must call them, and gets the same result.
const uint leaders = 16;  // invocations that combine the others' values
shared float partial_values[gl_WorkGroupSize.x], combined_values[leaders];

float sum_of_workgroup(float value) {
  partial_values[gl_LocalInvocationID.x] = value;
  barrier();
  if (gl_LocalInvocationID.x < leaders) {
    float sum = 0;
    [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < gl_WorkGroupSize.x; i += leaders) sum += partial_values[i];
    combined_values[gl_LocalInvocationID.x] = sum;
  }
  barrier();
  float sum = 0;
  [[dont_unroll]] for (uint i = 0; i < leaders; ++i) sum += combined_values[i];
  return sum;
}
