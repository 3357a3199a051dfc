// Coordinate descent on a Gram matrix, along a path of penalties.
//
// Given S = X'X (p x p, rows `stride` apart), C = X'y (targets x p) and yy = |y|^2 of weighted and centred columns,
// minimises F of cd.hpp for each penalty, warm-started from the one before. Only a working set of columns is updated:
// its part of S is kept contiguous, so that a step reads a short row from a near cache. Columns that violate |x_j.r| <=
// l1 u_j join the working set, the worst first, and the duality gap is over all columns.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/cd.hpp"
#include "tenfold/isa_kernels.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace tenfold {

// The Gram matrix of the working set: the storage of cd.hpp.
class GramStorage {
public:
  GramStorage(Index targets, double yy) : t_(targets), yy_(yy) {}

  Index columns() const { return m_; }
  Index targets() const { return t_; }
  double square(Index j) const { return gram_[at(j * capacity_ + j)]; }
  double gram_entry(Index i, Index j) const { return gram_[at(i * capacity_ + j)]; }
  double correlation_work(Index) const { return 0.0; }
  double update_work(Index) const { return static_cast<double>(m_); }
  double gram_entry_work() const { return 0.0; }
  void correlation(Index j, double *out) const {
    for (Index k = 0; k < t_; ++k)
      out[k] = correlations_[at(k * m_ + j)];
  }
  void update(Index j, const double *change) {
    for (Index k = 0; k < t_; ++k)
      if (change[k] != 0.0)
        kernels().f64.axpy(-change[k], gram_.data() + j * capacity_, m_, correlations_.data() + k * m_);
  }
  void reset(std::span<const double> weights) {
    std::copy(xty_.begin(), xty_.begin() + t_ * m_, correlations_.begin());
    for (Index k = 0; k < t_; ++k)
      for (Index j = 0; j < m_; ++j)
        if (const double w = weights[at(k * m_ + j)]; w != 0.0)
          kernels().f64.axpy(-w, gram_.data() + j * capacity_, m_, correlations_.data() + k * m_);
  }
  double squares(std::span<const double> weights) const {
    double sum = yy_;
    for (std::size_t i = 0; i < at(t_ * m_); ++i)
      sum -= weights[i] * (xty_[i] + correlations_[i]);
    return std::max(sum, 0.0);
  }

  // Sets the working set to `members`, whose first m are the present ones; S has p columns.
  void set_members(std::span<const double> S, Index stride, Index p, std::span<const Index> members) {
    const Index more = static_cast<Index>(members.size());
    if (more > capacity_) {
      const Index capacity = std::min(p, std::max<Index>(64, more + more / 2));
      Products gram(at(capacity * capacity));
      for (Index i = 0; i < m_; ++i)
        std::copy_n(gram_.begin() + i * capacity_, m_, gram.begin() + i * capacity);
      gram_ = std::move(gram);
      capacity_ = capacity;
      xty_.resize(at(t_ * capacity));
      correlations_.resize(at(t_ * capacity));
    }
    // row by row: new columns of present rows, all columns of new rows
    for (Index i = 0; i < more; ++i) {
      const double *row = S.data() + members[at(i)] * stride;
      for (Index k = i < m_ ? m_ : 0; k < more; ++k)
        gram_[at(i * capacity_ + k)] = row[members[at(k)]];
    }
    m_ = more;
  }

  std::span<double> xty() { return std::span(xty_).first(at(t_ * m_)); }
  std::span<double> correlations() { return std::span(correlations_).first(at(t_ * m_)); }

private:
  using Products = std::vector<double, UninitializedAllocator<double>>; // untouched capacity costs no memory

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  Index t_, m_ = 0, capacity_ = 0;
  double yy_;
  Products gram_;
  std::vector<double> xty_, correlations_;
};

