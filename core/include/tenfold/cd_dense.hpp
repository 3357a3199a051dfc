// Coordinate descent on dense columns, along a path of penalties.
//
// Given columns x_j of X, row by row (q x n), centred and scaled by the square roots of the sample weights, which sum
// to one, minimises F of cd.hpp. A step costs the samples instead of a row of the Gram matrix, which is never formed.
// Flops: 4 n for a column whose weight changes, 2 n otherwise.
#pragma once

#include "tenfold/cd_columns.hpp"
#include "tenfold/isa_kernels.hpp"

namespace tenfold {

// The storage of cd.hpp.
class DenseStorage {
public:
  // columns (q x n); targets (t x n), centred and scaled like the columns.
  DenseStorage(std::span<const double> columns, Index count, std::span<const double> targets, Index n)
      : columns_(columns), targets_(targets), q_(count), n_(n), t_(static_cast<Index>(targets.size()) / n),
        residuals_(targets.begin(), targets.end()), square_(at(count)) {
    for (Index j = 0; j < q_; ++j)
      square_[at(j)] = kernels().f64.dot(column(j), column(j), n_);
  }

  Index columns() const { return q_; }
  Index targets() const { return t_; }
  std::span<const double> target_values() const { return targets_; }
  double square(Index j) const { return square_[at(j)]; }
  double gram_entry(Index i, Index j) const { return kernels().f64.dot(column(i), column(j), n_); }
  double correlation_work(Index) const { return static_cast<double>(n_); }
  double update_work(Index) const { return static_cast<double>(n_); }
  double gram_entry_work() const { return static_cast<double>(n_); }

  void correlation(Index j, double *out) const {
    for (Index k = 0; k < t_; ++k)
      out[k] = kernels().f64.dot(column(j), residuals_.data() + k * n_, n_);
  }

  void update(Index j, const double *change) {
    for (Index k = 0; k < t_; ++k)
      if (change[k] != 0.0)
        kernels().f64.axpy(-change[k], column(j), n_, residuals_.data() + k * n_);
  }

  void reset(std::span<const double> weights) {
    std::copy(targets_.begin(), targets_.end(), residuals_.begin());
    for (Index k = 0; k < t_; ++k)
      for (Index j = 0; j < q_; ++j)
        if (const double w = weights[at(k * q_ + j)]; w != 0.0)
          kernels().f64.axpy(-w, column(j), n_, residuals_.data() + k * n_);
  }

  double squares(std::span<const double>) const {
    double sum = 0.0;
    for (Index k = 0; k < t_; ++k)
      sum += kernels().f64.dot(residuals_.data() + k * n_, residuals_.data() + k * n_, n_);
    return sum;
  }

private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  const double *column(Index j) const { return columns_.data() + j * n_; }

  std::span<const double> columns_, targets_;
  Index q_, n_, t_;
  std::vector<double> residuals_, square_;
};

} // namespace tenfold
