// Running reductions of distances: the k nearest samples of a query, or all samples within a radius. Every search
// offers its candidates to these.
//
// Distances inside a search are reduced: squares where the distance is a root, sums of powers where it is their root.
// Order is by reduced distance and then by sample, so that the answer is one, whatever the order of the candidates. A
// distance that is not a number counts as infinity.
#pragma once

#include "tenfold/pairwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct Neighbour {
  double distance;
  std::int64_t row;

  bool operator<(const Neighbour &other) const {
    return distance < other.distance || (distance == other.distance && row < other.row);
  }
};

// From a reduced distance to a distance.
struct Finish {
  enum Kind : int { identity, root, half, power };
  Kind kind;
  double exponent; // of `power`

  double operator()(double reduced) const {
    switch (kind) {
    case root:
      return std::sqrt(reduced);
    case half:
      return 0.5 * reduced;
    case power:
      return std::pow(reduced, exponent);
    default:
      return reduced;
    }
  }
};

// The k nearest, in a heap. A candidate counts if its distance is not above worst(), which never rises.
class TopK {
public:
  explicit TopK(Index k) : k_(static_cast<std::size_t>(k)) { heap_.reserve(k_); }

  void start() { heap_.clear(); }
  double worst() const { return heap_.size() < k_ ? std::numeric_limits<double>::infinity() : heap_.front().distance; }
  void offer(double distance, Index row) {
    const Neighbour next{std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance, row};
    if (heap_.size() < k_) {
      heap_.push_back(next);
      std::push_heap(heap_.begin(), heap_.end());
    } else if (next < heap_.front()) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.back() = next;
      std::push_heap(heap_.begin(), heap_.end());
    }
  }
  std::vector<Neighbour> &neighbours() { return heap_; }

private:
  std::size_t k_;
  std::vector<Neighbour> heap_; // the farthest first
};

// All within a reduced distance.
class WithinRadius {
public:
  void start(double limit) {
    limit_ = limit;
    neighbours_.clear();
  }
  double worst() const { return limit_; }
  void offer(double distance, Index row) {
    if (distance <= limit_)
      neighbours_.push_back({distance, row});
  }
  std::vector<Neighbour> &neighbours() { return neighbours_; }

private:
  double limit_ = 0.0;
  std::vector<Neighbour> neighbours_;
};

template <class Collector> void offer_row(Collector &collector, const TileRow &row) {
  double worst = collector.worst();
  for (Index j = 0; j < row.count; ++j) {
    if (row.values[j] > worst || row.first + j == row.self)
      continue;
    collector.offer(row.values[j], row.first + j);
    worst = collector.worst();
  }
}

// Reduction to the k nearest of all queries: distances and samples (queries x k), the nearest first.
struct TopKResults {
  using Collector = TopK;
  Index k;
  Finish distance;
  double *distances;
  std::int64_t *rows;

  Collector make() const { return TopK(k); }
  void start(Collector &collector, Index) const { collector.start(); }
  void add(Collector &collector, const TileRow &row) const { offer_row(collector, row); }
  void finish(Collector &collector, Index query) {
    std::sort_heap(collector.neighbours().begin(), collector.neighbours().end());
    for (Index i = 0; i < k; ++i) {
      const Neighbour &one = collector.neighbours()[static_cast<std::size_t>(i)];
      distances[query * k + i] = distance(one.distance);
      rows[query * k + i] = one.row;
    }
  }
};

// Reduction to the samples within reduced distances of the queries, in the order of the samples or by distance.
struct RadiusResults {
  using Collector = WithinRadius;
  std::span<const double> limits; // of each query
  bool by_distance;
  std::vector<std::vector<Neighbour>> lists;

  Collector make() const { return WithinRadius(); }
  void start(Collector &collector, Index query) const { collector.start(limits[static_cast<std::size_t>(query)]); }
  void add(Collector &collector, const TileRow &row) const { offer_row(collector, row); }
  void finish(Collector &collector, Index query) {
    std::vector<Neighbour> &list = collector.neighbours();
    if (by_distance)
      std::sort(list.begin(), list.end());
    else
      std::sort(list.begin(), list.end(), [](const Neighbour &a, const Neighbour &b) { return a.row < b.row; });
    lists[static_cast<std::size_t>(query)] = list;
  }
};

} // namespace tenfold
