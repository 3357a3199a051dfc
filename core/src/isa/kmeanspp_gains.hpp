// What rows gain from each of some new centres, in float32, and which of them may come nearer.
//
// Rows are in panels as for knn_filter.hpp (columns x filter_rows, one row a lane). For row i and candidate c, with
// h_c = ||z_c||^2 / 2 and start_i the squared distance from the nearest centre so far less ||x_i||^2,
//   gain_ic = start_i + 2 (x_i.z_c - h_c),   totals_c += sum_i weight_i max(0, gain_ic)   lane by lane,
// and bit i of the marks of the panel with c is set unless gain_ic < -slack (size_i + reach).
// tenfold/kmeans_plusplus.hpp says what these must be, so that a row without a mark does not come nearer. Flops: 2 *
// columns * filter_rows * candidates a panel, all sums in registers.
#pragma once

#include "knn_filter.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index gains_together = filter_queries; // candidates whose sums the registers hold

// A bit for every lane that is not below; of NaN, too.
inline std::uint32_t not_below(Narrow v, Narrow limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(v, limit, _CMP_NLT_UQ);
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(v, limit, _CMP_NLT_UQ)));
#elif defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmpnlt_ps(v, limit)));
#else
  std::uint32_t below = 0;
  for (Index i = 0; i < narrow; ++i)
    below |= static_cast<std::uint32_t>(!(v[i] < limit[i])) << i;
  return below;
#endif
}
inline Narrow or_zero(Narrow v) { return v > Narrow{} ? v : Narrow{}; }

// Candidates first, ..., first + n - 1 with one panel.
template <Index n>
inline void gains_of(const Gains &in, Index number, Index first, float *totals, std::uint32_t *marks) {
  const float *rows = in.rows + number * in.columns * filter_rows, *from = in.candidates + first;
  Narrow sums[n][2];
#pragma GCC unroll 16
  for (Index c = 0; c < n; ++c)
    sums[c][0] = sums[c][1] = -in.half[first + c] - Narrow{};
  for (Index j = 0; j < in.columns; ++j) {
    const Narrow left = load_narrow(rows), right = load_narrow(rows + narrow);
    __builtin_prefetch(rows + in.columns * filter_rows);
    __builtin_prefetch(rows + in.columns * filter_rows + narrow);
#pragma GCC unroll 16
    for (Index c = 0; c < n; ++c) {
      const Narrow z = from[c] - Narrow{};
      sums[c][0] += left * z;
      sums[c][1] += right * z;
    }
    rows += filter_rows;
    from += in.count;
  }
  for (Index v = 0; v < 2; ++v) {
    const Index at = number * filter_rows + v * narrow;
    const Narrow start = load_narrow(in.start + at), weight = load_narrow(in.weight + at);
    const Narrow limit = -in.slack * (load_narrow(in.size + at) + in.reach);
#pragma GCC unroll 16
    for (Index c = 0; c < n; ++c) {
      const Narrow gain = start + 2.0f * sums[c][v];
      float *total = totals + (first + c) * narrow;
      *reinterpret_cast<UnalignedNarrow *>(total) = load_narrow(total) + or_zero(gain) * weight;
      const std::uint32_t here = not_below(gain, limit) << (v * narrow);
      marks[first + c] = v == 0 ? here : marks[first + c] | here;
    }
  }
}

template <Index n>
inline void gains_of_list(const Gains &in, Index first, Index count, const Index *list, Index panels, float *totals,
                          std::uint32_t *marks) {
  if constexpr (n > 0) {
    if (count < n)
      return gains_of_list<n - 1>(in, first, count, list, panels, totals, marks);
    for (Index i = 0; i < panels; ++i)
      gains_of<n>(in, list[i], first, totals, marks + list[i] * in.count);
  }
}

void gains(const Gains &in, const Index *list, Index panels, float *totals, std::uint32_t *marks) {
  const Index times = (in.count + gains_together - 1) / gains_together;
  for (Index t = 0; t < times; ++t) { // shared out evenly
    const Index first = in.count * t / times, last = in.count * (t + 1) / times;
    gains_of_list<gains_together>(in, first, last - first, list, panels, totals, marks);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
