// Coordinate descent on CSC columns, along a path of penalties.
//
// Given columns x~_j of X (n x q) in CSC form, scaled by the square roots of the sample weights, which sum to one, and
// their means m (zeros without an intercept), minimises F of cd.hpp for the centred columns x_j = x~_j - m_j root.
// These are never formed: R holds the residuals up to offset * root, where the offset accumulates the means of the
// changed columns, and since root.r = 0 for centred columns and targets,
//   x_j.r = x~_j.R + m_j offset      and      |r|^2 = |R|^2 - offset^2.
// A step costs the nonzeros of a column instead of a row of the Gram matrix.
// Flops: 4 per nonzero of a column whose weight changes, 2 otherwise.
#pragma once

#include "tenfold/cd_columns.hpp"

namespace tenfold {

template <class I> struct CscColumns {
  std::span<const double> data; // column j holds data[k] in row indices[k] for indptr[j] <= k < indptr[j + 1]
  std::span<const I> indices;   // in increasing order
  std::span<const std::int64_t> indptr;
  std::span<const double> means; // (q)
};

// The storage of cd.hpp.
template <class I> class CscStorage {
public:
  // targets (t x n), centred and scaled like the columns.
  CscStorage(const CscColumns<I> &columns, std::span<const double> targets, Index count)
      : in_(columns), targets_(targets), t_(count), n_(static_cast<Index>(targets.size()) / count),
        residuals_(targets.begin(), targets.end()), offset_(at(count)), square_(columns.means.size()) {
    for (Index j = 0; j < this->columns(); ++j) {
      double sum = 0.0;
      for (std::int64_t k = in_.indptr[at(j)]; k < in_.indptr[at(j + 1)]; ++k)
        sum += in_.data[at(k)] * in_.data[at(k)];
      const double raw = in_.means[at(j)] * in_.means[at(j)];
      const double noise = 16.0 * std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(n_));
      square_[at(j)] = sum - raw > noise * raw ? sum - raw : 0.0; // a constant column has zero norm
    }
  }

  Index columns() const { return static_cast<Index>(in_.means.size()); }
  Index targets() const { return t_; }
  std::span<const double> target_values() const { return targets_; }
  double square(Index j) const { return square_[at(j)]; }

  void correlation(Index j, double *out) const {
    const double *x = in_.data.data();
    const I *row = in_.indices.data();
    const std::int64_t begin = in_.indptr[at(j)], end = in_.indptr[at(j + 1)];
    for (Index target = 0; target < t_; ++target) {
      const double *r = residuals_.data() + target * n_;
      double even = 0.0, odd = 0.0; // two independent chains of additions
      std::int64_t k = begin;
      for (; k + 2 <= end; k += 2) {
        even += x[k] * r[row[k]];
        odd += x[k + 1] * r[row[k + 1]];
      }
      if (k < end)
        even += x[k] * r[row[k]];
      out[target] = even + odd + in_.means[at(j)] * offset_[at(target)];
    }
  }

  void update(Index j, const double *change) {
    for (Index target = 0; target < t_; ++target)
      if (change[target] != 0.0)
        add(j, change[target], target);
  }

  void reset(std::span<const double> weights) {
    std::copy(targets_.begin(), targets_.end(), residuals_.begin());
    std::fill(offset_.begin(), offset_.end(), 0.0);
    for (Index target = 0; target < t_; ++target)
      for (Index j = 0; j < columns(); ++j)
        if (const double w = weights[at(target * columns() + j)]; w != 0.0)
          add(j, w, target);
  }

  double squares(std::span<const double>) const {
    double sum = 0.0;
    for (Index target = 0; target < t_; ++target) {
      double own[4] = {};
      const double *r = residuals_.data() + target * n_;
      Index i = 0;
      for (; i + 4 <= n_; i += 4)
        for (Index lane = 0; lane < 4; ++lane)
          own[lane] += r[i + lane] * r[i + lane];
      for (; i < n_; ++i)
        own[0] += r[i] * r[i];
      sum += (own[0] + own[1]) + (own[2] + own[3]) - offset_[at(target)] * offset_[at(target)];
    }
    return std::max(sum, 0.0);
  }

  double gram_entry(Index i, Index j) const {
    const I *row = in_.indices.data();
    std::int64_t a = in_.indptr[at(i)], b = in_.indptr[at(j)];
    const std::int64_t a_end = in_.indptr[at(i + 1)], b_end = in_.indptr[at(j + 1)];
    double sum = -in_.means[at(i)] * in_.means[at(j)];
    while (a < a_end && b < b_end) {
      if (row[a] == row[b])
        sum += in_.data[at(a)] * in_.data[at(b)];
      const bool next_a = row[a] <= row[b], next_b = row[b] <= row[a];
      a += next_a, b += next_b;
    }
    return sum;
  }

  double correlation_work(Index j) const { return gather_cost * static_cast<double>(entries(j)); }
  double update_work(Index j) const { return gather_cost * static_cast<double>(entries(j)); }
  double gram_entry_work() const {
    return 2.0 * gather_cost * static_cast<double>(in_.data.size()) / std::max(1.0, static_cast<double>(columns()));
  }

private:
  static constexpr double gather_cost = 8.0; // cost of a gathered entry, in operations on contiguous vectors

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::int64_t entries(Index j) const { return in_.indptr[at(j + 1)] - in_.indptr[at(j)]; }

  void add(Index j, double change, Index target) {
    const double *x = in_.data.data();
    const I *row = in_.indices.data();
    double *r = residuals_.data() + target * n_;
    const std::int64_t end = in_.indptr[at(j + 1)];
    for (std::int64_t k = in_.indptr[at(j)]; k < end; ++k)
      r[row[k]] -= change * x[k];
    offset_[at(target)] += change * in_.means[at(j)];
  }

  const CscColumns<I> in_;
  std::span<const double> targets_;
  Index t_, n_;
  std::vector<double> residuals_, offset_, square_;
};

} // namespace tenfold
