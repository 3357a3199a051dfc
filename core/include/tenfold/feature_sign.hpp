// Quadratic models with L1 penalties, minimised exactly by feature-sign search (Lee, Battle, Raina and Ng 2006).
//
// Each of m problems minimises g.(u - x) + (u - x)'H (u - x) / 2 + sum_j limit_j |u_j| from u = x. Among weights of
// given signs that is one linear system. A line search towards its solution passes the points where weights change
// sign, to the lowest point of the objective, and a weight that is zero there leaves. Where the signs are consistent,
// the weight whose gradient exceeds its limit most joins, until none does. Every system decreases the objective, so
// that no signs come back; a start with nearly the right signs needs a system or two. The factor of a system is kept: a
// weight that joins is a new last row. Flops: a^3 / 3 for a weights at first, then a^2 for one that joins.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

// One problem at a time; its buffers serve the next.
class FeatureSignSearch {
public:
  explicit FeatureSignSearch(Index q)
      : q_(q), lower_(static_cast<std::size_t>(q * q)), r_(static_cast<std::size_t>(q)), d_(r_), along_(r_) {}

  // Replaces u by the minimum, or, where rounding hides it, by a point lower than the first.
  void run(const double *H, const double *g, const double *limit, double *u) {
    start(H, g, limit, u);
    for (Index count = 0; count < 20 * q_ + 100; ++count) {
      solve();
      if (line_search(u) && stationary() && !join())
        return;
    }
  }

private:
  static constexpr double kMinPivot = 1e-13;     // part of a diagonal entry that a smaller pivot is raised to
  static constexpr double kSlopeRounding = 1e-9; // relative excess of a slope over its limit that is rounding
  static constexpr int kRefinements = 3;         // systems of the same signs; each refines the one before

  struct Weight {
    Index j;
    double sign;
  };

  void start(const double *H, const double *g, const double *limit, const double *u) {
    H_ = H, limit_ = limit;
    std::copy(g, g + q_, r_.begin());
    active_.clear();
    for (Index j = 0; j < q_; ++j)
      if (limit[j] == 0.0 || u[j] != 0.0)
        active_.push_back({j, sign(u[j], limit[j])});
    factored_ = 0, refinements_ = 0;
  }

  static double sign(double u, double limit) { return limit == 0.0 || u == 0.0 ? 0.0 : std::copysign(1.0, u); }

  // Rows of the factor from the first unknown one; pivots that are rounding are raised.
  void factor() {
    const auto dot = kernels().dense<double>().dot;
    const Index a = static_cast<Index>(active_.size());
    for (Index i = factored_; i < a; ++i) {
      double *row = lower_.data() + i * q_;
      const double *h = H_ + at(i).j * q_;
      for (Index k = 0; k < i; ++k)
        row[k] = (h[at(k).j] - dot(row, lower_.data() + k * q_, k)) / lower_[static_cast<std::size_t>(k * q_ + k)];
      const double whole = h[at(i).j], left = whole - dot(row, row, i);
      row[i] = std::sqrt(std::max({left, kMinPivot * whole, 1e-300}));
    }
    factored_ = a;
  }

  // The step d to the minimum among weights of these signs, and H d.
  void solve() {
    factor();
    const auto dot = kernels().dense<double>().dot;
    const auto axpy = kernels().dense<double>().axpy;
    const Index a = static_cast<Index>(active_.size());
    for (Index i = 0; i < a; ++i) {
      const double *row = lower_.data() + i * q_;
      d_[static_cast<std::size_t>(i)] = (-slope(i) - dot(row, d_.data(), i)) / row[i];
    }
    for (Index i = a - 1; i >= 0; --i) {
      const double *row = lower_.data() + i * q_;
      d_[static_cast<std::size_t>(i)] /= row[i];
      axpy(-d_[static_cast<std::size_t>(i)], row, i, d_.data());
    }
    std::fill(along_.begin(), along_.end(), 0.0);
    for (Index i = 0; i < a; ++i)
      axpy(d_[static_cast<std::size_t>(i)], H_ + at(i).j * q_, q_, along_.data());
  }

