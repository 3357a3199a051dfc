// Candidate neighbours by products in float32: a filter that rejects no neighbour, product and comparison fused in
// registers.
//
// Given a panel of samples (inner x filter_rows, one sample a lane), numbers n_j, a group of queries (inner x
// filter_queries, each entry of one query after the other) and a threshold t_i for each, marks bit j of marks[i] where
//   n_j + sum_k row_jk query_ik <= t_i,
// and returns whether any bit is set. tenfold/knn_gemm.hpp has the thresholds for which no neighbour is rejected.
// Flops: 2 * inner * filter_rows * filter_queries, all sums in registers.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

typedef float Narrow __attribute__((vector_size(width * 8)));
typedef float UnalignedNarrow __attribute__((vector_size(width * 8), aligned(4), may_alias));

constexpr Index narrow = 2 * width; // floats of a vector
constexpr Index filter_rows = 2 * narrow;
#if defined(__AVX512F__)
constexpr Index filter_queries = 12;
#elif defined(__AVX2__)
constexpr Index filter_queries = 6;
#elif defined(__x86_64__)
constexpr Index filter_queries = 4;
#else
constexpr Index filter_queries = 12;
#endif

inline Narrow load_narrow(const float *p) { return *reinterpret_cast<const UnalignedNarrow *>(p); }

// A bit for every lane that is not above the threshold; of NaN none.
inline std::uint32_t not_above(Narrow v, float threshold) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(v, _mm512_set1_ps(threshold), _CMP_LE_OQ);
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_set1_ps(threshold), _CMP_LE_OQ)));
#elif defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmple_ps(v, _mm_set1_ps(threshold))));
#else
  std::uint32_t marks = 0;
  for (Index i = 0; i < narrow; ++i)
    marks |= static_cast<std::uint32_t>(v[i] <= threshold) << i;
  return marks;
#endif
}

bool knn_filter(const float *rows, const float *numbers, const float *queries, const float *thresholds, Index inner,
                std::uint32_t *marks) {
  Narrow sums[filter_queries][2];
#pragma GCC unroll 16
  for (Index q = 0; q < filter_queries; ++q)
#pragma GCC unroll 2
    for (Index v = 0; v < 2; ++v)
      sums[q][v] = load_narrow(numbers + v * narrow);
  for (Index k = 0; k < inner; ++k) {
    const Narrow left = load_narrow(rows), right = load_narrow(rows + narrow);
#pragma GCC unroll 16
    for (Index q = 0; q < filter_queries; ++q) {
      const Narrow query = queries[q] - Narrow{};
      sums[q][0] += left * query;
      sums[q][1] += right * query;
    }
    rows += filter_rows;
    queries += filter_queries;
  }
  std::uint32_t any = 0;
#pragma GCC unroll 16
  for (Index q = 0; q < filter_queries; ++q) {
    marks[q] = not_above(sums[q][0], thresholds[q]) | not_above(sums[q][1], thresholds[q]) << narrow;
    any |= marks[q];
  }
  return any != 0;
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
