// The proof that no subset of a given size is better than a bound: a search of its own for the judge.
//
// Given the inverse M (p x p) of the products of all columns, the weights w (p) of least squares on all of them and the
// sum of squares `rest` that these leave, looks for subsets of `size` columns that leave less than `bound`, and returns
// the smallest sum found, or `bound` where there is none. Without column i the sum grows by w_i^2 / M_ii; M and w of
// the others follow by one elimination. d columns must still go: the sum grows by at least the d-th smallest of these.
// Unlike `subsets.hpp` this works on inverses, for one size, with a bound given: nothing is shared.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tenfold {

struct SubsetProof {
  double smallest = 0.0;
  std::int64_t nodes = 0;
  bool complete = true;
};

class ProofSearch {
public:
  ProofSearch(std::span<const double> M, std::span<const double> w, double rest, Index size, double bound,
              const std::function<bool()> &go_on)
      : size_(size), go_on_(go_on) {
    const Index p = static_cast<Index>(w.size());
    levels_.resize(static_cast<std::size_t>(p - size + 1));
    for (Level &level : levels_) {
      level.M.resize(M.size());
      level.w.resize(w.size());
    }
    Level &first = levels_[0];
    std::copy(M.begin(), M.end(), first.M.begin());
    std::copy(w.begin(), w.end(), first.w.begin());
    first.count = first.free = p;
    first.left = rest;
    proof_.smallest = bound;
  }

  SubsetProof run() {
    visit(0);
    return proof_;
  }

private:
  // Columns that may go come first: `free` of `count`.
  struct Level {
    std::vector<double> M, w;
    Index count = 0, free = 0;
    double left = 0.0;
    std::vector<std::pair<double, Index>> growth;
  };

  void visit(std::size_t depth) {
    Level &level = levels_[depth];
    if ((++proof_.nodes & 4095) == 0 && !go_on_())
      proof_.complete = false;
    if (!proof_.complete)
      return;
    const Index must = level.count - size_;
    if (must == 0) {
      proof_.smallest = std::min(proof_.smallest, level.left);
      return;
    }
    if (level.free < must)
      return;
    level.growth.clear();
    for (Index i = 0; i < level.free; ++i) {
      const double w = level.w[at(i)];
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
    const double pivot = from.M[at(gone * n + gone)], w = from.w[at(gone)];
    const double *g = from.M.data() + gone * n;
    to.count = n - 1;
    to.free = t;
    to.left = from.left + w * w / pivot;
    for (Index i = 0; i < n - 1; ++i) {
      const Index a = order_[at(i)];
      const double share = g[a] / pivot, *m = from.M.data() + a * n;
      to.w[at(i)] = from.w[at(a)] - share * w;
      for (Index j = 0; j < n - 1; ++j)
        to.M[at(i * (n - 1) + j)] = m[order_[at(j)]] - share * g[order_[at(j)]];
    }
  }

  Index size_;
  const std::function<bool()> &go_on_;
  SubsetProof proof_;
  std::vector<Level> levels_;
  std::vector<Index> order_;
};

} // namespace tenfold
