// Seeds derived from a seed and a place: numpy's SeedSequence, after O'Neill's seed_seq_fe ("Developing a seed_seq
// alternative", 2015).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace hearth::sampling {

// Result of numpy.random.SeedSequence(entropy, spawn_key=spawn_key, pool_size=pool_size).generate_state(count).
std::vector<uint32_t> seed_sequence(uint64_t entropy, std::initializer_list<uint64_t> spawn_key, size_t pool_size, size_t count);

}  // namespace hearth::sampling
