// Doubles on 64-byte boundaries, zero at the start: scratch and accumulators of the vector loops.
#pragma once

#include "tenfold/types.hpp"

#include <vector>

namespace tenfold {

class Buffer {
public:
  Buffer() = default;
  explicit Buffer(Index size) : lines_(static_cast<std::size_t>((size + 7) / 8)) {}

  double *data() { return lines_.empty() ? nullptr : lines_.front().values; }
  const double *data() const { return lines_.empty() ? nullptr : lines_.front().values; }
  double &operator[](Index i) { return data()[i]; }
  double operator[](Index i) const { return data()[i]; }

private:
  struct alignas(64) Line {
    double values[8] = {};
  };
  std::vector<Line> lines_;
};

} // namespace tenfold
