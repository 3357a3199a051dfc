// Coordinate descent on a storage of columns that keeps residuals (cd_csc.hpp, cd_dense.hpp), along a path of
// penalties.
//
// Besides what cd.hpp asks of a storage, it gives its targets: target_values(), (t x n).
#pragma once

#include "tenfold/cd.hpp"

namespace tenfold {

// Solves for one penalty after the other; the caller has already restricted the columns to a working set.
template <class Storage> class CdColumns {
public:
  CdColumns(const Blas &blas, Storage storage, std::span<const double> start)
      : storage_(std::move(storage)), step_(blas), unit_(static_cast<std::size_t>(storage_.columns()), 1.0),
        weights_(start.begin(), start.end()) {
    for (const double y : storage_.target_values())
      total_ += y * y;
    storage_.reset(weights_);
  }

  std::span<const double> weights() const { return weights_; }

  CdResult run(const ElasticNet &penalty, double tol, Index max_sweeps, CoordinateOrder &order) {
    CoordinateDescent<Storage> descent(storage_, step_, unit_, weights_);
    const CdResult state = descent.run(penalty, tol, total_, max_sweeps, newton_first_, order);
    newton_first_ = state.newton_first;
    return state;
  }

private:
  Storage storage_;
  ActiveSetSolver step_;
  std::vector<double> unit_, weights_;
  double total_ = 0.0;
  bool newton_first_ = false; // of the last run: the next begins with a Newton step
};

} // namespace tenfold
