// Loops of the Gaussian-mixture E-step over a chunk of transposed rows: column j of row i is x[j * step + i], and
// `count` rows are a multiple of `chunk_group`. Sums over rows stay in SIMD lanes until the end of the chunk.
#pragma once

#include "functions.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index deep = registers == 32 ? 4 : 2; // register block: SIMD vectors of rows
constexpr Index few = 4;                        // and columns of a factor
constexpr Index right_few = registers == 32 ? 4 : 2;

// out[j * step + i] = x[i * columns + j]
template <class T> void transpose_rows(const T *x, Index rows, Index columns, Index step, double *out) {
  Index i = 0;
  for (; i + width <= rows; i += width)
    for (Index j = 0; j < columns; ++j) {
      const T *from = x + i * columns + j;
      Vector v;
#pragma GCC unroll 8
      for (Index r = 0; r < width; ++r)
        v[r] = static_cast<double>(from[r * columns]);
      store(out + j * step + i, v);
    }
  for (; i < rows; ++i)
    for (Index j = 0; j < columns; ++j)
      out[j * step + i] = static_cast<double>(x[i * columns + j]);
}

// y = (x - centre) B for the rows of one group, B an upper triangle in blocks of `few` columns, each with the rows down
// to the diagonal, entry (l, first + j) at factor[l * few + j]. take(j, v, y) receives column j of vector v.
template <class Take>
inline void whiten_group(const double *x, Index step, Index columns, const double *centre, const double *factor,
                         double *scratch, Take &&take) {
  for (Index l = 0; l < columns; ++l) {
    const Vector c = all(centre[l]);
#pragma GCC unroll 4
    for (Index v = 0; v < deep; ++v)
      store(scratch + (l * deep + v) * width, load(x + l * step + v * width) - c);
  }
  for (Index first = 0; first < columns; first += few) {
    const Index inner = smaller(columns, first + few);
    Vector sums[few][deep] = {};
    for (Index l = 0; l < inner; ++l) {
      Vector d[deep];
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v)
        d[v] = load(scratch + (l * deep + v) * width);
#pragma GCC unroll 4
      for (Index j = 0; j < few; ++j) {
        const Vector b = all(factor[l * few + j]);
#pragma GCC unroll 4
        for (Index v = 0; v < deep; ++v)
          sums[j][v] += b * d[v];
      }
    }
    factor += (first + few) * few;
#pragma GCC unroll 4
    for (Index j = 0; j < few; ++j)
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v)
        take(first + j, v, sums[j][v]);
  }
}

// q_i = ||(x_i - centre) B||^2
void whitened_sq_norms(const double *x, Index step, Index count, Index columns, const double *centre,
                       const double *factor, double *scratch, double *q) {
  for (Index i = 0; i < count; i += deep * width) {
    Vector lengths[deep] = {};
    whiten_group(x + i, step, columns, centre, factor, scratch, [&](Index, Index v, Vector y) { lengths[v] += y * y; });
    for (Index v = 0; v < deep; ++v)
      store(q + i + v * width, lengths[v]);
  }
}

// y_ij = ((x_i - centre) B)_j, laid out like x.
void whiten(const double *x, Index step, Index count, Index columns, const double *centre, const double *factor,
            double *scratch, double *y) {
  for (Index i = 0; i < count; i += deep * width)
    whiten_group(x + i, step, columns, centre, factor, scratch, [&](Index j, Index v, Vector result) {
      if (j < columns)
        store(y + j * step + i + v * width, result);
    });
}

// q_i = sum_j (scale_j (x_ij - centre_j))^2
void scaled_sq_norms(const double *x, Index step, Index count, Index columns, const double *centre, const double *scale,
                     double *q) {
  for (Index i = 0; i < count; i += deep * width) {
    Vector lengths[deep] = {};
    for (Index j = 0; j < columns; ++j) {
      const Vector c = all(centre[j]), s = all(scale[j]);
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v) {
        const Vector y = (load(x + j * step + i + v * width) - c) * s;
        lengths[v] += y * y;
      }
    }
#pragma GCC unroll 4
    for (Index v = 0; v < deep; ++v)
      store(q + i + v * width, lengths[v]);
  }
}

