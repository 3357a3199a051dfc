// Best subset of every size for least squares, exact: leaps and bounds on a triangular factor.
//
// Given an upper triangular R (p x p) of independent columns, z = Q'y (p) and the residual sum of squares `rest` of all
// columns, returns for every size j up to `largest` the smallest residual sum of squares and its columns as bits. A
// node is a set of columns whose first k are fixed. With the columns in the order of R the sums of squares of all
// leading subsets are sums of z^2. The free columns are sorted by the increase without each, largest first; a child
// drops one of them and fixes those before it, so that nothing below it has a smaller sum than the node's plus that
// increase: a child is pruned where every size it contains already has a better subset (Furnival and Wilson 1974;
// factors as in Gatu and Kontoghiorghes 2006). All updates are Givens rotations. The search is complete unless
// `should_continue` ended it. A node of m columns costs about 2 (m - k)^3 operations.
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

struct BestSubsets {
  std::vector<double> rss;            // (largest + 1)
  std::vector<std::uint64_t> columns; // (largest + 1), bit c for column c
  std::int64_t nodes = 0;
  bool complete = true;
};

class LeapsAndBounds {
public:
  LeapsAndBounds(std::span<const double> R, std::span<const double> z, double rss, Index max_size,
                 const std::function<bool()> &should_continue)
      : p_(static_cast<Index>(z.size())), max_size_(max_size), should_continue_(should_continue) {
    best_.rss.assign(at(max_size + 1), std::numeric_limits<double>::infinity());
    best_.columns.assign(at(max_size + 1), 0);
    nodes_.resize(at(p_ + 1));
    for (Node &node : nodes_) {
      node.R.resize(at(p_ * p_));
      node.z.resize(at(p_));
      node.columns.resize(at(p_));
      node.rss_increase.resize(at(p_));
    }
    Node &root = nodes_[0];
    std::copy(R.begin(), R.end(), root.R.begin());
    std::copy(z.begin(), z.end(), root.z.begin());
    for (Index c = 0; c < p_; ++c)
      root.columns[at(c)] = c;
    root.size = p_;
    root.fixed = 0;
    root.rss = rss;
    scratch_.resize(at(p_ * (p_ + 1)));
  }

  BestSubsets run() {
    visit(0);
    return best_;
  }

private:
  struct Node {
    std::vector<double> R, z, rss_increase; // R by rows of p
    std::vector<Index> columns;
    Index size = 0, fixed = 0;
    double rss = 0.0; // residual sum of squares of all its columns
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  double *row(Node &node, Index i) { return node.R.data() + i * p_; }

  void visit(Index depth) {
    Node &node = nodes_[at(depth)];
    if ((++best_.nodes & 1023) == 0 && !should_continue_())
      best_.complete = false;
    if (!best_.complete)
      return;
    sort_free_columns(node);
    record(node);
    for (Index i = node.size - 2; i >= node.fixed; --i) {
      const Index high = std::min(node.size - 1, max_size_);
      if (i > high || !can_improve(node.rss + node.rss_increase[at(i)], i, high))
        continue;
      drop_column(node, i, nodes_[at(depth + 1)]);
      visit(depth + 1);
      if (!best_.complete)
        return;
    }
  }

  // Whether some size in [low, high] has no subset yet below the bound.
  bool can_improve(double bound, Index low, Index high) const {
    for (Index j = low; j <= high; ++j)
      if (bound < best_.rss[at(j)])
        return true;
    return false;
  }

  void record(const Node &node) {
    double rss = node.rss;
    std::uint64_t columns = 0;
    for (Index i = 0; i < node.size; ++i)
      columns |= std::uint64_t{1} << node.columns[at(i)];
    for (Index size = node.size; size >= node.fixed; --size) {
      if (size <= max_size_ && rss < best_.rss[at(size)]) {
        best_.rss[at(size)] = rss;
        best_.columns[at(size)] = columns;
      }
      if (size == 0)
        break;
      rss += node.z[at(size - 1)] * node.z[at(size - 1)];
      columns &= ~(std::uint64_t{1} << node.columns[at(size - 1)]);
    }
  }

  // Sorts the free columns by their increase, and retriangularises R.
  void sort_free_columns(Node &node) {
    for (Index i = node.fixed; i < node.size; ++i)
      node.rss_increase[at(i)] = rss_increase(node, i);
    std::vector<Index> &order = order_;
    order.resize(at(node.size));
    for (Index i = 0; i < node.size; ++i)
      order[at(i)] = i;
    std::stable_sort(order.begin() + node.fixed, order.begin() + node.size,
                     [&](Index a, Index b) { return node.rss_increase[at(a)] > node.rss_increase[at(b)]; });
    permute(node, order);
    triangulate(node);
  }

  // Increase of the residual sum of squares without column i: the rotations that close its gap leave it in the last
  // row.
  double rss_increase(Node &node, Index i) {
    const Index m = node.size;
    double *carry = scratch_.data(); // the row that is rotated down
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

  void permute(Node &node, const std::vector<Index> &order) {
    const Index m = node.size;
    for (Index i = 0; i < m; ++i) {
      double *r = row(node, i);
      for (Index j = node.fixed; j < m; ++j)
        scratch_[at(j)] = order[at(j)] >= i ? r[order[at(j)]] : 0.0;
      std::copy(scratch_.begin() + node.fixed, scratch_.begin() + m, r + node.fixed);
    }
    for (Index j = node.fixed; j < m; ++j)
      scratch_[at(j)] = node.rss_increase[at(order[at(j)])];
    std::copy(scratch_.begin() + node.fixed, scratch_.begin() + m, node.rss_increase.begin() + node.fixed);
    columns_buffer_.resize(at(m));
    for (Index j = 0; j < m; ++j)
      columns_buffer_[at(j)] = node.columns[at(order[at(j)])];
    std::copy(columns_buffer_.begin(), columns_buffer_.end(), node.columns.begin());
  }

  // Zeros below the diagonal of the free columns, from the last row up.
  void triangulate(Node &node) {
    const Index m = node.size;
    for (Index j = node.fixed; j < m; ++j)
      for (Index i = m - 1; i > j; --i)
        rotate(node, i - 1, i, j, j);
  }

  // Givens rotation of rows a and b that zeroes entry (b, column); columns from `begin` on.
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

  void drop_column(Node &from, Index position, Node &to) {
    const Index m = from.size;
    to.size = m;
    to.fixed = position;
    for (Index i = 0; i < m; ++i) {
      const double *r = row(from, i);
      double *t = row(to, i);
      std::copy(r, r + position, t);
      std::copy(r + position + 1, r + m, t + position);
      t[m - 1] = 0.0;
    }
    std::copy(from.z.begin(), from.z.begin() + m, to.z.begin());
    std::copy(from.columns.begin(), from.columns.begin() + position, to.columns.begin());
    std::copy(from.columns.begin() + position + 1, from.columns.begin() + m, to.columns.begin() + position);
    for (Index i = position; i + 1 < m; ++i)
      rotate(to, i, i + 1, i, i);
    to.size = m - 1;
    to.rss = from.rss + to.z[at(m - 1)] * to.z[at(m - 1)];
  }

  Index p_, max_size_;
  const std::function<bool()> &should_continue_;
  BestSubsets best_;
  std::vector<Node> nodes_;
  std::vector<double> scratch_;
  std::vector<Index> order_, columns_buffer_;
};

} // namespace tenfold
