// The nearest rows of a query, or all rows within a distance: what every search offers its candidates to.
//
// Distances inside a search are reduced: squares where the distance is a root, sums of powers where it is their root.
// Order is by reduced distance and then by row, so that the answer is one, whatever the order of the offers. A distance
// that is not a number is as far as infinity.
#pragma once

#include "tenfold/types.hpp"

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

// A candidate counts if its distance is not above worst(), which never rises.
class Nearest {
public:
  explicit Nearest(Index k) : k_(static_cast<std::size_t>(k)) { heap_.reserve(k_); }

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
  std::vector<Neighbour> &found() { return heap_; }

private:
  std::size_t k_;
  std::vector<Neighbour> heap_; // the farthest first
};

class Within {
public:
  void start(double limit) {
    limit_ = limit;
    found_.clear();
  }
  double worst() const { return limit_; }
  void offer(double distance, Index row) {
    if (distance <= limit_)
      found_.push_back({distance, row});
  }
  std::vector<Neighbour> &found() { return found_; }

private:
  double limit_ = 0.0;
  std::vector<Neighbour> found_;
};

// Where the k nearest rows of all queries go: distances and rows (queries x k), the nearest first.
struct KeepNearest {
  using Collector = Nearest;
  Index k;
  Finish finish;
  double *distances;
  std::int64_t *rows;

  Collector make() const { return Nearest(k); }
  void start(Collector &collector, Index) const { collector.start(); }
  void keep(Collector &collector, Index query) {
    std::sort_heap(collector.found().begin(), collector.found().end());
    for (Index i = 0; i < k; ++i) {
      const Neighbour &one = collector.found()[static_cast<std::size_t>(i)];
      distances[query * k + i] = finish(one.distance);
      rows[query * k + i] = one.row;
    }
  }
};

// Where the rows within reduced distances of the queries go, by rows or by distance.
struct KeepWithin {
  using Collector = Within;
  std::span<const double> limits; // of each query
  bool by_distance;
  std::vector<std::vector<Neighbour>> found;

  Collector make() const { return Within(); }
  void start(Collector &collector, Index query) const { collector.start(limits[static_cast<std::size_t>(query)]); }
  void keep(Collector &collector, Index query) {
    std::vector<Neighbour> &list = collector.found();
    if (by_distance)
      std::sort(list.begin(), list.end());
    else
      std::sort(list.begin(), list.end(), [](const Neighbour &a, const Neighbour &b) { return a.row < b.row; });
    found[static_cast<std::size_t>(query)] = list;
  }
};

// Queries that are asked, and the row that each is itself (or -1), which is not its own neighbour; empty: none is.
struct Queries {
  Index begin;
  Index end;
  std::span<const std::int64_t> own;

  Index self(Index query) const { return own.empty() ? -1 : own[static_cast<std::size_t>(query)]; }
};

} // namespace tenfold
