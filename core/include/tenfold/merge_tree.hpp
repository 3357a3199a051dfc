// Merges of clusters, and the tree that they make.
//
// A merge is an edge between a sample of each of the two clusters, with a height. Edges are taken in order of their
// heights, equal ones as they come, by a union-find structure with path halving; an edge within a cluster is skipped,
// so that from the edges of a graph this is Kruskal's minimum spanning forest. Node i < n is a sample, node n + t the
// cluster of the t-th merge; children are sorted.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct Merges {
  std::vector<std::int64_t> first, second;
  std::vector<double> height;

  void add(Index a, Index b, double h) { first.push_back(a), second.push_back(b), height.push_back(h); }
};

struct MergeTree {
  std::vector<std::int64_t> children; // (merges, 2)
  std::vector<double> heights;
};

class UnionFind {
public:
  explicit UnionFind(Index size) : parent_(static_cast<std::size_t>(size)) {
    std::iota(parent_.begin(), parent_.end(), std::int64_t{0});
  }
  std::int64_t find(std::int64_t node) {
    for (std::int64_t &up = at(node); up != node; up = at(node)) {
      up = at(up);
      node = up;
    }
    return node;
  }
  void join(std::int64_t node, std::int64_t root) { at(node) = root; }

private:
  std::int64_t &at(std::int64_t node) { return parent_[static_cast<std::size_t>(node)]; }
  std::vector<std::int64_t> parent_;
};

inline MergeTree build_merge_tree(Index n, std::span<const std::int64_t> first, std::span<const std::int64_t> second,
                                  std::span<const double> height) {
  std::vector<std::size_t> order(height.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return height[a] < height[b]; });
  MergeTree tree;
  UnionFind clusters(std::max<Index>(1, 2 * n - 1));
  std::int64_t next = n;
  for (const std::size_t e : order) {
    const std::int64_t a = clusters.find(first[e]), b = clusters.find(second[e]);
    if (a == b)
      continue;
    tree.children.push_back(std::min(a, b)), tree.children.push_back(std::max(a, b));
    tree.heights.push_back(height[e]);
    clusters.join(a, next), clusters.join(b, next);
    ++next;
  }
  return tree;
}

} // namespace tenfold
