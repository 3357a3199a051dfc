// Coordinate descent on the quadratic model of a smooth loss (the inner loop of prox-Newton), on CSC columns.
//
// Given columns of X (n x p) in CSC form, curvatures c (n), the gradient g (p) and intercept slope s of the smooth part
// at weights w (p), l1, l2 and the working set, minimises over d (p) and b
//   g.d + s b + 1/2 sum_i c_i (x_i.d + b)^2 + l2 / 2 |d|^2 + l1 |w + d|_1            (b = 0 without intercept)
// from zero by cyclic coordinate descent (Friedman, Hastie and Tibshirani 2010), and returns d, b and x_i.d + b. It
// stops after the first sweep whose decrease is below `tol` times that of the first sweep. Flops: 4 per nonzero of the
// working set and sweep.
#pragma once

#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

template <class I> struct CscQuadraticModel {
  std::span<const double> data; // column j holds data[k] in row indices[k] for indptr[j] <= k < indptr[j + 1]
  std::span<const I> indices;
  std::span<const std::int64_t> indptr;
  std::span<const double> curvature; // (n)
  std::span<const double> gradient;  // (p)
  std::span<const double> weights;   // (p)
  std::span<const std::int64_t> working_set;
  double slope, l1, l2;
  bool intercept;
};

struct CdQuadraticResult {
  double intercept = 0.0;
  Index sweeps = 0;
};

// d (p) and move (n) must be zero at the start; move returns x_i.d + b.
template <class I>
CdQuadraticResult cd_quadratic(const CscQuadraticModel<I> &in, double tol, Index max_sweeps, std::span<double> d,
                               std::span<double> move) {
  const double *x = in.data.data(), *c = in.curvature.data();
  const I *row = in.indices.data();
  double *z = move.data();
  double total = 0.0;
  for (const double value : in.curvature)
    total += value;
  std::vector<double> square(in.working_set.size());
  for (std::size_t m = 0; m < in.working_set.size(); ++m) {
    const auto j = static_cast<std::size_t>(in.working_set[m]);
    double sum = in.l2;
    for (std::int64_t k = in.indptr[j]; k < in.indptr[j + 1]; ++k)
      sum += c[row[k]] * x[k] * x[k];
    square[m] = sum;
  }
  CdQuadraticResult step;
  double first = 0.0;
  for (; step.sweeps < max_sweeps; ++step.sweeps) {
    poll();
    double decrease = 0.0;
    if (in.intercept && total > 0.0) {
      double derivative = in.slope;
      for (std::size_t i = 0; i < move.size(); ++i)
        derivative += c[i] * z[i];
      const double change = -derivative / total;
      step.intercept += change;
      for (double &value : move)
        value += change;
      decrease += change * change * total;
    }
    for (std::size_t m = 0; m < in.working_set.size(); ++m) {
      const auto j = static_cast<std::size_t>(in.working_set[m]);
      const std::int64_t begin = in.indptr[j], end = in.indptr[j + 1];
      if (!(square[m] > 0.0))
        continue;
      double derivative = in.gradient[j] + in.l2 * d[j];
      for (std::int64_t k = begin; k < end; ++k)
        derivative += c[row[k]] * x[k] * z[row[k]];
      const double here = in.weights[j] + d[j], unpenalised = here - derivative / square[m],
                   threshold = in.l1 / square[m];
      const double there = std::copysign(std::max(std::abs(unpenalised) - threshold, 0.0), unpenalised),
                   change = there - here;
      if (change == 0.0)
        continue;
      d[j] += change;
      for (std::int64_t k = begin; k < end; ++k)
        z[row[k]] += change * x[k];
      decrease += change * change * square[m];
    }
    first = step.sweeps == 0 ? decrease : first;
    if (!(decrease > tol * first))
      break;
  }
  return step;
}

} // namespace tenfold
