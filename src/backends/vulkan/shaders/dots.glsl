// The sum of four products of signed bytes, by the instruction of cards that have one (OpSDotKHR of SPV_KHR_integer_dot_product).
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int signed_dot_of(uint a, uint b, spirv_literal int format);

int signed_dot(uint a, uint b) { return signed_dot_of(a, b, 0); }  // of packed bytes
int sum_of_bytes(uint a) { return signed_dot(a, 0x01010101u); }
