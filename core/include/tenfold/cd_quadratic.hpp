// Coordinate descent on the quadratic model of a smooth loss, along compressed columns.
//
// Given columns of X (n x p) in compressed form, curvatures c (n), the gradient g (p) and slope s of the smooth part at
// weights w (p), l1, l2 and the columns that may move, minimises over d (p) and b
//   g.d + s b + 1/2 sum_i c_i (x_i.d + b)^2 + l2 / 2 |d|^2 + l1 |w + d|_1            (b = 0 without intercept)
// from zero, one coordinate after the other (Friedman, Hastie and Tibshirani 2010), and returns d, b and x_i.d + b. It
// ends with the first sweep that gains less than `enough` of what the first one gained.
// Flops: 4 an entry of the columns and sweep.
#pragma once

#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

template <class I> struct ColumnModel {
  std::span<const double> data; // column j holds data[k] in row indices[k] for indptr[j] <= k < indptr[j + 1]
  std::span<const I> indices;
  std::span<const std::int64_t> indptr;
  std::span<const double> curvature; // (n)
  std::span<const double> gradient;  // (p)
  std::span<const double> weights;   // (p)
  std::span<const std::int64_t> moving;
  double slope, l1, l2;
  bool intercept;
};

struct ColumnStep {
  double intercept = 0.0;
  Index sweeps = 0;
};

// d (p) and move (n) hold zeros at the start.
template <class I>
ColumnStep descend_columns(const ColumnModel<I> &in, double enough, Index most, std::span<double> d,
                           std::span<double> move) {
  const double *x = in.data.data(), *c = in.curvature.data();
  const I *row = in.indices.data();
  double *z = move.data();
  double total = 0.0;
  for (const double value : in.curvature)
    total += value;
  std::vector<double> square(in.moving.size());
  for (std::size_t m = 0; m < in.moving.size(); ++m) {
    const auto j = static_cast<std::size_t>(in.moving[m]);
    double sum = in.l2;
    for (std::int64_t k = in.indptr[j]; k < in.indptr[j + 1]; ++k)
      sum += c[row[k]] * x[k] * x[k];
    square[m] = sum;
  }
  ColumnStep step;
  double first = 0.0;
  for (; step.sweeps < most; ++step.sweeps) {
    poll();
    double gained = 0.0;
    if (in.intercept && total > 0.0) {
      double pull = in.slope;
      for (std::size_t i = 0; i < move.size(); ++i)
        pull += c[i] * z[i];
      const double change = -pull / total;
      step.intercept += change;
      for (double &value : move)
        value += change;
      gained += change * change * total;
    }
    for (std::size_t m = 0; m < in.moving.size(); ++m) {
      const auto j = static_cast<std::size_t>(in.moving[m]);
      const std::int64_t begin = in.indptr[j], end = in.indptr[j + 1];
      if (!(square[m] > 0.0))
        continue;
      double pull = in.gradient[j] + in.l2 * d[j];
      for (std::int64_t k = begin; k < end; ++k)
        pull += c[row[k]] * x[k] * z[row[k]];
      const double here = in.weights[j] + d[j], wanted = here - pull / square[m], threshold = in.l1 / square[m];
      const double there = std::copysign(std::max(std::abs(wanted) - threshold, 0.0), wanted), change = there - here;
      if (change == 0.0)
        continue;
      d[j] += change;
      for (std::int64_t k = begin; k < end; ++k)
        z[row[k]] += change * x[k];
      gained += change * change * square[m];
    }
    first = step.sweeps == 0 ? gained : first;
    if (!(gained > enough * first))
      break;
  }
  return step;
}

} // namespace tenfold
