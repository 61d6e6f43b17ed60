// How a workgroup's invocations divide a tile of a product (tiles.h).
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint across = 16;  // invocations side by side; the others are below each other
layout(constant_id = 2) const uint own_rows = 8;
layout(constant_id = 3) const uint own_columns = 4;

const uint tile_rows = gl_WorkGroupSize.x / across * own_rows;
const uint tile_columns = across * own_columns;
