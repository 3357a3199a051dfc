// One row and one weight vector v, for online learners.
//   dot            sum_j x_j v_j
//   squared_norm   sum_j x_j^2
//   axpy_norms     v_j += c x_j; the sums are those of the new v
//   truncate_l1    the cumulative L1 penalty of Tsuruoka, Tsujii and Ananiadou (2009) on weights scale * v: the
//   accumulated
//                  penalty `due`, less what v_j has already paid, -q_j, shrinks |scale v_j| towards zero. For averaged
//                  iterates, `average` -= lag * (change of v). The sums are those of the new v.
// sums[0] = sum_j v_j^2, sums[1] = sum_j |v_j|.
// Flops: 2 a column for dot and squared_norm, 5 for axpy_norms. Bytes: x and v are in L1 after dot has read x.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class T> double dot(const T *x, const double *v, Index columns) {
  Vector sums[4] = {};
  Index j = 0;
  for (; j + 4 * width <= columns; j += 4 * width)
#pragma GCC unroll 4
    for (Index k = 0; k < 4; ++k)
      sums[k] += load(x + j + k * width) * load(v + j + k * width);
  for (; j + width <= columns; j += width)
    sums[0] += load(x + j) * load(v + j);
  if (j < columns)
    sums[3] += load_part(x + j, columns - j) * load_part(v + j, columns - j);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T> double squared_norm(const T *x, Index columns) {
  Vector total{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector v = load(x + j);
    total += v * v;
  }
  if (j < columns) {
    const Vector v = load_part(x + j, columns - j);
    total += v * v;
  }
  return sum(total);
}

template <class T> void axpy_norms(const T *x, Index columns, double c, double *v, double *sums) {
  Vector squares{}, l1{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector next = load(v + j) + c * load(x + j);
    store(v + j, next);
    squares += next * next;
    l1 += magnitude(next);
  }
  if (j < columns) {
    const Vector next = load_part(v + j, columns - j) + c * load_part(x + j, columns - j);
    store_part(v + j, next, columns - j);
    squares += next * next;
    l1 += magnitude(next);
  }
  sums[0] = sum(squares);
  sums[1] = sum(l1);
}

inline Vector soft_threshold(Vector v, Vector q, double scale, double due) {
  const Vector down = v - (due + q) / scale, up = v + (due - q) / scale;
  const Vector positive = down > 0.0 ? down : Vector{}, negative = up < 0.0 ? up : Vector{};
  return v > 0.0 ? positive : (v < 0.0 ? negative : v);
}

inline void truncate_l1(double *v, double *q, double *average, Index columns, double scale, double due, double lag,
                        double *sums) {
  Vector squares{}, l1{};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    const Vector before = load(v + j), paid = load(q + j), next = soft_threshold(before, paid, scale, due);
    store(v + j, next);
    store(q + j, paid + scale * (next - before));
    if (average != nullptr)
      store(average + j, load(average + j) - lag * (next - before));
    squares += next * next;
    l1 += magnitude(next);
  }
  if (j < columns) {
    const Index left = columns - j;
    const Vector before = load_part(v + j, left), paid = load_part(q + j, left);
    const Vector next = soft_threshold(before, paid, scale, due);
    store_part(v + j, next, left);
    store_part(q + j, paid + scale * (next - before), left);
    if (average != nullptr)
      store_part(average + j, load_part(average + j, left) - lag * (next - before), left);
    squares += next * next;
    l1 += magnitude(next);
  }
  sums[0] = sum(squares);
  sums[1] = sum(l1);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
