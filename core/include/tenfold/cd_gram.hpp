// Coordinate descent on a Gram matrix, for many penalties one after the other.
//
// Given S = X'X (p x p, rows `stride` apart), C = X'y (targets x p) and yy = |y|^2 of weighted and centred columns,
// minimises F of descent.hpp for each penalty, starting from the weights of the one before. Only members of a working
// set move: their part of S is kept side by side, so that a step reads a short row from a near cache. Columns whose
// pull exceeds l1 become members, the furthest beyond it first, and the gap is that over all columns.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/cd.hpp"
#include "tenfold/isa_kernels.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace tenfold {

// The part of a Gram matrix that belongs to the members: the storage of descent.hpp.
class GramStorage {
public:
  GramStorage(Index targets, double yy) : t_(targets), yy_(yy) {}

  Index columns() const { return m_; }
  Index targets() const { return t_; }
  double square(Index j) const { return gram_[at(j * capacity_ + j)]; }
  double product(Index i, Index j) const { return gram_[at(i * capacity_ + j)]; }
  double pull_work(Index) const { return 0.0; }
  double move_work(Index) const { return static_cast<double>(m_); }
  double product_work() const { return 0.0; }
  void pull(Index j, double *out) const {
    for (Index k = 0; k < t_; ++k)
      out[k] = pulls_[at(k * m_ + j)];
  }
  void move(Index j, const double *change) {
    for (Index k = 0; k < t_; ++k)
      if (change[k] != 0.0)
        kernels().f64.add_scaled(-change[k], gram_.data() + j * capacity_, m_, pulls_.data() + k * m_);
  }
  void reset(std::span<const double> weights) {
    std::copy(along_.begin(), along_.begin() + t_ * m_, pulls_.begin());
    for (Index k = 0; k < t_; ++k)
      for (Index j = 0; j < m_; ++j)
        if (const double w = weights[at(k * m_ + j)]; w != 0.0)
          kernels().f64.add_scaled(-w, gram_.data() + j * capacity_, m_, pulls_.data() + k * m_);
  }
  double squares(std::span<const double> weights) const {
    double sum = yy_;
    for (std::size_t i = 0; i < at(t_ * m_); ++i)
      sum -= weights[i] * (along_[i] + pulls_[i]);
    return std::max(sum, 0.0);
  }

  // Makes `members` (of whom the first m were there before) the columns; S has p of them.
  void admit(std::span<const double> S, Index stride, Index p, std::span<const Index> members) {
    const Index more = static_cast<Index>(members.size());
    if (more > capacity_) {
      const Index capacity = std::min(p, std::max<Index>(64, more + more / 2));
      Products gram(at(capacity * capacity));
      for (Index i = 0; i < m_; ++i)
        std::copy_n(gram_.begin() + i * capacity_, m_, gram.begin() + i * capacity);
      gram_ = std::move(gram);
      capacity_ = capacity;
      along_.resize(at(t_ * capacity));
      pulls_.resize(at(t_ * capacity));
    }
    // row by row: the columns that are new in rows that were there, all columns in rows that are new
    for (Index i = 0; i < more; ++i) {
      const double *row = S.data() + members[at(i)] * stride;
      for (Index k = i < m_ ? m_ : 0; k < more; ++k)
        gram_[at(i * capacity_ + k)] = row[members[at(k)]];
    }
    m_ = more;
  }

  std::span<double> along() { return std::span(along_).first(at(t_ * m_)); }
  std::span<double> pulls() { return std::span(pulls_).first(at(t_ * m_)); }

private:
  using Products = std::vector<double, Unset<double>>; // room that nobody enters costs nothing

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  Index t_, m_ = 0, capacity_ = 0;
  double yy_;
  Products gram_;
  std::vector<double> along_, pulls_;
};

// Flops: 2 p a weight that moved since all pulls were last known, 2 m a step of one of the m members.
class GramDescent {
public:
  GramDescent(const Blas &blas, std::span<const double> S, Index stride, std::span<const double> C, double yy,
              std::span<const double> unit, std::span<const double> start)
      : S_(S), stride_(stride), C_(C), unit_(unit), p_(static_cast<Index>(unit.size())),
        t_(static_cast<Index>(C.size()) / p_), yy_(yy), storage_(t_, yy), step_(blas),
        weights_(start.begin(), start.end()), pulls_(C.begin(), C.end()), member_(unit.size()) {
    for (Index j = 0; j < p_; ++j) {
      bool used = p_ <= few;
      for (Index k = 0; k < t_; ++k)
        if (const double w = weights_[at(k * p_ + j)]; w != 0.0) {
          kernels().f64.add_scaled(-w, S_.data() + j * stride_, p_, pulls_.data() + k * p_);
          used = true;
        }
      if (used)
        join(j);
    }
  }

  std::span<const double> weights() const { return weights_; }

  Descended run(const ElasticNet &penalty, double enough, Index most, Order &order) {
    Descended state;
    state.gap = ahead(penalty);
    double inner = 0.5 * enough;
    // weights that are good enough for this penalty already are moved once all the same: a path that stops early at
    // every penalty would lag behind
    for (bool first = true; (first || !(state.gap <= enough)) && state.sweeps < most; first = false) {
      const bool grown = grow(penalty);
      if ((!grown && state.stalled) || members_.empty())
        break;
      const Descended part =
          descend(penalty, std::max(inner, state.gap <= enough ? enough : 0.0), most - state.sweeps, order);
      slow_ = part.slow;
      state.sweeps += part.sweeps;
      state.stalled = part.stalled;
      state.gap = bounds(penalty).gap;
      if (!grown)
        inner *= 0.1; // what the members leave is not all
    }
    return state;
  }

private:
  static constexpr Index few = 64;

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void join(Index j) {
    member_[at(j)] = true;
    members_.push_back(j);
  }