// Flops: 2 p for each weight changed since the last full update, 2 m for a step on a working set of m columns.
class CdGram {
public:
  CdGram(const Blas &blas, std::span<const double> S, Index stride, std::span<const double> C, double yy,
         std::span<const double> unit, std::span<const double> start)
      : S_(S), stride_(stride), C_(C), unit_(unit), p_(static_cast<Index>(unit.size())),
        t_(static_cast<Index>(C.size()) / p_), yy_(yy), storage_(t_, yy), step_(blas),
        weights_(start.begin(), start.end()), correlations_(C.begin(), C.end()), is_member_(unit.size()) {
    for (Index j = 0; j < p_; ++j) {
      bool used = p_ <= min_working_set;
      for (Index k = 0; k < t_; ++k)
        if (const double w = weights_[at(k * p_ + j)]; w != 0.0) {
          kernels().f64.axpy(-w, S_.data() + j * stride_, p_, correlations_.data() + k * p_);
          used = true;
        }
      if (used)
        add_member(j);
    }
  }

  std::span<const double> weights() const { return weights_; }

  CdResult run(const ElasticNet &penalty, double tol, Index max_sweeps, CoordinateOrder &order) {
    CdResult state;
    state.gap = extrapolate_path(penalty);
    double inner_tol = 0.5 * tol;
    // at least one run even where the warm start meets the gap: otherwise errors would build up along the path
    for (bool first = true; (first || !(state.gap <= tol)) && state.sweeps < max_sweeps; first = false) {
      const bool grown = grow_working_set(penalty);
      if ((!grown && state.stalled) || working_set_.empty())
        break;
      const CdResult ratio =
          descend(penalty, std::max(inner_tol, state.gap <= tol ? tol : 0.0), max_sweeps - state.sweeps, order);
      newton_first_ = ratio.newton_first;
      state.sweeps += ratio.sweeps;
      state.stalled = ratio.stalled;
      state.gap = bounds(penalty).gap;
      if (!grown)
        inner_tol *= 0.1; // the gap of the working set must shrink for that of all columns to
    }
    return state;
  }

private:
  static constexpr Index min_working_set = 64; // columns of the smallest working set

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void add_member(Index j) {
    is_member_[at(j)] = true;
    working_set_.push_back(j);
  }

  // Extrapolates the weights linearly from the last two penalties (Lasso paths are piecewise linear), accepted where
  // the objective is lower than at the warm start; returns the gap.
  double extrapolate_path(const ElasticNet &penalty) {
    const Bounds warm_start = bounds(penalty);
    const double last = l1_[1], l1_step = last - l1_[0];
    const bool known = l1_step != 0.0 && std::isfinite(l1_step);
    l1_ = {last, penalty.l1};
    if (!known || penalty.l1 == last) {
      previous_weights_ = weights_, previous_correlations_ = correlations_;
      return warm_start.gap;
    }
    const double ratio = (penalty.l1 - last) / l1_step;
    previous_weights_.swap(weights_), previous_correlations_.swap(correlations_);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      correlations_[i] = previous_correlations_[i] + ratio * (previous_correlations_[i] - correlations_[i]);
    for (Index k = 0; k < t_; ++k)
      for (Index j = 0; j < p_; ++j) {
        const double here = previous_weights_[at(k * p_ + j)];
        double &w = weights_[at(k * p_ + j)];
        const double next = here + ratio * (here - w);
        // a weight that would change its sign is set to zero
        w = here * next > 0.0 ? next : 0.0;
        if (w != next)
          kernels().f64.axpy(next - w, S_.data() + j * stride_, p_, correlations_.data() + k * p_);
      }
    const Bounds extrapolated = bounds(penalty);
    if (extrapolated.primal < warm_start.primal)
      return extrapolated.gap;
    weights_ = previous_weights_, correlations_ = previous_correlations_;
    return warm_start.gap;
  }

