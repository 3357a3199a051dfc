// The exact step among weights that are not zero: where the objective of descent.hpp would be least if none of them
// changed its sign (one target), or Newton's step (several).
//
// With A the columns whose weights are not zero, solves  (S_AA + D) d = q_A - l2 u^2 w_A - l1 u w_A / |w_A|  for the
// products S of the columns and their pulls q; D has the curvature of the penalties. A diagonal that is larger by a few
// units of rounding keeps columns that depend on each other from stopping it. Flops: (targets * columns)^3 / 3.
#pragma once

#include "tenfold/blas.hpp"
#include "tenfold/elastic_net.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

class SupportStep {
public:
  explicit SupportStep(const Blas &blas) : blas_(blas) {}

  std::span<const Index> support() const { return support_; }

  // Finds the columns of the support; returns how many unknowns they have.
  template <class Storage> Index gather(const Storage &storage, std::span<const double> weights) {
    const Index p = storage.columns(), t = storage.targets();
    support_.clear();
    for (Index j = 0; j < p; ++j)
      for (Index k = 0; k < t; ++k)
        if (weights[at(k * p + j)] != 0.0) {
          support_.push_back(j);
          break;
        }
    return t * static_cast<Index>(support_.size());
  }

  // The step of the support that was gathered, as weights (targets x columns); false where it cannot be found.
  template <class Storage>
  bool find(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
            std::span<const double> weights, std::span<double> step) {
    const Index p = storage.columns(), t = storage.targets(), q = static_cast<Index>(support_.size()), size = t * q;
    matrix_.assign(at(size * size), 0.0);
    side_.resize(at(size));
    pull_.resize(at(t));
    for (Index a = 0; a < q; ++a) {
      const Index j = support_[at(a)];
      for (Index b = 0; b <= a; ++b) {
        const double product = storage.product(j, support_[at(b)]);
        for (Index k = 0; k < t; ++k)
          matrix_[at((a * t + k) * size + b * t + k)] = product;
      }
      add_penalty(storage, penalty, unit[at(j)], weights.data() + j, p, a);
    }
    for (Index i = 0; i < size; ++i)
      matrix_[at(i * size + i)] *= 1.0 + lift;
    if (!solve(size))
      return false;
    std::fill(step.begin(), step.end(), 0.0);
    for (Index a = 0; a < q; ++a)
      for (Index k = 0; k < t; ++k)
        step[at(k * p + support_[at(a)])] = side_[at(a * t + k)];
    return true;
  }

private:
  static constexpr double lift = 1e-13;

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // The right side and the curvature of the penalties of the column with number a in the support.
  template <class Storage>
  void add_penalty(const Storage &storage, const ElasticNet &penalty, double unit, const double *weight,
                   Index weight_step, Index a) {
    const Index t = storage.targets(), size = t * static_cast<Index>(support_.size());
    double squares = 0.0;
    for (Index k = 0; k < t; ++k)
      squares += weight[k * weight_step] * weight[k * weight_step];
    const double length = std::sqrt(squares), ridge = penalty.l2 * unit * unit, turn = penalty.l1 * unit / length;
    storage.pull(support_[at(a)], pull_.data());
    for (Index k = 0; k < t; ++k) {
      const double w = weight[k * weight_step];
      side_[at(a * t + k)] = pull_[at(k)] - (ridge + turn) * w;
      double *row = matrix_.data() + (a * t + k) * size + a * t;
      row[k] += ridge;
      for (Index i = 0; t > 1 && i <= k; ++i)
        row[i] += turn * ((i == k ? 1.0 : 0.0) - w / length * (weight[i * weight_step] / length));
    }
  }

  // The lower triangle in C order is the upper one column by column.
  bool solve(Index size) {
    char upper = 'U';
    int n = static_cast<int>(size), one = 1, info = 0;
    blas_.dpotrf(&upper, &n, matrix_.data(), &n, &info);
    if (info == 0)
      blas_.dpotrs(&upper, &n, &one, matrix_.data(), &n, side_.data(), &n, &info);
    for (const double value : side_)
      if (!std::isfinite(value))
        return false;
    return info == 0;
  }

  const Blas &blas_;
  std::vector<Index> support_;
  std::vector<double> matrix_, side_, pull_;
};

} // namespace tenfold
