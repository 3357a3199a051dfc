// SIMD vectors of `width` doubles for the instruction set that this translation unit is compiled for.
//
// Everything in core/src/isa is in an anonymous namespace and uses no inline function of the standard library: the
// linker keeps one copy of a function with external linkage, and that copy might need a newer CPU.
#pragma once

#include "tenfold/isa_kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenfold::TENFOLD_ISA {
namespace {

#if defined(__AVX512F__)
constexpr Index width = 8;
constexpr int registers = 32;
#elif defined(__AVX2__)
constexpr Index width = 4;
constexpr int registers = 16;
#elif defined(__x86_64__)
constexpr Index width = 2;
constexpr int registers = 16;
#else
constexpr Index width = 2;
constexpr int registers = 32;
#endif

typedef double Vector __attribute__((vector_size(width * 8)));
typedef long long Integers __attribute__((vector_size(width * 8)));
typedef unsigned long long Bits __attribute__((vector_size(width * 8)));
typedef float Floats __attribute__((vector_size(width * 4)));
typedef double Unaligned __attribute__((vector_size(width * 8), aligned(8), may_alias));
typedef float UnalignedFloats __attribute__((vector_size(width * 4), aligned(4), may_alias));

inline Vector all(double value) { return value - Vector{}; }

inline Vector load(const double *p) { return *reinterpret_cast<const Unaligned *>(p); }
inline Vector load(const float *p) {
  return __builtin_convertvector(*reinterpret_cast<const UnalignedFloats *>(p), Vector);
}

inline void store(double *p, Vector v) { *reinterpret_cast<Unaligned *>(p) = v; }
inline void store(float *p, Vector v) { *reinterpret_cast<UnalignedFloats *>(p) = __builtin_convertvector(v, Floats); }

// The first `count` lanes, zero in the others; memory beyond them is not accessed.
#if defined(__AVX512F__)
inline __mmask8 first(Index count) { return static_cast<__mmask8>((1u << count) - 1u); }
inline Vector load_part(const double *p, Index count) { return _mm512_maskz_loadu_pd(first(count), p); }
inline Vector load_part(const float *p, Index count) {
  return __builtin_convertvector(_mm256_maskz_loadu_ps(first(count), p), Vector);
}
inline void store_part(double *p, Vector v, Index count) { _mm512_mask_storeu_pd(p, first(count), v); }
inline void store_part(float *p, Vector v, Index count) {
  _mm256_mask_storeu_ps(p, first(count), __builtin_convertvector(v, Floats));
}
#elif defined(__AVX2__)
inline __m256i first(Index count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_set_epi64x(3, 2, 1, 0));
}
inline __m128i first_floats(Index count) {
  return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_set_epi32(3, 2, 1, 0));
}
inline Vector load_part(const double *p, Index count) { return _mm256_maskload_pd(p, first(count)); }
inline Vector load_part(const float *p, Index count) {
  return __builtin_convertvector(_mm_maskload_ps(p, first_floats(count)), Vector);
}
inline void store_part(double *p, Vector v, Index count) { _mm256_maskstore_pd(p, first(count), v); }
inline void store_part(float *p, Vector v, Index count) {
  _mm_maskstore_ps(p, first_floats(count), __builtin_convertvector(v, Floats));
}
#else
template <class T> inline Vector load_part(const T *p, Index count) {
  Vector v{};
  for (Index i = 0; i < count; ++i)
    v[i] = static_cast<double>(p[i]);
  return v;
}
template <class T> inline void store_part(T *p, Vector v, Index count) {
  for (Index i = 0; i < count; ++i)
    p[i] = static_cast<T>(v[i]);
}
#endif

inline double sum(Vector v) {
  for (Index half = width / 2; half > 0; half /= 2)
    for (Index i = 0; i < half; ++i)
      v[i] += v[i + half];
  return v[0];
}

inline Vector bits_to_vector(Bits b) { return reinterpret_cast<Vector>(b); }
inline Bits vector_to_bits(Vector v) { return reinterpret_cast<Bits>(v); }
inline Vector magnitude(Vector v) { return bits_to_vector(vector_to_bits(v) & 0x7fffffffffffffffULL); }

inline Index smaller(Index a, Index b) { return a < b ? a : b; }

} // namespace
} // namespace tenfold::TENFOLD_ISA
