// The proof that no subset of a given size is better than a bound: a search of its own for the judge.
//
// Given an upper triangular R (p x p) of all columns, z = Q'y (p) and the sum of squares `rest` that they leave, looks
// for subsets of `size` columns that leave less than `bound`, and returns the smallest sum found, or `bound` where
// there is none. With M = (R'R)^-1 and w = R^-1 z the sum grows by w_i^2 / M_ii without column i; M and w of the others
// follow by one elimination. d columns must still go: the sum grows by at least the d-th smallest of these. Unlike
// `subsets.hpp` this works on inverses, for one size, with a bound given: nothing is shared. Inverses of columns that
// nearly depend are large, so that everything is in extended precision.
#pragma once

#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct SubsetProof {
  double smallest = 0.0;
  std::int64_t nodes = 0;
  bool complete = true;
};

class ProofSearch {
public:
  // At most so many nodes.
  ProofSearch(std::span<const double> R, std::span<const double> z, double rest, Index size, double bound,
              std::int64_t most)
      : size_(size), most_(most) {
    const Index p = static_cast<Index>(z.size());
    levels_.resize(at(p - size + 1));
    for (Level &level : levels_) {
      level.M.resize(R.size());
      level.w.resize(z.size());
    }
    invert(R, z, p, levels_[0]);
    levels_[0].count = levels_[0].free = p;
    levels_[0].left = rest;
    proof_.smallest = bound;
  }

  SubsetProof run() {
    visit(0);
    return proof_;
  }

private:
  // Columns that may go come first: `free` of `count`.
  struct Level {
    std::vector<long double> M, w;
    Index count = 0, free = 0;
    long double left = 0.0;
    std::vector<std::pair<long double, Index>> growth;
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
    if ((++proof_.nodes & 255) == 0)
      poll();
    if (proof_.nodes > most_)
      proof_.complete = false;
    if (!proof_.complete)
      return;
    const Index must = level.count - size_;
    if (must == 0) {
      proof_.smallest = std::min(proof_.smallest, static_cast<double>(level.left));
      return;
    }
    if (level.free < must)
      return;
    level.growth.clear();
    for (Index i = 0; i < level.free; ++i) {
      const long double w = level.w[at(i)];
      level.growth.emplace_back(w * w / level.M[at(i * level.count + i)], i);
    }
    std::sort(level.growth.begin(), level.growth.end());
    if (level.left + level.growth[at(must - 1)].first >= proof_.smallest)
      return;
    // The t-th goes and all with a larger growth stay: before it there must be enough that can go too.
    for (Index t = must - 1; t < level.free; ++t) {
      if (level.left + level.growth[at(t)].first >= proof_.smallest)
        return;
      eliminate(level, t, levels_[depth + 1]);
      visit(depth + 1);
      if (!proof_.complete)
        return;
    }
  }

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // `to` has the t columns of smaller growth as free ones, then all that stay.
  void eliminate(const Level &from, Index t, Level &to) {
    const Index gone = from.growth[at(t)].second, n = from.count;
    order_.clear();
    for (Index k = 0; k < t; ++k)
      order_.push_back(from.growth[at(k)].second);
    for (Index k = t + 1; k < from.free; ++k)
      order_.push_back(from.growth[at(k)].second);
    for (Index k = from.free; k < n; ++k)
      order_.push_back(k);
    const long double pivot = from.M[at(gone * n + gone)], w = from.w[at(gone)];
    const long double *g = from.M.data() + gone * n;
    to.count = n - 1;
    to.free = t;
    to.left = from.left + w * w / pivot;
    for (Index i = 0; i < n - 1; ++i) {
      const Index a = order_[at(i)];
      const long double share = g[a] / pivot, *m = from.M.data() + a * n;
      to.w[at(i)] = from.w[at(a)] - share * w;
      for (Index j = 0; j < n - 1; ++j)
        to.M[at(i * (n - 1) + j)] = m[order_[at(j)]] - share * g[order_[at(j)]];
    }
  }

  Index size_;
  std::int64_t most_;
  SubsetProof proof_;
  std::vector<Level> levels_;
  std::vector<Index> order_;
};

} // namespace tenfold