// From squared distances q_ik = q[k * step + i] and log p_i = log sum_k exp(offset_k - q_ik / 2): replaces q_ik by the
// responsibility weight_i exp(offset_k - q_ik / 2) / p_i. Returns sum weight log p; a row of weight zero adds zero
// whatever q.
double responsibilities(double *q, Index step, Index count, Index components, const double *offset,
                        const double *weight, double *log_density) {
  Vector total{};
  for (Index i = 0; i < count; i += width) {
    const Vector w = load(weight + i);
    Vector largest = all(offset[0]) - 0.5 * load(q + i);
    for (Index k = 1; k < components; ++k) {
      const Vector z = all(offset[k]) - 0.5 * load(q + k * step + i);
      largest = z > largest ? z : largest;
    }
    Vector all_parts{};
    for (Index k = 0; k < components; ++k) {
      const Vector e = exponential((all(offset[k]) - 0.5 * load(q + k * step + i)) - largest);
      all_parts += e;
      store(q + k * step + i, e);
    }
    const Vector density = largest + logarithm(all_parts), share = (w > 0.0 ? w : Vector{}) / all_parts;
    store(log_density + i, density);
    total += w > 0.0 ? w * density : Vector{};
    for (Index k = 0; k < components; ++k)
      store(q + k * step + i, load(q + k * step + i) * share);
  }
  return sum(total);
}

inline double sum_of(const double *r, Index count) {
  Vector total{};
  for (Index i = 0; i < count; i += width)
    total += load(r + i);
  return sum(total);
}

template <bool both>
inline void add_column(const double *x, Index count, double centre, const double *r, double *first, double *second) {
  const Vector c = all(centre);
  Vector sums[2] = {}, squares[2] = {};
  for (Index i = 0; i < count; i += 2 * width)
#pragma GCC unroll 2
    for (Index v = 0; v < 2; ++v) {
      const Vector d = load(x + i + v * width) - c, u = load(r + i + v * width) * d;
      sums[v] += u;
      if constexpr (both)
        squares[v] += u * d;
    }
  *first += sum(sums[0] + sums[1]);
  if constexpr (both)
    *second += sum(squares[0] + squares[1]);
}

// sums_j += sum_i r_i (x_ij - centre_j), and squares_j += sum_i r_i (x_ij - centre_j)^2 unless null; returns sum_i r_i.
double column_moments(const double *x, Index step, Index count, Index columns, const double *centre, const double *r,
                      double *sums, double *squares) {
  for (Index j = 0; j < columns; ++j)
    if (squares != nullptr)
      add_column<true>(x + j * step, count, centre[j], r, sums + j, squares + j);
    else
      add_column<false>(x + j * step, count, centre[j], r, sums + j, nullptr);
  return sum_of(r, count);
}

// outer_ab += sum_i r_i (x_ia - centre_a)(x_ib - centre_b) for a <= b, (columns, columns), and
// sums_a += sum_i r_i (x_ia - centre_a); returns sum_i r_i. Scratch: (padded columns)^2 SIMD vectors, zero before and
// after, and 2 * 128 * padded columns for a tile.
double outer_products(const double *x, Index step, Index count, Index columns, const double *centre, const double *r,
                      double *in_lanes, double *tile, double *sums, double *outer) {
  constexpr Index rows = 128;
  const Index padded = (columns + few - 1) / few * few;
  double *d = tile, *u = tile + padded * rows;
  for (Index begin = 0; begin < count; begin += rows) {
    const Index used = smaller(rows, count - begin);
    for (Index j = 0; j < columns; ++j) {
      const Vector c = all(centre[j]);
      Vector total{};
      for (Index i = 0; i < used; i += width) {
        const Vector away = load(x + j * step + begin + i) - c, part = away * load(r + begin + i);
        store(d + j * rows + i, away);
        store(u + j * rows + i, part);
        total += part;
      }
      sums[j] += sum(total);
    }
    for (Index b = 0; b < padded; b += right_few)
      for (Index a = 0; a < b + right_few; a += few) {
        Vector products[few][right_few];
#pragma GCC unroll 4
        for (Index s = 0; s < few; ++s)
#pragma GCC unroll 4
          for (Index t = 0; t < right_few; ++t)
            products[s][t] = load(in_lanes + ((a + s) * padded + b + t) * width);
        for (Index i = 0; i < used; i += width) {
          Vector right[right_few];
#pragma GCC unroll 4
          for (Index t = 0; t < right_few; ++t)
            right[t] = load(d + (b + t) * rows + i);
#pragma GCC unroll 4
          for (Index s = 0; s < few; ++s) {
            const Vector left = load(u + (a + s) * rows + i);
#pragma GCC unroll 4
            for (Index t = 0; t < right_few; ++t)
              products[s][t] += left * right[t];
          }
        }
#pragma GCC unroll 4
        for (Index s = 0; s < few; ++s)
#pragma GCC unroll 4
          for (Index t = 0; t < right_few; ++t)
            store(in_lanes + ((a + s) * padded + b + t) * width, products[s][t]);
      }
  }
  for (Index a = 0; a < padded; ++a)
    for (Index b = a / few * few; b < padded; ++b) {
      double *lane = in_lanes + (a * padded + b) * width;
      if (a <= b && b < columns)
        outer[a * columns + b] += sum(load(lane));
      store(lane, Vector{});
    }
  return sum_of(r, count);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
