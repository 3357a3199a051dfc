// The sums of one pass for Huber's loss with its scale: see stats/huber_scale.py, which has the formulas.
//
// Given dense X (n x p), y, weights (or none), z = (x - shift).w + b, r = y - z, a = r / sigma and u = 2 a between
// -2 epsilon and 2 epsilon, returns the sums of weight times 1, u, u^2, u r and r, those of weight u (x - shift) and of
// weight (x - shift), and at order 2, over the inliers |a| < epsilon, those of weight a (x - shift), weight a and
// weight a^2, and sum weight c [x - shift, 1] [x - shift, 1]' with c one for inliers, and beyond epsilon / |a| for
// others. Flops: 8 n p, and n (p + 1)^2 at order 2. Sums over samples are taken in order, whatever the threads.
#pragma once

#include "tenfold/loss_derivatives.hpp"
#include "tenfold/matvec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

struct HuberPoint {
  std::span<const double> coef, intercept, shift; // (p), (1), (p)
  double sigma, epsilon, beyond;
};

struct HuberSums {
  std::array<double, 7> sums{};  // of 1, u, u^2, u r, r; over inliers of a and a^2
  std::vector<double> gradients; // (3, p): with u, with one, with a over inliers
  std::vector<double> outer;     // (p + 1, p + 1), or empty
};

template <class T>
HuberSums huber_sums(const Dense<T> &x, std::span<const double> y, std::span<const double> weight, const HuberPoint &at,
                     int order, int threads) {
  const auto n = static_cast<std::size_t>(x.rows);
  std::vector<double> z(n), weights(3 * n), curvature(order == 2 ? n : 0);
  matvec(x, at.coef, at.intercept, at.shift, threads, std::span<double>(z));
  HuberSums out;
  for (std::size_t i = 0; i < n; ++i) {
    const double w = weight.empty() ? 1.0 : weight[i], r = y[i] - z[i], a = r / at.sigma, size = std::fabs(a);
    const bool inside = size < at.epsilon;
    const double u = inside ? 2.0 * a : a > 0.0 ? 2.0 * at.epsilon : a < 0.0 ? -2.0 * at.epsilon : a;
    const double own = inside ? w * a : 0.0;
    const std::array<double, 7> parts = {w, w * u, w * u * u, w * u * r, w * r, own, own * a};
    for (std::size_t k = 0; k < parts.size(); ++k)
      out.sums[k] += parts[k];
    weights[3 * i] = w * u, weights[3 * i + 1] = w, weights[3 * i + 2] = own;
    if (order == 2)
      curvature[i] = inside ? w : w * at.beyond * at.epsilon / size;
  }
  out.gradients = matvec_t(x, weights, 3, at.shift, threads);
  if (order == 2 && std::all_of(out.sums.begin(), out.sums.end(), [](double each) { return std::isfinite(each); })) {
    const std::vector<double> zeros(std::max(n, static_cast<std::size_t>(x.columns) + 1));
    const std::span<const double> none(zeros);
    out.outer =
        derivatives(Point<Dense<T>>{x, none.first(n), curvature, none.first(static_cast<std::size_t>(x.columns)),
                                    none.first(1), at.shift, Loss::square, 0.0},
                    2, threads)
            .hessian;
  }
  return out;
}

} // namespace tenfold
