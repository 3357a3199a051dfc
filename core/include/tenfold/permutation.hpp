// Random permutations of the samples from a seed, the same on every machine.
#pragma once

#include "tenfold/types.hpp"

#include <cstdint>
#include <span>
#include <utility>

namespace tenfold {

// The generator splitmix64 (Steele, Lea and Flood 2014).
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform on [0, bound), up to a bias of 2^-64 * bound.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

private:
  std::uint64_t state_;
};

// Fills order with a uniform random permutation of 0, 1, ... (Fisher and Yates).
inline void permutation(std::uint64_t seed, std::span<std::int64_t> order) {
  Random random(seed);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t j = static_cast<std::size_t>(random.below(i + 1));
    order[i] = order[j];
    order[j] = static_cast<std::int64_t>(i);
  }
}

// Fisher-Yates shuffle with the generator xorshift32, as scikit-learn shuffles with the same seed.
template <class Row> void reshuffle(std::uint32_t seed, std::span<Row> order) {
  const std::size_t n = order.size();
  for (std::size_t i = 0; i + 1 < n; ++i) {
    seed = seed == 0 ? 1 : seed;
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    const std::uint32_t draw = (seed & 0x7fffffffU) % static_cast<std::uint32_t>(n - i);
    std::swap(order[i], order[i + draw]);
  }
}

} // namespace tenfold
