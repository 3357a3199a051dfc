// Coordinate descent along compressed columns, for many penalties one after the other.
//
// Given columns x~_j of X (n x q) in compressed form, weighted by the roots of the rows' weights, which add up to one,
// and their means m (zeros without an intercept), minimises F of descent.hpp for the columns x_j = x~_j - m_j root.
// These are never formed: R holds the residuals but for offset * root, which the means of the moved columns add up to,
// and since root.r = 0 for centred columns and targets,
//   x_j.r = x~_j.R + m_j offset      and      |r|^2 = |R|^2 - offset^2.
// Where columns have few entries a step costs these, and not the columns of a Gram matrix.
// Flops: 4 an entry of a column that moves, 2 of one that does not.
#pragma once

#include "tenfold/cd.hpp"

namespace tenfold {

template <class I> struct CompressedColumns {
  std::span<const double> data; // column j holds data[k] in row indices[k] for indptr[j] <= k < indptr[j + 1]
  std::span<const I> indices;   // in increasing order
  std::span<const std::int64_t> indptr;
  std::span<const double> means; // (q)
};

// The storage of descent.hpp.
template <class I> class CompressedStorage {
public:
  // targets (t x n), centred like the columns.
  CompressedStorage(const CompressedColumns<I> &columns, std::span<const double> targets, Index count)
      : in_(columns), targets_(targets), t_(count), n_(static_cast<Index>(targets.size()) / count),
        residuals_(targets.begin(), targets.end()), offset_(at(count)), square_(columns.means.size()) {
    for (Index j = 0; j < this->columns(); ++j) {
      double sum = 0.0;
      for (std::int64_t k = in_.indptr[at(j)]; k < in_.indptr[at(j + 1)]; ++k)
        sum += in_.data[at(k)] * in_.data[at(k)];
      const double raw = in_.means[at(j)] * in_.means[at(j)];
      const double noise = 16.0 * std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(n_));
      square_[at(j)] = sum - raw > noise * raw ? sum - raw : 0.0; // a constant column has none
    }
  }

  Index columns() const { return static_cast<Index>(in_.means.size()); }
  Index targets() const { return t_; }
  double square(Index j) const { return square_[at(j)]; }

  void pull(Index j, double *out) const {
    const double *x = in_.data.data();
    const I *row = in_.indices.data();
    const std::int64_t begin = in_.indptr[at(j)], end = in_.indptr[at(j + 1)];
    for (Index target = 0; target < t_; ++target) {
      const double *r = residuals_.data() + target * n_;
      double even = 0.0, odd = 0.0; // two sums: none waits for the other
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

  void move(Index j, const double *change) {
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

  double product(Index i, Index j) const {
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

  double pull_work(Index j) const { return scattered * static_cast<double>(entries(j)); }
  double move_work(Index j) const { return scattered * static_cast<double>(entries(j)); }
  double product_work() const {
    return 2.0 * scattered * static_cast<double>(in_.data.size()) / std::max(1.0, static_cast<double>(columns()));
  }

private:
  static constexpr double scattered = 8.0; // an entry here and there, in products of long vectors

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

  const CompressedColumns<I> in_;
  std::span<const double> targets_;
  Index t_, n_;
  std::vector<double> residuals_, offset_, square_;
};

// All columns are members from the start: whoever chose them left out the others.
template <class I> class CompressedDescent {
public:
  CompressedDescent(const Blas &blas, const CompressedColumns<I> &columns, std::span<const double> targets, Index count,
                    std::span<const double> start)
      : storage_(columns, targets, count), step_(blas), unit_(columns.means.size(), 1.0),
        weights_(start.begin(), start.end()) {
    for (const double y : targets)
      total_ += y * y;
    storage_.reset(weights_);
  }

  std::span<const double> weights() const { return weights_; }

  Descended run(const ElasticNet &penalty, double enough, Index most, Order &order) {
    Descent<CompressedStorage<I>> descent(storage_, step_, unit_, weights_);
    const Descended state = descent.run(penalty, enough, total_, most, slow_, order);
    slow_ = state.slow;
    return state;
  }

private:
  CompressedStorage<I> storage_;
  SupportStep step_;
  std::vector<double> unit_, weights_;
  double total_ = 0.0;
  bool slow_ = false; // the last descent: the next begins with an exact step
};

} // namespace tenfold
