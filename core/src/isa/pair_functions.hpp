// Functions of pairs, elementwise and in place: v becomes scale * f(v) + shift, f as in PairFunction (isa_kernels.hpp).
// Float64 and, for the common functions, float32 in whole SIMD vectors; the hyperbolic tangent, the arcsine and powers
// that are no small whole numbers are those of the C library.
// Flops of one value: 20 for an exponential, 30 for one of a root, 60 for a rational quadratic.
#pragma once

#include "sgemm_tile.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

inline Vector square_root(Vector v) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xff, v); // the plain intrinsic warns of an uninitialised register
#elif defined(__AVX2__)
  return _mm256_sqrt_pd(v);
#elif defined(__x86_64__)
  return _mm_sqrt_pd(v);
#else
  for (Index i = 0; i < width; ++i)
    v[i] = __builtin_sqrt(v[i]);
  return v;
#endif
}
inline Singles square_root(Singles v) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(0xffff, v);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(v);
#elif defined(__x86_64__)
  return _mm_sqrt_ps(v);
#else
  for (Index i = 0; i < singles; ++i)
    v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

// exp(x) for x <= 0
inline Vector falling(Vector x) { return exponential(x); }
inline Singles falling(Singles x) { return x < -87.0F ? Singles{} : exp_float32(x); }

// (1 + r) exp(-r), and with a third (1 + r + r^2 / 3) exp(-r), r = sqrt(w); beyond 1e6 the exponential is zero
template <class Lanes, class T> inline Lanes matern(Lanes w, T third) {
  const Lanes r = square_root(w > static_cast<T>(1e6) ? static_cast<T>(1e6) - Lanes{} : w);
  return (static_cast<T>(1) + r + third * r * r) * falling(-r);
}

// sin(pi t)^2: t is reduced by the next whole number, the Taylor polynomial of degree 21 has an error of 1e-18.
inline Vector squared_sine(Vector t) {
  constexpr double round = 0x1.8p52, pi = 3.14159265358979323846;
  const Vector whole = magnitude(t) < 0x1p51 ? (t + round) - round : t;
  const Vector y = (t - whole) * pi, z = y * y;
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
  const Vector sine = y + y * z * q;
  return sine * sine;
}

// The next `width` values, fewer at the end.
template <class T, class F> inline void for_vectors(T *v, Index count, const F &f) {
  Index i = 0;
  for (; i + width <= count; i += width)
    store(v + i, f(load(v + i)));
  if (i < count)
    store_part(v + i, f(load_part(v + i, count - i)), count - i);
}

// In float32 the last values go in float64, like those of the other functions.
template <class F> inline void for_lanes(double *v, Index count, const F &f) { for_vectors(v, count, f); }
template <class F> inline void for_lanes(float *v, Index count, const F &f) {
  Index i = 0;
  for (; i + singles <= count; i += singles)
    *reinterpret_cast<UnalignedSingles *>(v + i) = f(load_singles(v + i));
  if (i < count) {
    float rest[singles] = {};
    for (Index j = i; j < count; ++j)
      rest[j - i] = v[j];
    const Singles values = f(load_singles(rest));
    for (Index j = i; j < count; ++j)
      v[j] = values[j - i];
  }
}

template <class T, class F> inline void for_each_value(T *v, Index count, const F &f) {
  for (Index i = 0; i < count; ++i)
    v[i] = static_cast<T>(f(static_cast<double>(v[i])));
}

template <class T> void to_power(const PairFunction &f, T *v, Index count) {
  const int whole = f.degree >= 1.0 && f.degree <= 32.0 ? static_cast<int>(f.degree) : 0;
  if (whole == 0 || f.degree != whole)
    return for_each_value(
        v, count, [&f](double x) { return f.scale * __builtin_pow(f.gamma * x + f.offset, f.degree) + f.shift; });
  for_vectors(v, count, [&f, whole](Vector x) {
    const Vector base = f.gamma * x + f.offset;
    Vector product = base;
    for (int i = 1; i < whole; ++i)
      product *= base;
    return f.scale * product + f.shift;
  });
}

template <class T> void pair_function(const PairFunction &f, T *v, Index count) {
  const T gamma = static_cast<T>(f.gamma), scale = static_cast<T>(f.scale), shift = static_cast<T>(f.shift);
  const T one = static_cast<T>(1);
  switch (f.kind) {
  case PairFunction::root:
    return for_lanes(v, count, [=](auto x) { return scale * square_root(x) + shift; });
  case PairFunction::exponential:
    return for_lanes(v, count, [=](auto x) { return scale * falling(-gamma * x) + shift; });
  case PairFunction::exponential_root:
    return for_lanes(v, count, [=](auto x) { return scale * falling(-gamma * square_root(x)) + shift; });
  case PairFunction::exponential_slope:
    return for_lanes(v, count, [=](auto x) {
      const auto r = square_root(x);
      return scale * (x > T{} ? falling(-gamma * r) / (x > T{} ? r : one + r) : T{} * r) + shift;
    });
  case PairFunction::matern32:
    return for_lanes(v, count, [=](auto x) { return scale * matern(static_cast<T>(3) * gamma * x, T{}) + shift; });
  case PairFunction::matern52:
    return for_lanes(v, count, [=](auto x) {
      return scale * matern(static_cast<T>(5) * gamma * x, one / static_cast<T>(3)) + shift;
    });
  case PairFunction::rational:
    return for_vectors(
        v, count, [&f](Vector x) { return f.scale * exponential(-f.degree * log_one_plus(f.gamma * x)) + f.shift; });
  case PairFunction::rational_slope:
    return for_vectors(v, count, [&f](Vector x) {
      const Vector w = f.gamma * x, log = log_one_plus(w);
      const Vector part = w > 1e300 ? all(1.0) : w / (1.0 + w);
      return (f.scale * f.degree) * exponential(-f.degree * log) * (part - log) + f.shift;
    });
  case PairFunction::periodic:
    return for_vectors(v, count, [&f](Vector x) {
      const Vector t = (f.gamma / 3.14159265358979323846) * square_root(x);
      return f.scale * exponential((-2.0 * f.degree) * squared_sine(t)) + f.shift;
    });
  case PairFunction::power:
    return to_power(f, v, count);
  case PairFunction::tangent:
    return for_each_value(v, count,
                          [&f](double x) { return f.scale * __builtin_tanh(f.gamma * x + f.offset) + f.shift; });
  case PairFunction::arcsine:
    return for_each_value(v, count, [&f](double x) {
      const double w = f.gamma * x, inside = w > 1.0 ? 1.0 : (w < -1.0 ? -1.0 : w);
      return f.scale * (2.0 / 3.14159265358979323846) * __builtin_asin(inside) + f.shift;
    });
  default:
    if (f.scale != 1.0 || f.shift != 0.0)
      for_lanes(v, count, [=](auto x) { return scale * x + shift; });
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
