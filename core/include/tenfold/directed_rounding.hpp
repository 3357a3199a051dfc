// From double to single precision without losing a bound.
#pragma once

#include <cmath>
#include <limits>

namespace tenfold {

inline float rounded_up(double value) {
  const float near = static_cast<float>(value);
  return static_cast<double>(near) < value ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}
inline float rounded_down(double value) { return -rounded_up(-value); }

} // namespace tenfold
