// Class sums of one row, and scaled squared distances of rows from all classes.
#pragma once

#include "pack.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// sums += w [x > threshold]. Returns zero, or NaN where some x is not finite.
template <class T> double count_above(double w, const T *x, double threshold, Index columns, double *sums) {
  const Vector limit = all(threshold), one = all(w);
  Vector nonfinite{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector v = load(x + j);
    nonfinite += 0.0 * v;
    store(sums + j, load(sums + j) + (v > limit ? one : Vector{}));
  }
  if (j < columns) {
    const Index left = columns - j;
    const Vector v = load_part(x + j, left);
    nonfinite += 0.0 * v;
    store_part(sums + j, load_part(sums + j, left) + (v > limit ? one : Vector{}), left);
  }
  return sum(nonfinite);
}

// sums += w (x - shift), squares += w (x - shift)^2
template <class T>
void add_centred_moments(double w, const T *x, const double *shift, Index columns, double *sums, double *squares) {
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector away = load(x + j) - load(shift + j), part = w * away;
    store(sums + j, load(sums + j) + part);
    store(squares + j, load(squares + j) + part * away);
  }
  if (j < columns) {
    const Index left = columns - j;
    const Vector away = load_part(x + j, left) - load_part(shift + j, left), part = w * away;
    store_part(sums + j, load_part(sums + j, left) + part, left);
    store_part(squares + j, load_part(squares + j, left) + part * away, left);
  }
}

// For packed rows d (see pack.hpp), row i of class of[i]: sums_of += w_i d_i and, unless squares is null,
// squares_of += w_i d_i^2; class sums have leading dimension `step`, whole panels.
template <bool squared>
inline void add_class_rows_impl(const double *panels, Index stride, Index panel_count, Index count,
                                const std::int32_t *of, const double *weight, double *sums, double *squares,
                                Index step) {
  for (Index i = 0; i < count; ++i) {
    const Vector w = all(weight[i]);
    const double *row = panels + i * panel;
    double *first = sums + of[i] * step, *second = squares + (squared ? of[i] * step : 0);
    for (Index j = 0; j < panel_count; ++j)
#pragma GCC unroll 8
      for (Index v = 0; v < panel; v += width) {
        const Vector away = load(row + j * stride + v), part = w * away;
        const Index at = j * panel + v;
        store(first + at, load(first + at) + part);
        if constexpr (squared)
          store(second + at, load(second + at) + part * away);
      }
  }
}

void add_class_rows(const double *panels, Index stride, Index panel_count, Index count, const std::int32_t *of,
                    const double *weight, double *sums, double *squares, Index step) {
  if (squares == nullptr)
    add_class_rows_impl<false>(panels, stride, panel_count, count, of, weight, sums, squares, step);
  else
    add_class_rows_impl<true>(panels, stride, panel_count, count, of, weight, sums, squares, step);
}

// Minimum of x and `low`; NaN is skipped.
template <class T> double min_value(const T *x, Index count, double low) {
  Vector minimum = all(low);
  Index j = 0;
  for (; j + width <= count; j += width) {
    const Vector v = load(x + j);
    minimum = v < minimum ? v : minimum;
  }
  for (Index i = 0; i < width; ++i)
    low = minimum[i] < low ? minimum[i] : low;
  for (; j < count; ++j)
    low = static_cast<double>(x[j]) < low ? static_cast<double>(x[j]) : low;
  return low;
}

template <Index r, Index t, class T>
inline void distances(const T *x, Index columns, const double *centre, const double *scale, double *z, Index step) {
  Vector sums[r][t] = {};
  Index j = 0;
  const auto add = [&](auto read) {
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k) {
      const Vector c = read(centre + k * columns + j), s = read(scale + k * columns + j);
#pragma GCC unroll 8
      for (Index i = 0; i < r; ++i) {
        const Vector away = (read(x + i * columns + j) - c) * s;
        sums[i][k] += away * away;
      }
    }
  };
  for (; j + width <= columns; j += width)
    add([](const auto *p) { return load(p); });
  if (j < columns)
    add([left = columns - j](const auto *p) { return load_part(p, left); });
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      z[i * step + k] = sum(sums[i][k]);
}

template <Index t, class T>
inline void distances_of_rows(const T *x, Index count, Index columns, const double *centre, const double *scale,
                              double *z, Index step) {
  Index i = 0;
  for (; i + 4 <= count; i += 4)
    distances<4, t>(x + i * columns, columns, centre, scale, z + i * step, step);
  for (; i < count; ++i)
    distances<1, t>(x + i * columns, columns, centre, scale, z + i * step, step);
}

// z_ik = sum_j (scale_kj (x_ij - centre_kj))^2 for the rows i of a tile and the classes k.
// Flops: 4 * count * columns * classes; bytes: the tile once.
template <class T>
void scaled_distances(const T *x, Index count, Index columns, const double *centre, const double *scale, Index classes,
                      double *z) {
  constexpr Index t = registers == 32 ? 5 : 2;
  Index k = 0;
  const auto run = [&]<Index some>() {
    distances_of_rows<some>(x, count, columns, centre + k * columns, scale + k * columns, z + k, classes);
    k += some;
  };
  while (k + t <= classes)
    run.template operator()<t>();
  if constexpr (t > 2)
    while (k + 2 <= classes)
      run.template operator()<2>();
  if (k < classes)
    run.template operator()<1>();
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
