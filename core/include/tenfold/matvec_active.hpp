// Margins where most coefficients are zero: of dense rows only the columns that count are read.
//
// Given coef (t x p), shift (p, or none) and intercept (t): z_ik = sum_j (x_ij - shift_j) coef_kj + intercept_k over
// the columns j with a coefficient of any target. Flops: 3 n q t for q such columns; bytes: a cache line for each of n
// q.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

class FewColumns {
public:
  FewColumns(std::span<const double> coef, Index targets, std::span<const double> shift) : targets_(targets) {
    const Index p = targets > 0 ? static_cast<Index>(coef.size()) / targets : 0;
    for (Index j = 0; j < p; ++j) {
      bool counts = false;
      for (Index k = 0; k < targets; ++k)
        counts |= coef[static_cast<std::size_t>(k * p + j)] != 0.0;
      if (!counts)
        continue;
      columns_.push_back(j);
      shift_.push_back(shift.empty() ? 0.0 : shift[static_cast<std::size_t>(j)]);
      for (Index k = 0; k < targets; ++k)
        coef_.push_back(coef[static_cast<std::size_t>(k * p + j)]);
    }
    worth_ = static_cast<Index>(columns_.size()) * one_in <= p;
  }

  // Whether they are so few that reading them costs next to nothing.
  bool worth() const { return worth_; }

  // z of target k goes to z + k * step.
  template <class T>
  void margins(const Dense<T> &x, Index begin, Index count, const double *intercept, double *z, Index step) const {
    for (Index i = 0; i < count; ++i) {
      const T *row = x.data + (begin + i) * x.columns;
      for (Index k = 0; k < targets_; ++k)
        z[k * step + i] = intercept[k];
      const double *coef = coef_.data();
      for (std::size_t c = 0; c < columns_.size(); ++c, coef += targets_) {
        const double away = static_cast<double>(row[columns_[c]]) - shift_[c];
        for (Index k = 0; k < targets_; ++k)
          z[k * step + i] += away * coef[k];
      }
    }
  }

private:
  static constexpr Index one_in = 16;

  Index targets_;
  bool worth_ = false;
  std::vector<Index> columns_;
  std::vector<double> shift_, coef_;
};

} // namespace tenfold
