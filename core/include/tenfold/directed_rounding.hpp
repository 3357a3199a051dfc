// Directed rounding from double to float: bounds stay bounds in single precision.
#pragma once

#include <cmath>
#include <limits>

namespace tenfold {

inline float round_up(double value) {
  const float near = static_cast<float>(value);
  return static_cast<double>(near) < value ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}
inline float round_down(double value) { return -round_up(-value); }

} // namespace tenfold
