// One step of SMACOF (de Leeuw 1977), the Guttman transform of points x (n x k) for dissimilarities delta (n x n):
//   x'_i = (1/n) sum_j (delta_ij / d_ij) (x_i - x_j),   d_ij = |x_i - x_j|; coincident points add nothing.
// With it the raw stress of x, sum over pairs (d_ij - delta_ij)^2, and sum over pairs d_ij^2. Rows are summed alone and
// then in their order, so that bits do not depend on threads. Flops: n^2 (3 k + 10), and n^2 roots.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

struct StressSums {
  double stress = 0.0, squares = 0.0;
};

class SmacofStep {
public:
  // columns: x transposed, k x n, so that the loops over j are contiguous.
  SmacofStep(std::span<const double> delta, std::span<const double> columns, Index n, Index k)
      : delta_(delta), x_(columns), n_(n), k_(k) {}

  StressSums operator()(int threads, std::span<double> out) const {
    std::vector<StressSums> rows(static_cast<std::size_t>(n_));
    std::vector<std::vector<double>> work(static_cast<std::size_t>(threads));
    parallel(n_, threads, [&](Index i, int worker) {
      std::vector<double> &d = work[static_cast<std::size_t>(worker)];
      d.resize(static_cast<std::size_t>(n_));
      rows[static_cast<std::size_t>(i)] = row(i, d.data(), out);
    });
    StressSums total;
    for (const StressSums &one : rows)
      total.stress += 0.5 * one.stress, total.squares += 0.5 * one.squares;
    return total;
  }

private:
  StressSums row(Index i, double *d, std::span<double> out) const {
    std::fill(d, d + n_, 0.0);
    for (Index c = 0; c < k_; ++c) {
      const double *x = x_.data() + c * n_;
      const double own = x[i];
      for (Index j = 0; j < n_; ++j)
        d[j] += (own - x[j]) * (own - x[j]);
    }
    const double *delta = delta_.data() + i * n_;
    constexpr Index lanes = 4; // sums that do not wait for each other
    double stress[lanes] = {}, squares[lanes] = {};
    const auto add = [&](Index j, Index lane) {
      const double distance = std::sqrt(d[j]), left = distance - delta[j];
      stress[lane] += left * left;
      squares[lane] += d[j];
      d[j] = distance > 0.0 ? delta[j] / distance : 0.0;
    };
    Index j = 0;
    for (; j + lanes <= n_; j += lanes)
      for (Index lane = 0; lane < lanes; ++lane)
        add(j + lane, lane);
    for (; j < n_; ++j)
      add(j, 0);
    for (Index c = 0; c < k_; ++c) {
      const double *x = x_.data() + c * n_;
      const double own = x[i];
      double sum[lanes] = {};
      for (j = 0; j + lanes <= n_; j += lanes)
        for (Index lane = 0; lane < lanes; ++lane)
          sum[lane] += d[j + lane] * (own - x[j + lane]);
      for (; j < n_; ++j)
        sum[0] += d[j] * (own - x[j]);
      out[static_cast<std::size_t>(i * k_ + c)] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) / static_cast<double>(n_);
    }
    return {(stress[0] + stress[1]) + (stress[2] + stress[3]), (squares[0] + squares[1]) + (squares[2] + squares[3])};
  }

  std::span<const double> delta_, x_;
  Index n_, k_;
};

} // namespace tenfold
