// Sums over `together` neighboring invocations, which the includer defines, in a fixed order. Every invocation of the workgroup must call
// it, and gets the result of its neighbors.
const uint leaders = together < 16 ? together : 16;  // invocations that combine the others' values
shared float partial_values[gl_WorkGroupSize.x], combined_values[gl_WorkGroupSize.x / together * leaders];

float sum_of_neighbors(float value) {
  const uint own = gl_LocalInvocationID.x, place = own % together, first = own - place, combined = own / together * leaders;
  partial_values[own] = value;
  barrier();
  if (place < leaders) {
    float sum = 0;
    [[dont_unroll]] for (uint i = place; i < together; i += leaders) sum += partial_values[first + i];
    combined_values[combined + place] = sum;
  }
  barrier();
  float sum = 0;
  [[dont_unroll]] for (uint i = 0; i < leaders; ++i) sum += combined_values[combined + i];
  return sum;
}
