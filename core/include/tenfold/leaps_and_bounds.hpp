// The best subsets of columns of every size for least squares, exact: leaps and bounds on a triangular factor.
//
// Given an upper triangular R (p x p) of independent columns, z = Q'y (p) and the sum of squares `rest` that all
// columns leave, returns for every size j up to `largest` the smallest sum of squares and its columns as bits. A node
// is a set of columns of which the first k stay. With the columns in the order of R the sums of squares of all leading
// subsets are sums of z^2. Its other columns are ordered by how much the sum of squares grows without each, largest
// first; a child drops one of them and keeps those before it, so that nothing below it can have a smaller sum than the
// node's own plus that growth: children are cut where every size they hold is already as good (Furnival and Wilson
// 1974; factors as in Gatu and Kontoghiorghes 2006). All updates are plane rotations. The search is complete, or
// `go_on` ended it. A node of m columns costs about 2 (m - k)^3 products.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct Subsets {
  std::vector<double> squares;        // (largest + 1)
  std::vector<std::uint64_t> columns; // (largest + 1), bit c for column c
  std::int64_t nodes = 0;
  bool complete = true;
};

class SubsetSearch {
public:
  SubsetSearch(std::span<const double> R, std::span<const double> z, double rest, Index largest,
               const std::function<bool()> &go_on)
      : p_(static_cast<Index>(z.size())), largest_(largest), go_on_(go_on) {
    best_.squares.assign(at(largest + 1), std::numeric_limits<double>::infinity());
    best_.columns.assign(at(largest + 1), 0);
    nodes_.resize(at(p_ + 1));
    for (Node &node : nodes_) {
      node.R.resize(at(p_ * p_));
      node.z.resize(at(p_));
      node.columns.resize(at(p_));
      node.growth.resize(at(p_));
    }
    Node &root = nodes_[0];
    std::copy(R.begin(), R.end(), root.R.begin());
    std::copy(z.begin(), z.end(), root.z.begin());
    for (Index c = 0; c < p_; ++c)
      root.columns[at(c)] = c;
    root.size = p_;
    root.kept = 0;
    root.left = rest;
    scratch_.resize(at(p_ * (p_ + 1)));
  }

  Subsets run() {
    visit(0);
    return best_;
  }

private:
  struct Node {
    std::vector<double> R, z, growth; // R by rows of p
    std::vector<Index> columns;
    Index size = 0, kept = 0;
    double left = 0.0; // the sum of squares that all its columns leave
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  double *row(Node &node, Index i) { return node.R.data() + i * p_; }

  void visit(Index depth) {
    Node &node = nodes_[at(depth)];
    if ((++best_.nodes & 1023) == 0 && !go_on_())
      best_.complete = false;
    if (!best_.complete)
      return;
    order(node);
    record(node);
    for (Index i = node.size - 2; i >= node.kept; --i) {
      const Index high = std::min(node.size - 1, largest_);
      if (i > high || !promises(node.left + node.growth[at(i)], i, high))
        continue;
      drop(node, i, nodes_[at(depth + 1)]);
      visit(depth + 1);
      if (!best_.complete)
        return;
    }
  }

  // Whether some size from low to high has no subset yet that is as good.
  bool promises(double bound, Index low, Index high) const {
    for (Index j = low; j <= high; ++j)
      if (bound < best_.squares[at(j)])
        return true;
    return false;
  }

  void record(const Node &node) {
    double left = node.left;
    std::uint64_t columns = 0;
    for (Index i = 0; i < node.size; ++i)
      columns |= std::uint64_t{1} << node.columns[at(i)];
    for (Index size = node.size; size >= node.kept; --size) {
      if (size <= largest_ && left < best_.squares[at(size)]) {
        best_.squares[at(size)] = left;
        best_.columns[at(size)] = columns;
      }
      if (size == 0)
        break;
      left += node.z[at(size - 1)] * node.z[at(size - 1)];
      columns &= ~(std::uint64_t{1} << node.columns[at(size - 1)]);
    }
  }

