// The two nearest of many centres, by products in float32: product and comparison fused in registers.
//
// With h_k = ||c_k||^2 / 2 the nearest centre has the largest score  s_k = x.c_k - h_k:  ||x - c_k||^2 = ||x||^2 - 2
// s_k. Centres are in panels of `singles` lanes, entry (k, j) at panels[(k / singles) * stride + j * singles + k %
// singles]; lanes behind the last centre are zero with h = infinity, and are never the
// largest. Given samples x, writes the largest score, the second largest, and the number of the largest. A score that
// is not a number is never the largest: where all are, the largest is minus infinity, and the number means nothing.
// Flops: 2 * count * columns * centres; the registers hold the scores of some samples with up to three panels.
#pragma once

#include "sparse.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index singles = 2 * width;
constexpr Index rows_at_once = registers == 32 ? 8 : 4; // rows at once

typedef float Singles __attribute__((vector_size(width * 8)));
typedef float UnalignedSingles __attribute__((vector_size(width * 8), aligned(4), may_alias));
typedef int Numbers __attribute__((vector_size(width * 8)));

inline Singles load_singles(const float *p) { return *reinterpret_cast<const UnalignedSingles *>(p); }
inline Singles all_singles(float value) { return value - Singles{}; }
inline Singles larger(Singles a, Singles b) { return a > b ? a : b; }

// Of every lane: the largest score so far, the second largest, and the panel of the largest.
struct Standing {
  Singles best, second;
  Numbers panel;
};

inline void enter(Standing &s, Singles score, int number) {
  const Numbers is_largest = score > s.best;
  s.second = is_largest ? s.best : larger(score, s.second);
  s.best = is_largest ? score : s.best;
  s.panel = is_largest ? number - Numbers{} : s.panel;
}

template <Index shift> inline Singles turned(Singles v) {
  Numbers from;
  for (Index i = 0; i < singles; ++i)
    from[i] = static_cast<int>((i + shift) % singles);
  return __builtin_shuffle(v, from);
}
template <Index shift> inline Numbers turned(Numbers v) {
  Numbers from;
  for (Index i = 0; i < singles; ++i)
    from[i] = static_cast<int>((i + shift) % singles);
  return __builtin_shuffle(v, from);
}

template <Index shift = singles / 2> inline Singles largest_lane(Singles v) {
  v = larger(v, turned<shift>(v));
  if constexpr (shift > 1)
    v = largest_lane<shift / 2>(v);
  return v;
}
template <Index shift = singles / 2> inline Numbers least_lane(Numbers v) {
  const Numbers other = turned<shift>(v);
  v = v < other ? v : other;
  if constexpr (shift > 1)
    v = least_lane<shift / 2>(v);
  return v;
}

inline void decide(const Standing &s, float *best, float *second, std::int32_t *number) {
  Numbers own;
  for (Index i = 0; i < singles; ++i)
    own[i] = static_cast<int>(i);
  own += s.panel * static_cast<int>(singles);
  const Singles top = largest_lane(s.best);
  const Numbers first = least_lane(s.best == top ? own : 0x7fffffff - Numbers{});
  *best = top[0];
  *second = largest_lane(own == first ? s.second : s.best)[0];
  *number = first[0];
}

// scores of r rows with v panels
template <Index r, Index v>
inline void score(const float *const *x, Index columns, const float *panels, Index stride, const float *half,
                  Singles (&scores)[v][r]) {
  const float *row[r];
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
    row[i] = x[i];
#pragma GCC unroll 8
  for (Index c = 0; c < v; ++c)
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i)
      scores[c][i] = -load_singles(half + c * singles);
  for (Index j = 0; j < columns; ++j) {
    Singles right[v];
#pragma GCC unroll 8
    for (Index c = 0; c < v; ++c)
      right[c] = load_singles(panels + c * stride + j * singles);
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i) {
      const Singles left = all_singles(row[i][j]);
#pragma GCC unroll 8
      for (Index c = 0; c < v; ++c)
        scores[c][i] += left * right[c];
    }
  }
}

template <Index r, Index v>
inline void score_and_compare(const float *const *x, Index columns, const float *panels, Index stride,
                              const float *half, int number, Standing *standing) {
  Singles scores[v][r];
  score<r, v>(x, columns, panels, stride, half, scores);
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
#pragma GCC unroll 8
    for (Index c = 0; c < v; ++c)
      enter(standing[i], scores[c][i], number + static_cast<int>(c));
}

