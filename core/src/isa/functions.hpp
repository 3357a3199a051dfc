// exp, log1p, log, sigmoid and softplus of a SIMD vector, each within a few units in the last place for every argument.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// exp(x) = 2^k exp(r), k = round(x / log 2), |r| <= log(2) / 2. ln2_high has 32 bits, so k * ln2_high is exact; the
// Taylor polynomial of degree 13 has an error of 4e-18. 2^k is applied in two steps: results below 2^-1022 are rounded
// once and results above 2^1024 become infinite.
inline Vector exponential(Vector x) {
  constexpr double ln2_high = 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr double log2_e = 0x1.71547652b82fep+0;
  constexpr double round = 0x1.8p52; // adding it leaves the integer part in the low bits
  const Vector clipped = x < -746.0 ? all(-746.0) : (x > 710.0 ? all(710.0) : x);
  const Vector shifted = clipped * log2_e + round;
  const Vector k = shifted - round;
  const Vector r = (clipped - k * ln2_high) - k * ln2_low;
  Vector q = all(1.0 / 6227020800.0);
  q = q * r + 1.0 / 479001600.0;
  q = q * r + 1.0 / 39916800.0;
  q = q * r + 1.0 / 3628800.0;
  q = q * r + 1.0 / 362880.0;
  q = q * r + 1.0 / 40320.0;
  q = q * r + 1.0 / 5040.0;
  q = q * r + 1.0 / 720.0;
  q = q * r + 1.0 / 120.0;
  q = q * r + 1.0 / 24.0;
  q = q * r + 1.0 / 6.0;
  q = q * r + 0.5;
  const Vector y = 1.0 + (r + r * r * q);
  // biased = k + 4096 > 0; 2^k = 2^half 2^(k - half)
  const Bits biased = vector_to_bits(shifted) - (vector_to_bits(all(round)) - 4096);
  const Bits half = biased >> 1;
  const Bits rest = biased - half;
  return y * bits_to_vector((half - 2048 + 1023) << 52) * bits_to_vector((rest - 2048 + 1023) << 52);
}

// log(1 + x) = k log 2 + log(1 + f), 1 + f = 2^-k (1 + x) in [sqrt(1/2), sqrt(2)); the correction c restores the
// rounding error of 1 + x. log(1 + f) = f - f^2/2 + s (f^2/2 + R), s = f / (2 + f), R = 2 (s^2/3 + s^4/5 + ...).
inline Vector log_one_plus(Vector x) {
  constexpr double ln2_high = 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr unsigned long long one = 0x3ff0000000000000ULL;
  constexpr unsigned long long root_half = 0x3fe6a09e667f3bcdULL;
  const Vector u = 1.0 + x;
  const Bits b = vector_to_bits(u) + (one - root_half);
  const Bits exponent = b >> 52; // k + 1023
  const Vector m = bits_to_vector((b & 0x000fffffffffffffULL) + root_half);
  const Vector k = bits_to_vector(exponent | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const auto near_one = k == 0.0;
  const Vector lost = (x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0)) / u;
  const Vector c = near_one ? Vector{} : lost;
  const Vector f = near_one ? x : m - 1.0;
  const Vector s = f / (2.0 + f);
  const Vector z = s * s;
  Vector q = all(2.0 / 25.0);
  q = q * z + 2.0 / 23.0;
  q = q * z + 2.0 / 21.0;
  q = q * z + 2.0 / 19.0;
  q = q * z + 2.0 / 17.0;
  q = q * z + 2.0 / 15.0;
  q = q * z + 2.0 / 13.0;
  q = q * z + 2.0 / 11.0;
  q = q * z + 2.0 / 9.0;
  q = q * z + 2.0 / 7.0;
  q = q * z + 2.0 / 5.0;
  q = q * z + 2.0 / 3.0;
  const Vector half_square = 0.5 * f * f;
  Vector y = k * ln2_high + (f - (half_square - (s * (half_square + z * q) + (k * ln2_low + c))));
  y = magnitude(x) < 0x1p-54 ? x : y;
  y = x == -1.0 ? all(-__builtin_inf()) : y;
  y = x < -1.0 ? all(__builtin_nan("")) : y;
  return x <= 0x1.fffffffffffffp1023 ? y : x; // infinity and NaN are returned
}

// log x = k log 2 + log m, x = 2^k m, m in [sqrt(1/2), sqrt(2)), for finite x > 0; subnormal and tiny x are scaled
// first.
inline Vector logarithm(Vector x) {
  constexpr double ln2_high = 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr unsigned long long one = 0x3ff0000000000000ULL;
  constexpr unsigned long long root_half = 0x3fe6a09e667f3bcdULL;
  const auto small = x < 0x1p-1000;
  const Bits b = vector_to_bits(small ? x * 0x1p100 : x) + (one - root_half);
  const Vector m = bits_to_vector((b & 0x000fffffffffffffULL) + root_half);
  const Vector k =
      bits_to_vector((b >> 52) | 0x4330000000000000ULL) - (small ? all(0x1p52 + 1123.0) : all(0x1p52 + 1023.0));
  return k * ln2_high + (k * ln2_low + log_one_plus(m - 1.0));
}

inline Vector logistic(Vector x) {
  const Vector e = exponential(-magnitude(x));
  return (x < 0.0 ? e : all(1.0)) / (1.0 + e);
}

inline Vector softplus(Vector x) { return (x < 0.0 ? Vector{} : x) + log_one_plus(exponential(-magnitude(x))); }

} // namespace
} // namespace tenfold::TENFOLD_ISA
