// x as integers, as to_integers.comp stores it. A block of 32 values is five uvec4: parts 0 … 3 have eight values q each, part 4 has the scale
// d and the sums of the first and the last 16 values. Eight values are four pairs of 16 bits; or, for dot products of bytes, the high digits
// of four and of four more, then their low digits: q = 256 · high + low + 128, both signed bytes.

// Of few rows, what neighboring invocations read is side by side, a part of neighboring blocks; of many rows the parts of a block.
uint quad_at(bool few, uint rows, uint blocks, uint row, uint block, uint part) {
  return few ? (row * 5 + part) * blocks + block : (block * rows + row) * 5 + part;
}
