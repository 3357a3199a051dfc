// Verifies that no subset of a given size beats a bound: branch and bound of the judge, independent of the solver.
//
// Given an upper triangular R (p x p) of all columns, z = Q'y (p) and their residual sum of squares `rest`, searches
// for subsets of `size` columns with a residual sum of squares below `bound`, and returns the smallest, or `bound`
// where there is none. With M = (R'R)^-1 and w = R^-1 z the sum increases by w_i^2 / M_ii without column i; M and w of
// the others follow by one elimination. When d columns must still be dropped, the sum increases by at least the d-th
// smallest of these. Unlike leaps_and_bounds.hpp this works on inverses, for one size, with a given bound: no code is
// shared. Inverses of nearly collinear columns are large, hence extended precision.
#pragma once

#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct SubsetVerification {
  double smallest = 0.0;
  std::int64_t nodes = 0;
  bool complete = true;
};

class SubsetVerifier {
public:
  // most: maximum number of nodes.
  SubsetVerifier(std::span<const double> R, std::span<const double> z, double rss, Index size, double bound,
                 std::int64_t max_nodes)
      : size_(size), max_nodes_(max_nodes) {
    const Index p = static_cast<Index>(z.size());
    levels_.resize(at(p - size + 1));
    for (Level &level : levels_) {
      level.M.resize(R.size());
      level.w.resize(z.size());
    }
    invert(R, z, p, levels_[0]);
    levels_[0].count = levels_[0].free = p;
    levels_[0].rss = rss;
    result_.smallest = bound;
  }

  SubsetVerification run() {
    visit(0);
    return result_;
  }

private:
  // Columns that may be dropped come first: `free` of `count`.
  struct Level {
    std::vector<long double> M, w;
    Index count = 0, free = 0;
    long double rss = 0.0;
    std::vector<std::pair<long double, Index>> rss_increase;
  };

  static void invert(std::span<const double> R, std::span<const double> z, Index p, Level &level) {
    std::vector<long double> inverse(R.size(), 0.0);
    for (Index j = 0; j < p; ++j)
      for (Index i = j; i >= 0; --i) {
        long double sum = i == j ? 1.0L : 0.0L;
        for (Index k = i + 1; k <= j; ++k)
          sum -= R[at(i * p + k)] * inverse[at(k * p + j)];
        inverse[at(i * p + j)] = sum / R[at(i * p + i)];
      }
    for (Index i = 0; i < p; ++i) {
      level.w[at(i)] = 0.0;
      for (Index k = i; k < p; ++k)
        level.w[at(i)] += inverse[at(i * p + k)] * z[at(k)];
      for (Index j = 0; j < p; ++j) {
        long double sum = 0.0;
        for (Index k = std::max(i, j); k < p; ++k)
          sum += inverse[at(i * p + k)] * inverse[at(j * p + k)];
        level.M[at(i * p + j)] = sum;
      }
    }
  }

  void visit(std::size_t depth) {
    Level &level = levels_[depth];
    if ((++result_.nodes & 255) == 0)
      poll();
    if (result_.nodes > max_nodes_)
      result_.complete = false;
    if (!result_.complete)
      return;
    const Index n_drop = level.count - size_;
    if (n_drop == 0) {
      result_.smallest = std::min(result_.smallest, static_cast<double>(level.rss));
      return;
    }
    if (level.free < n_drop)
      return;
    level.rss_increase.clear();
    for (Index i = 0; i < level.free; ++i) {
      const long double w = level.w[at(i)];
      level.rss_increase.emplace_back(w * w / level.M[at(i * level.count + i)], i);
    }
    std::sort(level.rss_increase.begin(), level.rss_increase.end());
    if (level.rss + level.rss_increase[at(n_drop - 1)].first >= result_.smallest)
      return;
    // Drop the t-th and fix those of larger increase: enough free columns must remain before it.
    for (Index t = n_drop - 1; t < level.free; ++t) {
      if (level.rss + level.rss_increase[at(t)].first >= result_.smallest)
        return;
      eliminate(level, t, levels_[depth + 1]);
      visit(depth + 1);
      if (!result_.complete)
        return;
    }
  }

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // Drops one column; the t columns of smaller increase stay free, the others are fixed.
  void eliminate(const Level &from, Index t, Level &to) {
    const Index dropped = from.rss_increase[at(t)].second, n = from.count;
    order_.clear();
    for (Index k = 0; k < t; ++k)
      order_.push_back(from.rss_increase[at(k)].second);
    for (Index k = t + 1; k < from.free; ++k)
      order_.push_back(from.rss_increase[at(k)].second);
    for (Index k = from.free; k < n; ++k)
      order_.push_back(k);
    const long double pivot = from.M[at(dropped * n + dropped)], w = from.w[at(dropped)];
    const long double *g = from.M.data() + dropped * n;
    to.count = n - 1;
    to.free = t;
    to.rss = from.rss + w * w / pivot;
    for (Index i = 0; i < n - 1; ++i) {
      const Index a = order_[at(i)];
      const long double ratio = g[a] / pivot, *m = from.M.data() + a * n;
      to.w[at(i)] = from.w[at(a)] - ratio * w;
      for (Index j = 0; j < n - 1; ++j)
        to.M[at(i * (n - 1) + j)] = m[order_[at(j)]] - ratio * g[order_[at(j)]];
    }
  }

  Index size_;
  std::int64_t max_nodes_;
  SubsetVerification result_;
  std::vector<Level> levels_;
  std::vector<Index> order_;
};

} // namespace tenfold