  // Steps to the lowest point along d; whether no weight has changed its sign.
  bool line_search(double *u) {
    const Index a = static_cast<Index>(active_.size());
    double slope0 = 0.0, bend = 0.0;
    crossings_.clear();
    for (Index i = 0; i < a; ++i) {
      const double d = d_[static_cast<std::size_t>(i)], w = u[at(i).j];
      slope0 += slope(i) * d, bend += d * along_[static_cast<std::size_t>(at(i).j)];
      if (at(i).sign != 0.0 && w * d < 0.0)
        crossings_.push_back({-w / d, i});
    }
    std::sort(crossings_.begin(), crossings_.end());
    if (!(slope0 < 0.0))
      return true;
    Index leaving = -1;
    double length = 1.0;
    bool plain = true;
    const auto lowest = [&] { return bend > 0.0 ? -slope0 / bend : HUGE_VAL; };
    for (const auto &[where, i] : crossings_) {
      if (lowest() <= where)
        break;
      plain = false;
      slope0 += 2.0 * limit_[at(i).j] * std::abs(d_[static_cast<std::size_t>(i)]);
      if (lowest() <= where) {
        leaving = i, length = where;
        break;
      }
    }
    if (leaving < 0)
      length = std::isfinite(lowest()) ? lowest() : 1.0;
    for (Index i = 0; i < a; ++i)
      u[at(i).j] = i == leaving ? 0.0 : u[at(i).j] + length * d_[static_cast<std::size_t>(i)];
    for (Index j = 0; j < q_; ++j)
      r_[static_cast<std::size_t>(j)] += length * along_[static_cast<std::size_t>(j)];
    if (!plain)
      renew(u);
    return plain;
  }

  // Signs of the weights where they are; those that are zero leave.
  void renew(const double *u) {
    Index kept = 0;
    for (Index i = 0; i < static_cast<Index>(active_.size()); ++i) {
      const Index j = at(i).j;
      if (limit_[j] != 0.0 && u[j] == 0.0) {
        factored_ = std::min(factored_, kept);
        continue;
      }
      active_[static_cast<std::size_t>(kept++)] = {j, sign(u[j], limit_[j])};
    }
    active_.resize(static_cast<std::size_t>(kept));
    refinements_ = 0;
  }

  // Whether the slopes of all weights are zero; a raised factor needs some refinements.
  bool stationary() {
    double left = 0.0, scale = 1e-300;
    for (Index i = 0; i < static_cast<Index>(active_.size()); ++i) {
      left = std::max(left, std::abs(slope(i)));
      scale = std::max(scale, limit_[at(i).j]);
    }
    return left <= kSlopeRounding * scale || ++refinements_ == kRefinements;
  }

  // Lets the weight join whose slope exceeds its limit most.
  bool join() {
    for (const Weight &one : active_)
      along_[static_cast<std::size_t>(one.j)] = HUGE_VAL; // marks those that have joined
    Index best = -1;
    double most = 0.0;
    for (Index j = 0; j < q_; ++j) {
      const double beyond = std::abs(r_[static_cast<std::size_t>(j)]) - (1.0 + kSlopeRounding) * limit_[j];
      if (along_[static_cast<std::size_t>(j)] != HUGE_VAL && beyond > most)
        best = j, most = beyond;
    }
    if (best < 0)
      return false;
    active_.push_back({best, r_[static_cast<std::size_t>(best)] > 0.0 ? -1.0 : 1.0});
    refinements_ = 0;
    return true;
  }

  const Weight &at(Index i) const { return active_[static_cast<std::size_t>(i)]; }
  double slope(Index i) const { return r_[static_cast<std::size_t>(at(i).j)] + limit_[at(i).j] * at(i).sign; }

  Index q_, factored_ = 0;
  int refinements_ = 0;
  const double *H_ = nullptr, *limit_ = nullptr;
  std::vector<double> lower_, r_, d_, along_;
  std::vector<Weight> active_;
  std::vector<std::pair<double, Index>> crossings_;
};

// Problems (m) side by side: H (m x q x q), g, limit and u (m x q), which are the starts and become the minima.
inline void feature_sign(std::span<const double> H, std::span<const double> g, std::span<const double> limit, Index q,
                         int threads, std::span<double> u) {
  const Index m = q > 0 ? static_cast<Index>(u.size()) / q : 0;
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(m, 1)));
  std::vector<FeatureSignSearch> search(static_cast<std::size_t>(workers), FeatureSignSearch(q));
  parallel(m, workers, [&](Index k, int worker) {
    search[static_cast<std::size_t>(worker)].run(H.data() + k * q * q, g.data() + k * q, limit.data() + k * q,
                                                 u.data() + k * q);
  });
}

} // namespace tenfold
