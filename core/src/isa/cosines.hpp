// z_k = scale cos(z_k + offset_k), in place.
//
// cos(x) = (-1)^(n + 1) sin(r), n = round(x / pi - 1/2), r = x - (n + 1/2) pi in [-pi/2, pi/2]. pi is cut in three
// parts, so that their products with n + 1/2 are exact but for the last one up to `limit`; beyond it the C library is
// asked. The Taylor polynomial of the sine has degree 21 in float64 (error 1e-18) and degree 13 in float32 (error
// 7e-10). Flops of one value: 40 in float64, 30 in float32.
#pragma once

#include "pair_functions.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

inline Vector cosine(Vector x) {
  constexpr double high = 0x1.921fb5p+1, middle = 0x1.110b46p-25, low = 0x1.1a62633145c07p-53; // pi
  constexpr double round = 0x1.8p52;
  const Vector shifted = (x * 0.31830988618379067154 - 0.5) + round;
  const Vector n = (shifted - round) + 0.5;
  const Vector r = ((x - n * high) - n * middle) - n * low, z = r * r;
  Vector q = all(1.0 / 51090942171709440000.0);
  q = q * z - 1.0 / 121645100408832000.0;
  q = q * z + 1.0 / 355687428096000.0;
  q = q * z - 1.0 / 1307674368000.0;
  q = q * z + 1.0 / 6227020800.0;
  q = q * z - 1.0 / 39916800.0;
  q = q * z + 1.0 / 362880.0;
  q = q * z - 1.0 / 5040.0;
  q = q * z + 1.0 / 120.0;
  q = q * z - 1.0 / 6.0;
  const Vector sine = r + r * z * q;
  return bits_to_vector(vector_to_bits(sine) ^ ((vector_to_bits(shifted) + 1) << 63));
}

inline Singles cosine(Singles x) {
  constexpr float high = 0x1.92p+1F, middle = 0x1.fb4p-11F, low = 0x1.4442d2p-23F; // pi
  constexpr float round = 0x1.8p23F;
  const Singles shifted = (x * 0.318309886F - 0.5F) + round;
  const Singles n = (shifted - round) + 0.5F;
  const Singles r = ((x - n * high) - n * middle) - n * low, z = r * r;
  Singles q = all_singles(1.0F / 6227020800.0F);
  q = q * z - 1.0F / 39916800.0F;
  q = q * z + 1.0F / 362880.0F;
  q = q * z - 1.0F / 5040.0F;
  q = q * z + 1.0F / 120.0F;
  q = q * z - 1.0F / 6.0F;
  const Singles sine = r + r * z * q;
  const Numbers odd = (reinterpret_cast<Numbers>(shifted) + 1) << 31;
  return reinterpret_cast<Singles>(reinterpret_cast<Numbers>(sine) ^ odd);
}

inline double library_cosine(double x) { return __builtin_cos(x); }
inline float library_cosine(float x) { return __builtin_cosf(x); }

inline Vector load_lanes(const double *p) { return load(p); }
inline Singles load_lanes(const float *p) { return load_singles(p); }
inline void store_lanes(double *p, Vector v) { store(p, v); }
inline void store_lanes(float *p, Singles v) { *reinterpret_cast<UnalignedSingles *>(p) = v; }

// The largest magnitude of an argument decides for a row: those of random features are far below the limit. NaN stays.
template <class T> void cosines(T *z, const T *offset, double factor, Index count) {
  constexpr T limit = sizeof(T) == 8 ? static_cast<T>(0x1p24) : static_cast<T>(0x1p13);
  constexpr Index lanes = 8 * width / static_cast<Index>(sizeof(T));
  const T scale = static_cast<T>(factor);
  decltype(load_lanes(z)) largest{};
  T rest = T{};
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    const auto x = load_lanes(z + k) + load_lanes(offset + k), size = x < T{} ? -x : x;
    store_lanes(z + k, x);
    largest = size > largest ? size : largest;
  }
  for (; k < count; ++k) {
    const T x = z[k] + offset[k], size = x < T{} ? -x : x;
    z[k] = x;
    rest = size > rest ? size : rest;
  }
  for (Index lane = 0; lane < lanes; ++lane)
    rest = largest[lane] > rest ? largest[lane] : rest;
  if (rest <= limit)
    return for_lanes(z, count, [=](auto x) { return scale * cosine(x); });
  for (Index i = 0; i < count; ++i)
    z[i] = scale * library_cosine(z[i]);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
