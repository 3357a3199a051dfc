// What one row adds to the sums of its class, and how far it is from all classes.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// sums += w, where x exceeds the threshold. Returns zero, or NaN where some x is not finite.
template <class T> double add_above(double w, const T *x, double threshold, Index columns, double *sums) {
  const Vector limit = all(threshold), one = all(w);
  Vector strange{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector v = load(x + j);
    strange += 0.0 * v;
    store(sums + j, load(sums + j) + (v > limit ? one : Vector{}));
  }
  if (j < columns) {
    const Index left = columns - j;
    const Vector v = load_part(x + j, left);
    strange += 0.0 * v;
    store_part(sums + j, load_part(sums + j, left) + (v > limit ? one : Vector{}), left);
  }
  return sum(strange);
}

// sums += w (x - shift), squares += w (x - shift)^2
template <class T>
void add_squares(double w, const T *x, const double *shift, Index columns, double *sums, double *squares) {
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

// The least of x and `low`; NaN is passed over.
template <class T> double lowest(const T *x, Index count, double low) {
  Vector least = all(low);
  Index j = 0;
  for (; j + width <= count; j += width) {
    const Vector v = load(x + j);
    least = v < least ? v : least;
  }
  for (Index i = 0; i < width; ++i)
    low = least[i] < low ? least[i] : low;
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

// Rows about a place, d = x - place, to d (r x step, zeros behind the last column); sums += w d.
template <Index r, class T>
inline void about_place(const T *const *rows, const double *w, Index columns, const double *place, double *d,
                        Index step, double *sums) {
  const auto add = [&](Index j, auto read) {
    const Vector middle = read(place + j);
    Vector total = load(sums + j);
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i) {
      const Vector away = read(rows[i] + j) - middle;
      store(d + i * step + j, away);
      total += w[i] * away;
    }
    store(sums + j, total);
  };
  Index j = 0;
  for (; j + width <= columns; j += width)
    add(j, [](const auto *p) { return load(p); });
  if (j < columns)
    add(j, [left = columns - j](const auto *p) { return load_part(p, left); });
}

// products_k += sum_i w_i (d_i . v_k) d_i for t vectors v_k.
template <Index r, Index t>
inline void times_themselves(const double *d, const double *w, Index step, const double *vectors, double *products) {
  Vector sums[r][t] = {};
  for (Index j = 0; j < step; j += width)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k) {
      const Vector v = load(vectors + k * step + j);
#pragma GCC unroll 8
      for (Index i = 0; i < r; ++i)
        sums[i][k] += load(d + i * step + j) * v;
    }
  Vector z[r][t];
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      z[i][k] = all(w[i] * sum(sums[i][k]));
  for (Index j = 0; j < step; j += width)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k) {
      Vector total = load(products + k * step + j);
#pragma GCC unroll 8
      for (Index i = 0; i < r; ++i)
        total += z[i][k] * load(d + i * step + j);
      store(products + k * step + j, total);
    }
}

template <Index r, class T>
inline void class_rows(const T *const *rows, const double *w, Index columns, const double *place, const double *vectors,
                       Index count, Index step, double *d, double *sums, double *products) {
  constexpr Index t = registers == 32 ? 4 : 2;
  about_place<r>(rows, w, columns, place, d, step, sums);
  Index k = 0;
  for (; k + t <= count; k += t)
    times_themselves<r, t>(d, w, step, vectors + k * step, products + k * step);
  for (; k < count; ++k)
    times_themselves<r, 1>(d, w, step, vectors + k * step, products + k * step);
}

// Of some rows of one class, d = x - place: sums += w d, and products_k += w (d . v_k) d for `count` vectors v_k.
// Vectors, products and sums are `step` apart, a multiple of `lanes`, with zeros behind the last column; d is scratch
// for four rows of that length, zero at the start. Flops: 4 * rows * columns * count; bytes: the rows once.
template <class T>
void class_products(const T *const *rows, const double *w, Index some, Index columns, const double *place,
                    const double *vectors, Index count, Index step, double *d, double *sums, double *products) {
  if (some == 4)
    return class_rows<4>(rows, w, columns, place, vectors, count, step, d, sums, products);
  for (Index i = 0; i < some; ++i)
    class_rows<1>(rows + i, w + i, columns, place, vectors, count, step, d, sums, products);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