  // Adds the columns that violate the dual constraint, the worst first, at most doubling the working set.
  bool grow_working_set(const ElasticNet &penalty) {
    violators_.clear();
    violation_.resize(at(p_));
    for (Index j = 0; j < p_; ++j) {
      if (is_member_[at(j)] || !(S_[at(j * stride_ + j)] > 0.0))
        continue;
      double length = 0.0;
      for (Index k = 0; k < t_; ++k) {
        const double q = correlations_[at(k * p_ + j)];
        length += penalty.positive ? std::max(q, 0.0) * std::max(q, 0.0) : q * q;
      }
      violation_[at(j)] = std::sqrt(length) / unit_[at(j)];
      if (violation_[at(j)] > penalty.l1)
        violators_.push_back(j);
    }
    const std::size_t max_new = std::max(at(min_working_set), working_set_.size());
    if (violators_.size() > max_new) {
      const auto further = [&](Index a, Index b) {
        return violation_[at(a)] != violation_[at(b)] ? violation_[at(a)] > violation_[at(b)] : a < b;
      };
      std::nth_element(violators_.begin(), violators_.begin() + static_cast<Index>(max_new), violators_.end(), further);
      violators_.resize(max_new);
      std::sort(violators_.begin(), violators_.end());
    }
    for (const Index j : violators_)
      add_member(j);
    return !violators_.empty();
  }

  // Solves on the working set, then updates the correlations of all columns.
  CdResult descend(const ElasticNet &penalty, double tol, Index max_sweeps, CoordinateOrder &order) {
    storage_.set_members(S_, stride_, p_, working_set_);
    const Index m = storage_.columns();
    local_.resize(at(t_ * m));
    units_.resize(at(m));
    for (Index i = 0; i < m; ++i) {
      const Index j = working_set_[at(i)];
      units_[at(i)] = unit_[at(j)];
      for (Index k = 0; k < t_; ++k) {
        local_[at(k * m + i)] = weights_[at(k * p_ + j)];
        storage_.xty()[at(k * m + i)] = C_[at(k * p_ + j)];
        storage_.correlations()[at(k * m + i)] = correlations_[at(k * p_ + j)];
      }
    }
    CoordinateDescent<GramStorage> descent(storage_, step_, units_, local_);
    const CdResult state = descent.run(penalty, tol, yy_, max_sweeps, newton_first_, order);
    for (Index i = 0; i < m; ++i)
      for (Index k = 0; k < t_; ++k) {
        double &w = weights_[at(k * p_ + working_set_[at(i)])];
        const double change = local_[at(k * m + i)] - w;
        if (change != 0.0)
          kernels().f64.axpy(-change, S_.data() + working_set_[at(i)] * stride_, p_, correlations_.data() + k * p_);
        w = local_[at(k * m + i)];
      }
    return state;
  }

  struct Bounds {
    double primal = 0.0, gap = 0.0;
  };

  Bounds bounds(const ElasticNet &penalty) const {
    DualityGap sum(penalty);
    double squares = yy_;
    for (Index j = 0; j < p_; ++j)
      sum.add(correlations_.data() + j, p_, weights_.data() + j, p_, t_, S_[at(j * stride_ + j)], unit_[at(j)]);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      squares -= weights_[i] * (C_[i] + correlations_[i]);
    squares = std::max(squares, 0.0);
    return {sum.primal(squares), sum.value(squares)};
  }

  std::span<const double> S_;
  Index stride_;
  std::span<const double> C_, unit_;
  Index p_, t_;
  double yy_;
  GramStorage storage_;
  ActiveSetSolver step_;
  std::vector<double> weights_, correlations_, local_, units_, violation_;
  std::vector<double> previous_weights_, previous_correlations_; // at the penalty before the last one
  std::array<double, 2> l1_ = {HUGE_VAL, HUGE_VAL};              // the last two penalties
  bool newton_first_ = false;                                    // of the last run: the next begins with a Newton step
  std::vector<bool> is_member_;
  std::vector<Index> working_set_, violators_;
};

} // namespace tenfold
