// Sums and products over the features of pairs, and moments of their differences; samples in panels, entry (c, j) at
// panels[(j / panel) * stride + c * panel + j % panel].
//
// pair_entries    out_ij for `count` queries, leading dimension q_step: by kind sum_c |x_c - q_c|, sum_c (x_c - q_c)^2,
//                 prod_c (1 + x_c q_c), or sum_c (x_c - q_c)^2 / (x_c + q_c), zero where both are zero; whole panels
// pair_moments    sums_c += sum_ij m_ij (x_jc - q_ic)^2 for a tile m of weights, whole panels, with zeros behind the
//                 last sample
// form_squares    v_j = squares_j + own - 2 v_j; whether some v_j is not at least `part` of squares_j + own
// transpose_tile  entry (i, j) of rows x columns to out[j * out_step + i]
// Flops: 3 (5 for chi2, 4 for moments) a feature and pair; the tile of m and a panel stay in the first-level cache.
#pragma once

#include "sgemm_tile.hpp"

#include <type_traits>

namespace tenfold::TENFOLD_ISA {
namespace {

struct AddDistance {
  static Vector start() { return Vector{}; }
  static Vector add(Vector sum, Vector x, Vector q) { return sum + magnitude(x - q); }
};
struct AddSquare {
  static Vector start() { return Vector{}; }
  static Vector add(Vector sum, Vector x, Vector q) { return sum + (x - q) * (x - q); }
};
struct MultiplyOnePlus {
  static Vector start() { return all(1.0); }
  static Vector add(Vector product, Vector x, Vector q) { return product + product * (x * q); }
};
struct AddChiSquare {
  static Vector start() { return Vector{}; }
  static Vector add(Vector sum, Vector x, Vector q) {
    const Vector size = x + q, away = x - q;
    return sum + (size == 0.0 ? Vector{} : away * away / (size == 0.0 ? all(1.0) : size));
  }
};

constexpr Index entry_rows = registers == 32 ? 8 : 4; // queries of one register block

template <class Term, Index rows>
inline void entry_block(const double *q, Index q_step, Index columns, const double *x, double *out, Index out_step) {
  Vector sums[rows];
#pragma GCC unroll 8
  for (Index i = 0; i < rows; ++i)
    sums[i] = Term::start();
  for (Index c = 0; c < columns; ++c) {
    const Vector value = load(x + c * panel);
#pragma GCC unroll 8
    for (Index i = 0; i < rows; ++i)
      sums[i] = Term::add(sums[i], value, all(q[i * q_step + c]));
  }
#pragma GCC unroll 8
  for (Index i = 0; i < rows; ++i)
    store(out + i * out_step, sums[i]);
}

template <class Term>
inline void entry_tile(const double *q, Index q_step, Index count, Index columns, const double *panels, Index stride,
                       Index panel_count, double *out, Index out_step) {
  for (Index p = 0; p < panel_count; ++p)
    for (Index v = 0; v < panel; v += width) {
      const double *x = panels + p * stride + v;
      double *to = out + p * panel + v;
      Index i = 0;
      for (; i + entry_rows <= count; i += entry_rows)
        entry_block<Term, entry_rows>(q + i * q_step, q_step, columns, x, to + i * out_step, out_step);
      for (; i < count; ++i)
        entry_block<Term, 1>(q + i * q_step, q_step, columns, x, to + i * out_step, out_step);
    }
}

void pair_entries(PairEntries kind, const double *q, Index q_step, Index count, Index columns, const double *panels,
                  Index stride, Index panel_count, double *out, Index out_step) {
  const auto run = [&]<class Term>() {
    entry_tile<Term>(q, q_step, count, columns, panels, stride, panel_count, out, out_step);
  };
  switch (kind) {
  case PairEntries::distances:
    return run.template operator()<AddDistance>();
  case PairEntries::squares:
    return run.template operator()<AddSquare>();
  case PairEntries::subsets:
    return run.template operator()<MultiplyOnePlus>();
  default:
    return run.template operator()<AddChiSquare>();
  }
}

void pair_moments(const double *m, Index m_step, const double *q, Index q_step, Index count, Index columns,
                  const double *panels, Index stride, Index panel_count, double *sums) {
  for (Index p = 0; p < panel_count; ++p)
    for (Index v = 0; v < panel; v += width) {
      const double *x = panels + p * stride + v, *weights = m + p * panel + v;
      for (Index c = 0; c < columns; ++c) {
        const Vector value = load(x + c * panel);
        Vector total[4] = {};
        Index i = 0;
        for (; i + 4 <= count; i += 4)
#pragma GCC unroll 4
          for (Index k = 0; k < 4; ++k) {
            const Vector away = value - all(q[(i + k) * q_step + c]);
            total[k] += load(weights + (i + k) * m_step) * (away * away);
          }
        for (; i < count; ++i) {
          const Vector away = value - all(q[i * q_step + c]);
          total[0] += load(weights + i * m_step) * (away * away);
        }
        sums[c] += sum((total[0] + total[1]) + (total[2] + total[3]));
      }
    }
}

// Swaps the off-diagonal blocks of `size` lanes of every square of twice that side, in float64.
template <Index size> inline void swap_blocks(Vector *square) {
  Integers first, second;
  for (Index l = 0; l < width; ++l) {
    first[l] = (l & size) == 0 ? l : width + l - size;
    second[l] = (l & size) == 0 ? l + size : width + l;
  }
#pragma GCC unroll 8
  for (Index i = 0; i < width; ++i)
    if ((i & size) == 0) {
      const Vector a = square[i], b = square[i + size];
      square[i] = __builtin_shuffle(a, b, first);
      square[i + size] = __builtin_shuffle(a, b, second);
    }
  if constexpr (size > 1)
    swap_blocks<size / 2>(square);
}

inline void transpose_square(const double *from, Index step, double *out, Index out_step) {
  Vector square[width];
#pragma GCC unroll 8
  for (Index k = 0; k < width; ++k)
    square[k] = load(from + k * step);
  swap_blocks<width / 2>(square);
#pragma GCC unroll 8
  for (Index k = 0; k < width; ++k)
    store(out + k * out_step, square[k]);
}
inline void transpose_square(const float *from, Index step, float *out, Index out_step) {
  Singles square[singles];
#pragma GCC unroll 16
  for (Index k = 0; k < singles; ++k)
    square[k] = load_singles(from + k * step);
  swap_blocks<singles / 2>(square);
#pragma GCC unroll 16
  for (Index k = 0; k < singles; ++k)
    *reinterpret_cast<UnalignedSingles *>(out + k * out_step) = square[k];
}

inline bool any_bit(Bits bits) {
  unsigned long long together = 0;
  for (Index i = 0; i < width; ++i)
    together |= bits[i];
  return together != 0;
}

template <class Lanes, class T> inline Lanes lanes_at(const T *p) {
  if constexpr (sizeof(T) == 4)
    return load_singles(p);
  else
    return load(p);
}

template <class T> bool form_squares(T *v, const T *squares, T own, Index count, T part) {
  using Lanes = std::conditional_t<sizeof(T) == 4, Singles, Vector>;
  constexpr Index side = static_cast<Index>(sizeof(Vector) / sizeof(T));
  Bits small{};
  Index j = 0;
  for (; j + side <= count; j += side) {
    const Lanes total = lanes_at<Lanes>(squares + j) + own, value = total - 2 * lanes_at<Lanes>(v + j);
    small |= reinterpret_cast<Bits>(!(value >= part * total)); // NaN, too
    if constexpr (sizeof(T) == 4)
      *reinterpret_cast<UnalignedSingles *>(v + j) = value;
    else
      store(v + j, value);
  }
  bool any = any_bit(small);
  for (; j < count; ++j) {
    const T total = squares[j] + own;
    v[j] = total - 2 * v[j];
    any |= !(v[j] >= part * total);
  }
  return any;
}

template <class T> void transpose_tile(const T *from, Index step, Index rows, Index columns, T *out, Index out_step) {
  constexpr Index side = static_cast<Index>(sizeof(Vector) / sizeof(T));
  const Index whole = rows / side * side;
  Index j = 0;
  for (; j + side <= columns; j += side) {
    for (Index i = 0; i < whole; i += side)
      transpose_square(from + i * step + j, step, out + j * out_step + i, out_step);
    for (Index k = j; k < j + side; ++k)
      for (Index i = whole; i < rows; ++i)
        out[k * out_step + i] = from[i * step + k];
  }
  for (; j < columns; ++j)
    for (Index i = 0; i < rows; ++i)
      out[j * out_step + i] = from[i * step + j];
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
