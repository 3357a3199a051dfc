// Agglomerative clustering along the edges of a graph: only clusters with an edge between them are merged.
//
// The nearest pair with an edge is merged; the union has the edges of both. Between A and B of a and b samples,
//   complete  the largest given distance, average the mean of the given distances that A and B have with a cluster,
//             weighted by a and b where both have one (scikit-learn's rules: where one has none, the other's counts),
//   ward      2 a b / (a + b) ||c_A - c_B||^2, centroid  ||c_A - c_B||^2, of the centroids of points.
// Pairs wait in a heap by distance, then by numbers; those with a cluster that is merged already are skipped. The tree
// may have inversions. O((n + edges) log n) for graphs of bounded degree.
#pragma once

#include "tenfold/nn_chain.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

namespace tenfold {

// Edge e joins first[e] > second[e], each pair once, and has distance[e]; for ward and centroid, points (n, p) and
// no distances. Merges until `clusters` are left.
class GraphLinkage {
public:
  GraphLinkage(Index n, std::span<const std::int64_t> first, std::span<const std::int64_t> second,
               std::span<const double> distance, const Dense<double> &points, Linkage linkage, Index clusters)
      : n_(n), nodes_(2 * n - clusters), linkage_(linkage), columns_(points.columns),
        size_(static_cast<std::size_t>(nodes_), 1.0), alive_(size_.size(), 1), edges_(size_.size()),
        value_(size_.size()), seen_(size_.size(), -1) {
    const bool centroids = linkage == Linkage::ward || linkage == Linkage::centroid;
    if (centroids) {
      centre_.assign(static_cast<std::size_t>(nodes_ * columns_), 0.0);
      std::copy_n(points.data, n * columns_, centre_.begin());
    }
    for (std::size_t e = 0; e < first.size(); ++e)
      connect(first[e], second[e], centroids ? distance_of(first[e], second[e]) : distance[e]);
  }

  MergeTree run() {
    MergeTree tree;
    for (Index next = n_; next < nodes_; ++next) {
      poll();
      const auto [d, a, b] = take_nearest();
      tree.children.push_back(std::min(a, b)), tree.children.push_back(std::max(a, b));
      tree.heights.push_back(d);
      alive_[at(a)] = alive_[at(b)] = 0;
      size_[at(next)] = size_[at(a)] + size_[at(b)];
      for (Index j = 0; j < columns_ && !centre_.empty(); ++j)
        centre(next)[j] = (size_[at(a)] * centre(a)[j] + size_[at(b)] * centre(b)[j]) / size_[at(next)];
      join_edges(a, b, next);
    }
    return tree;
  }

private:
  using Pair = std::tuple<double, std::int64_t, std::int64_t>;
  struct Edge {
    std::int64_t to;
    double distance;
  };

  static std::size_t at(std::int64_t node) { return static_cast<std::size_t>(node); }
  double *centre(std::int64_t node) { return centre_.data() + node * columns_; }

  double distance_of(std::int64_t a, std::int64_t b) {
    double square = 0.0;
    for (Index j = 0; j < columns_; ++j)
      square += (centre(a)[j] - centre(b)[j]) * (centre(a)[j] - centre(b)[j]);
    const double na = size_[at(a)], nb = size_[at(b)];
    return linkage_ == Linkage::ward ? 2.0 * na * nb / (na + nb) * square : square;
  }
  void connect(std::int64_t a, std::int64_t b, double distance) {
    edges_[at(a)].push_back({b, distance}), edges_[at(b)].push_back({a, distance});
    heap_.emplace(distance, a, b);
  }
  Pair take_nearest() {
    for (;;) {
      const Pair top = heap_.top();
      heap_.pop();
      if (alive_[at(std::get<1>(top))] && alive_[at(std::get<2>(top))])
        return top;
    }
  }
  void join_edges(std::int64_t a, std::int64_t b, std::int64_t next) {
    std::vector<std::int64_t> joined;
    for (const Edge &edge : edges_[at(a)])
      if (alive_[at(edge.to)]) {
        seen_[at(edge.to)] = next, value_[at(edge.to)] = edge.distance;
        joined.push_back(edge.to);
      }
    for (const Edge &edge : edges_[at(b)]) {
      if (!alive_[at(edge.to)])
        continue;
      double &value = value_[at(edge.to)];
      if (seen_[at(edge.to)] != next) {
        seen_[at(edge.to)] = next, value = edge.distance;
        joined.push_back(edge.to);
      } else if (linkage_ == Linkage::complete)
        value = std::max(value, edge.distance);
      else
        value = (size_[at(a)] * value + size_[at(b)] * edge.distance) / size_[at(next)];
    }
    edges_[at(a)] = {}, edges_[at(b)] = {};
    for (const std::int64_t to : joined)
      connect(next, to, centre_.empty() ? value_[at(to)] : distance_of(next, to));
  }

  Index n_, nodes_;
  Linkage linkage_;
  Index columns_;
  std::vector<double> size_;
  std::vector<char> alive_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<double> value_;
  std::vector<std::int64_t> seen_;
  std::vector<double> centre_;
  std::priority_queue<Pair, std::vector<Pair>, std::greater<Pair>> heap_;
};

} // namespace tenfold