  // The growth of every column that may go; then the columns in its order, and R with them.
  void order(Node &node) {
    for (Index i = node.kept; i < node.size; ++i)
      node.growth[at(i)] = growth(node, i);
    std::vector<Index> &places = places_;
    places.resize(at(node.size));
    for (Index i = 0; i < node.size; ++i)
      places[at(i)] = i;
    std::stable_sort(places.begin() + node.kept, places.begin() + node.size,
                     [&](Index a, Index b) { return node.growth[at(a)] > node.growth[at(b)]; });
    permute(node, places);
    triangulate(node);
  }

  // By how much the sum of squares grows without column i: rotations that close its gap leave that in the last row.
  double growth(Node &node, Index i) {
    const Index m = node.size;
    double *carry = scratch_.data(); // the row that moves down
    for (Index j = i + 1; j < m; ++j)
      carry[j] = row(node, i)[j];
    double z = node.z[at(i)];
    for (Index k = i + 1; k < m; ++k) {
      const double *r = row(node, k);
      const double a = carry[k], b = r[k], length = std::hypot(a, b);
      if (length == 0.0)
        continue;
      const double c = a / length, s = b / length;
      for (Index j = k + 1; j < m; ++j)
        carry[j] = c * r[j] - s * carry[j];
      z = c * node.z[at(k)] - s * z;
    }
    return z * z;
  }

  void permute(Node &node, const std::vector<Index> &places) {
    const Index m = node.size;
    for (Index i = 0; i < m; ++i) {
      double *r = row(node, i);
      for (Index j = node.kept; j < m; ++j)
        scratch_[at(j)] = places[at(j)] >= i ? r[places[at(j)]] : 0.0;
      std::copy(scratch_.begin() + node.kept, scratch_.begin() + m, r + node.kept);
    }
    for (Index j = node.kept; j < m; ++j)
      scratch_[at(j)] = node.growth[at(places[at(j)])];
    std::copy(scratch_.begin() + node.kept, scratch_.begin() + m, node.growth.begin() + node.kept);
    moved_.resize(at(m));
    for (Index j = 0; j < m; ++j)
      moved_[at(j)] = node.columns[at(places[at(j)])];
    std::copy(moved_.begin(), moved_.end(), node.columns.begin());
  }

  // Zeros below the diagonal of the columns that may go, from the last row up.
  void triangulate(Node &node) {
    const Index m = node.size;
    for (Index j = node.kept; j < m; ++j)
      for (Index i = m - 1; i > j; --i)
        rotate(node, i - 1, i, j, j);
  }

  // Turns rows a and b so that entry (b, column) is zero; columns from `begin` on.
  void rotate(Node &node, Index a, Index b, Index column, Index begin) {
    double *x = row(node, a), *y = row(node, b);
    if (y[column] == 0.0)
      return;
    const double length = std::hypot(x[column], y[column]), c = x[column] / length, s = y[column] / length;
    for (Index j = begin; j < node.size; ++j) {
      const double u = x[j], v = y[j];
      x[j] = c * u + s * v;
      y[j] = c * v - s * u;
    }
    double &u = node.z[at(a)], &v = node.z[at(b)];
    const double top = c * u + s * v;
    v = c * v - s * u;
    u = top;
    y[column] = 0.0;
  }

  void drop(Node &from, Index place, Node &to) {
    const Index m = from.size;
    to.size = m;
    to.kept = place;
    for (Index i = 0; i < m; ++i) {
      const double *r = row(from, i);
      double *t = row(to, i);
      std::copy(r, r + place, t);
      std::copy(r + place + 1, r + m, t + place);
      t[m - 1] = 0.0;
    }
    std::copy(from.z.begin(), from.z.begin() + m, to.z.begin());
    std::copy(from.columns.begin(), from.columns.begin() + place, to.columns.begin());
    std::copy(from.columns.begin() + place + 1, from.columns.begin() + m, to.columns.begin() + place);
    for (Index i = place; i + 1 < m; ++i)
      rotate(to, i, i + 1, i, i);
    to.size = m - 1;
    to.left = from.left + to.z[at(m - 1)] * to.z[at(m - 1)];
  }

  Index p_, largest_;
  const std::function<bool()> &go_on_;
  Subsets best_;
  std::vector<Node> nodes_;
  std::vector<double> scratch_;
  std::vector<Index> places_, moved_;
};

} // namespace tenfold
