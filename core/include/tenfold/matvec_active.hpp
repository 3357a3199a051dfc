// Linear predictor with sparse coefficients: of dense X only the active columns are read.
//
// Given coef (t x p), shift (p, or empty) and intercept (t): z_ik = sum_j (x_ij - shift_j) coef_kj + intercept_k over
// the columns j with a nonzero coefficient of any target. Flops: 3 n q t for q active columns; bytes: one cache line
// for each of n q entries.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

class ActiveColumns {
public:
  ActiveColumns(std::span<const double> coef, Index targets, std::span<const double> shift) : targets_(targets) {
    const Index p = targets > 0 ? static_cast<Index>(coef.size()) / targets : 0;
    for (Index j = 0; j < p; ++j) {
      bool nonzero = false;
      for (Index k = 0; k < targets; ++k)
        nonzero |= coef[static_cast<std::size_t>(k * p + j)] != 0.0;
      if (!nonzero)
        continue;
      columns_.push_back(j);
      shift_.push_back(shift.empty() ? 0.0 : shift[static_cast<std::size_t>(j)]);
      for (Index k = 0; k < targets; ++k)
        coef_.push_back(coef[static_cast<std::size_t>(k * p + j)]);
    }
    is_worthwhile_ = static_cast<Index>(columns_.size()) * inverse_density <= p;
  }

  // Whether the active columns are few enough that gathering them beats a full pass.
  bool is_worthwhile() const { return is_worthwhile_; }

  // Margins of rows [begin, begin + count); those of target k go to z + k * step.
  template <class T>
  void matvec(const Dense<T> &x, Index begin, Index count, const double *intercept, double *z, Index step) const {
    for (Index i = 0; i < count; ++i) {
      const T *row = x.data + (begin + i) * x.columns;
      for (Index k = 0; k < targets_; ++k)
        z[k * step + i] = intercept[k];
      const double *coef = coef_.data();
      for (std::size_t c = 0; c < columns_.size(); ++c, coef += targets_) {
        const double centred = static_cast<double>(row[columns_[c]]) - shift_[c];
        for (Index k = 0; k < targets_; ++k)
          z[k * step + i] += centred * coef[k];
      }
    }
  }

private:
  static constexpr Index inverse_density =
      16; // gathering pays up to 1 in 16 active columns: a cache line holds 8 or 16 entries

  Index targets_;
  bool is_worthwhile_ = false;
  std::vector<Index> columns_;
  std::vector<double> shift_, coef_;
};

} // namespace tenfold