  // Goes on along the line through the weights of the last two penalties, for paths are made of lines, if that is
  // better than to stay; returns the gap.
  double ahead(const ElasticNet &penalty) {
    const Bounds stay = bounds(penalty);
    const double last = l1_[1], way = last - l1_[0];
    const bool known = way != 0.0 && std::isfinite(way);
    l1_ = {last, penalty.l1};
    if (!known || penalty.l1 == last) {
      weights_before_ = weights_, pulls_before_ = pulls_;
      return stay.gap;
    }
    const double part = (penalty.l1 - last) / way;
    weights_before_.swap(weights_), pulls_before_.swap(pulls_);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      pulls_[i] = pulls_before_[i] + part * (pulls_before_[i] - pulls_[i]);
    for (Index k = 0; k < t_; ++k)
      for (Index j = 0; j < p_; ++j) {
        const double here = weights_before_[at(k * p_ + j)];
        double &w = weights_[at(k * p_ + j)];
        const double there = here + part * (here - w);
        // a weight that would change its sign is zero
        w = here * there > 0.0 ? there : 0.0;
        if (w != there)
          kernels().f64.add_scaled(there - w, S_.data() + j * stride_, p_, pulls_.data() + k * p_);
      }
    const Bounds go = bounds(penalty);
    if (go.primal < stay.primal)
      return go.gap;
    weights_ = weights_before_, pulls_ = pulls_before_;
    return stay.gap;
  }

  // Admits the columns beyond the constraint, the furthest first, at most as many as there are members.
  bool grow(const ElasticNet &penalty) {
    beyond_.clear();
    distance_.resize(at(p_));
    for (Index j = 0; j < p_; ++j) {
      if (member_[at(j)] || !(S_[at(j * stride_ + j)] > 0.0))
        continue;
      double length = 0.0;
      for (Index k = 0; k < t_; ++k) {
        const double q = pulls_[at(k * p_ + j)];
        length += penalty.positive ? std::max(q, 0.0) * std::max(q, 0.0) : q * q;
      }
      distance_[at(j)] = std::sqrt(length) / unit_[at(j)];
      if (distance_[at(j)] > penalty.l1)
        beyond_.push_back(j);
    }
    const std::size_t most = std::max(at(few), members_.size());
    if (beyond_.size() > most) {
      const auto further = [&](Index a, Index b) {
        return distance_[at(a)] != distance_[at(b)] ? distance_[at(a)] > distance_[at(b)] : a < b;
      };
      std::nth_element(beyond_.begin(), beyond_.begin() + static_cast<Index>(most), beyond_.end(), further);
      beyond_.resize(most);
      std::sort(beyond_.begin(), beyond_.end());
    }
    for (const Index j : beyond_)
      join(j);
    return !beyond_.empty();
  }

  // Descends among the members, then brings the pulls of all columns up to date.
  Descended descend(const ElasticNet &penalty, double enough, Index most, Order &order) {
    storage_.admit(S_, stride_, p_, members_);
    const Index m = storage_.columns();
    local_.resize(at(t_ * m));
    units_.resize(at(m));
    for (Index i = 0; i < m; ++i) {
      const Index j = members_[at(i)];
      units_[at(i)] = unit_[at(j)];
      for (Index k = 0; k < t_; ++k) {
        local_[at(k * m + i)] = weights_[at(k * p_ + j)];
        storage_.along()[at(k * m + i)] = C_[at(k * p_ + j)];
        storage_.pulls()[at(k * m + i)] = pulls_[at(k * p_ + j)];
      }
    }
    Descent<GramStorage> descent(storage_, step_, units_, local_);
    const Descended state = descent.run(penalty, enough, yy_, most, slow_, order);
    for (Index i = 0; i < m; ++i)
      for (Index k = 0; k < t_; ++k) {
        double &w = weights_[at(k * p_ + members_[at(i)])];
        const double change = local_[at(k * m + i)] - w;
        if (change != 0.0)
          kernels().f64.add_scaled(-change, S_.data() + members_[at(i)] * stride_, p_, pulls_.data() + k * p_);
        w = local_[at(k * m + i)];
      }
    return state;
  }

  struct Bounds {
    double primal = 0.0, gap = 0.0;
  };

  Bounds bounds(const ElasticNet &penalty) const {
    Gap sum(penalty);
    double squares = yy_;
    for (Index j = 0; j < p_; ++j)
      sum.add(pulls_.data() + j, p_, weights_.data() + j, p_, t_, S_[at(j * stride_ + j)], unit_[at(j)]);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      squares -= weights_[i] * (C_[i] + pulls_[i]);
    squares = std::max(squares, 0.0);
    return {sum.primal(squares), sum.value(squares)};
  }

  std::span<const double> S_;
  Index stride_;
  std::span<const double> C_, unit_;
  Index p_, t_;
  double yy_;
  GramStorage storage_;
  SupportStep step_;
  std::vector<double> weights_, pulls_, local_, units_, distance_;
  std::vector<double> weights_before_, pulls_before_; // at the penalty before the last
  std::array<double, 2> l1_ = {HUGE_VAL, HUGE_VAL};   // the one before the last, and the last
  bool slow_ = false;                                 // the last descent: the next begins with an exact step
  std::vector<bool> member_;
  std::vector<Index> members_, beyond_;
};

} // namespace tenfold
