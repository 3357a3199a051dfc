// Quadratic models with an absolute value for each weight, solved exactly by their signs (feature-sign search: Lee,
// Battle, Raina and Ng 2006).
//
// Each of m problems minimises g.(u - x) + (u - x)'H (u - x) / 2 + sum_j limit_j |u_j| from u = x. Among weights of
// given signs that is one linear system; on the way to its solution the objective is followed through the places where
// weights change their signs, to its lowest point, and a weight that is zero there leaves. Where the signs are right,
// the weight that is held back least joins, until none pulls. The objective falls with every system, so no signs come
// back; a start with nearly the right signs needs a system or two. The factor of a system is kept: a weight that joins
// is a new last row. Flops: a^3 / 3 for a weights at first, then a^2 for one that joins.
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

// One problem at a time; what is allocated serves the next.
class SignSearch {
public:
  explicit SignSearch(Index q)
      : q_(q), lower_(static_cast<std::size_t>(q * q)), r_(static_cast<std::size_t>(q)), d_(r_), along_(r_) {}

  // Replaces u by the minimum; should rounding hide it, the last point is lower than the first.
  void run(const double *H, const double *g, const double *limit, double *u) {
    start(H, g, limit, u);
    for (Index count = 0; count < 20 * q_ + 100; ++count) {
      solve();
      if (follow(u) && settled() && !join())
        return;
    }
  }

private:
  // A diagonal entry is raised to such a part of itself; slopes beyond limits by such a part of them are rounding.
  static constexpr double kPivot = 1e-13, kEnough = 1e-9;
  // As many systems of the same signs: each takes off what the one before left by rounding.
  static constexpr int kAgain = 3;

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
    fresh_ = 0, again_ = 0;
  }

  static double sign(double u, double limit) { return limit == 0.0 || u == 0.0 ? 0.0 : std::copysign(1.0, u); }

  // Rows of the factor from the first that is not known; where nothing is left of a diagonal entry it is raised.
  void factor() {
    const auto dot = kernels().dense<double>().dot;
    const Index a = static_cast<Index>(active_.size());
    for (Index i = fresh_; i < a; ++i) {
      double *row = lower_.data() + i * q_;
      const double *h = H_ + at(i).j * q_;
      for (Index k = 0; k < i; ++k)
        row[k] = (h[at(k).j] - dot(row, lower_.data() + k * q_, k)) / lower_[static_cast<std::size_t>(k * q_ + k)];
      const double whole = h[at(i).j], left = whole - dot(row, row, i);
      row[i] = std::sqrt(std::max({left, kPivot * whole, 1e-300}));
    }
    fresh_ = a;
  }

  // The way d to the minimum among weights of these signs, and what it adds to the slopes.
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

  // Goes to the lowest point on the way; whether no weight has changed its sign.
  bool follow(double *u) {
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
    Index zero = -1;
    double length = 1.0;
    bool plain = true;
    const auto lowest = [&] { return bend > 0.0 ? -slope0 / bend : HUGE_VAL; };
    for (const auto &[where, i] : crossings_) {
      if (lowest() <= where)
        break;
      plain = false;
      slope0 += 2.0 * limit_[at(i).j] * std::abs(d_[static_cast<std::size_t>(i)]);
      if (lowest() <= where) {
        zero = i, length = where;
        break;
      }
    }
    if (zero < 0)
      length = std::isfinite(lowest()) ? lowest() : 1.0;
    for (Index i = 0; i < a; ++i)
      u[at(i).j] = i == zero ? 0.0 : u[at(i).j] + length * d_[static_cast<std::size_t>(i)];
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
        fresh_ = std::min(fresh_, kept);
        continue;
      }
      active_[static_cast<std::size_t>(kept++)] = {j, sign(u[j], limit_[j])};
    }
    active_.resize(static_cast<std::size_t>(kept));
    again_ = 0;
  }

  // Whether the slopes of all weights are balanced: a factor that was raised leads there by and by.
  bool settled() {
    double left = 0.0, scale = 1e-300;
    for (Index i = 0; i < static_cast<Index>(active_.size()); ++i) {
      left = std::max(left, std::abs(slope(i)));
      scale = std::max(scale, limit_[at(i).j]);
    }
    return left <= kEnough * scale || ++again_ == kAgain;
  }

  // Lets the weight join whose slope exceeds its limit most.
  bool join() {
    for (const Weight &one : active_)
      along_[static_cast<std::size_t>(one.j)] = HUGE_VAL; // marks those that have joined
    Index best = -1;
    double most = 0.0;
    for (Index j = 0; j < q_; ++j) {
      const double beyond = std::abs(r_[static_cast<std::size_t>(j)]) - (1.0 + kEnough) * limit_[j];
      if (along_[static_cast<std::size_t>(j)] != HUGE_VAL && beyond > most)
        best = j, most = beyond;
    }
    if (best < 0)
      return false;
    active_.push_back({best, r_[static_cast<std::size_t>(best)] > 0.0 ? -1.0 : 1.0});
    again_ = 0;
    return true;
  }

  const Weight &at(Index i) const { return active_[static_cast<std::size_t>(i)]; }
  double slope(Index i) const { return r_[static_cast<std::size_t>(at(i).j)] + limit_[at(i).j] * at(i).sign; }

  Index q_, fresh_ = 0;
  int again_ = 0;
  const double *H_ = nullptr, *limit_ = nullptr;
  std::vector<double> lower_, r_, d_, along_;
  std::vector<Weight> active_;
  std::vector<std::pair<double, Index>> crossings_;
};

// Problems (m) side by side: H (m x q x q), g, limit and u (m x q), which are the starts and become the minima.
inline void sign_stack(std::span<const double> H, std::span<const double> g, std::span<const double> limit, Index q,
                       int threads, std::span<double> u) {
  const Index m = q > 0 ? static_cast<Index>(u.size()) / q : 0;
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(m, 1)));
  std::vector<SignSearch> search(static_cast<std::size_t>(workers), SignSearch(q));
  parallel(m, workers, [&](Index k, int worker) {
    search[static_cast<std::size_t>(worker)].run(H.data() + k * q * q, g.data() + k * q, limit.data() + k * q,
                                                 u.data() + k * q);
  });
}

} // namespace tenfold
