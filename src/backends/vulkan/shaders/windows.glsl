// The windows of a convolution over frames, rows and columns (core/axes.h). An input may be resized by nearest neighbor first.
struct Windows {
  uint from[3], to[3], taps[3], stride[3], dilation[3], nearest[3];  // from: of x, after resizing
  int before[3];
  uint image, channels;  // positions of x, channels
  uint resized, stored[2];  // rows and columns of x in memory
  float ratio[2];
  uint padding;
};

// Frame, row and column of the index-th position.
uint[3] place_in(uint size[3], uint index) {
  return uint[3](index / size[2] / size[1], index / size[2] % size[1], index % size[2]);
}

uint stored_place(Windows w, uint axis, uint i) {
  precise const float place = float(i) * w.ratio[axis];
  return min(uint(place), w.stored[axis] - 1);
}

// Position in x of tap `tap` of output position `out_position`, within an image; −1 if the tap falls on a zero.
int window_source(Windows w, uint out_position, uint tap) {
  const uint place[3] = place_in(w.to, out_position), t[3] = place_in(w.taps, tap);
  int from[3];
  for (uint i = 0; i < 3; ++i) {
    from[i] = int(place[i] * w.stride[i] + t[i] * w.dilation[i]) - w.before[i];
    if (w.nearest[i] != 0) from[i] = clamp(from[i], 0, int(w.from[i]) - 1);
    if (from[i] < 0 || from[i] >= int(w.from[i])) return -1;
  }
  if (w.resized != 0) return int((uint(from[0]) * w.stored[0] + stored_place(w, 0, uint(from[1]))) * w.stored[1] + stored_place(w, 1, uint(from[2])));
  return int((uint(from[0]) * w.from[1] + uint(from[1])) * w.from[2] + uint(from[2]));
}

// The same of a transposed convolution: the position of x whose tap falls there.
int transposed_source(Windows w, uint out_position, uint tap) {
  const uint place[3] = place_in(w.to, out_position), t[3] = place_in(w.taps, tap);
  int from[3];
  for (uint i = 0; i < 3; ++i) {
    const int stepped = int(place[i]) + w.before[i] - int(t[i] * w.dilation[i]);
    if (stepped < 0 || stepped % int(w.stride[i]) != 0) return -1;
    from[i] = stepped / int(w.stride[i]);
    if (from[i] >= int(w.from[i])) return -1;
  }
  return int((uint(from[0]) * w.from[1] + uint(from[1])) * w.from[2] + uint(from[2]));
}