template <Index v>
inline void score_rows(const float *const *x, Index count, Index columns, const float *panels, Index stride,
                       const float *half, int number, Standing *standing) {
  Index i = 0;
  for (; i + rows_at_once <= count; i += rows_at_once)
    score_and_compare<rows_at_once, v>(x + i, columns, panels, stride, half, number, standing + i);
  if (i + rows_at_once / 2 <= count) {
    score_and_compare<rows_at_once / 2, v>(x + i, columns, panels, stride, half, number, standing + i);
    i += rows_at_once / 2;
  }
  for (; i < count; ++i)
    score_and_compare<1, v>(x + i, columns, panels, stride, half, number, standing + i);
}

inline void begin(Standing *standing, Index count) {
  for (Index i = 0; i < count; ++i)
    standing[i] = {all_singles(-__builtin_inff()), all_singles(-__builtin_inff()), Numbers{}};
}

void nearest_centre(const float *const *x, Index count, Index columns, const float *panels, const float *half,
                    Index panel_count, float *best, float *second, std::int32_t *number) {
  Standing standing[nearest_centre_samples];
  begin(standing, count);
  const Index stride = columns * singles;
  Index k = 0;
  while (k < panel_count) {
    const Index left = panel_count - k;
    const float *from = panels + k * stride, *h = half + k * singles;
    if (left == 3 || left > 4) {
      score_rows<3>(x, count, columns, from, stride, h, static_cast<int>(k), standing);
      k += 3;
    } else if (left >= 2) {
      score_rows<2>(x, count, columns, from, stride, h, static_cast<int>(k), standing);
      k += 2;
    } else {
      score_rows<1>(x, count, columns, from, stride, h, static_cast<int>(k), standing);
      k += 1;
    }
  }
  for (Index i = 0; i < count; ++i)
    decide(standing[i], best + i, second + i, number + i);
}

// One sparse sample and centres as features x centres, `stride` apart: false where an index is out of range.
template <class T, class I>
bool sparse_nearest_centre(const T *data, const I *indices, Index count, Index columns, double unit,
                           const float *centres, Index stride, const float *half, Index panel_count, float *best,
                           float *second, std::int32_t *number) {
  constexpr Index v = registers == 32 ? 8 : 4;
  for (Index e = 0; e < count; ++e)
    if (!is_column(indices[e], columns))
      return false;
  Standing standing;
  begin(&standing, 1);
  const auto run = [&]<Index n>(Index k) {
    Singles scores[n];
#pragma GCC unroll 8
    for (Index c = 0; c < n; ++c)
      scores[c] = -load_singles(half + (k + c) * singles);
    for (Index e = 0; e < count; ++e) {
      const Singles left = all_singles(static_cast<float>(unit * static_cast<double>(data[e])));
      const float *from = centres + static_cast<Index>(indices[e]) * stride + k * singles;
#pragma GCC unroll 8
      for (Index c = 0; c < n; ++c)
        scores[c] += left * load_singles(from + c * singles);
    }
#pragma GCC unroll 8
    for (Index c = 0; c < n; ++c)
      enter(standing, scores[c], static_cast<int>(k + c));
  };
  Index k = 0;
  for (; k + v <= panel_count; k += v)
    run.template operator()<v>(k);
  for (; k < panel_count; ++k)
    run.template operator()<1>(k);
  decide(standing, best, second, number);
  return true;
}

// out = unit (x - shift) in float32; returns the sum of its squares.
template <class T> float to_singles(const T *x, Index columns, const double *shift, double unit, float *out) {
  Vector total{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector v = (load(x + j) - load(shift + j)) * unit;
    store(out + j, v);
    total += v * v;
  }
  if (j < columns) {
    const Index left = columns - j;
    const Vector v = (load_part(x + j, left) - load_part(shift + j, left)) * unit;
    store_part(out + j, v, left);
    total += v * v;
  }
  return static_cast<float>(sum(total));
}

// ||x - c||^2
template <class T> double square_distance(const T *x, const double *c, Index columns) {
  Vector total{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector away = load(x + j) - load(c + j);
    total += away * away;
  }
  if (j < columns) {
    const Vector away = load_part(x + j, columns - j) - load_part(c + j, columns - j);
    total += away * away;
  }
  return sum(total);
}

// sums += w (x - shift)
template <class T> void add_about(double w, const T *x, const double *shift, Index columns, double *sums) {
  Index j = 0;
  for (; j + width <= columns; j += width)
    store(sums + j, load(sums + j) + w * (load(x + j) - load(shift + j)));
  if (j < columns) {
    const Index left = columns - j;
    const Vector away = load_part(x + j, left) - load_part(shift + j, left);
    store_part(sums + j, load_part(sums + j, left) + w * away, left);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
