// Neighbours by a k-d tree, for samples of few features and the distances of Minkowski.
//
// The tree is flat: the samples in an order in which every node has a range of them, half of its parent's, and their
// bounding box; node i has the children 2 i + 1 and 2 i + 2, and all leaves are on one level. A node is split at the
// median of the feature in which its box is widest. A box is pruned where its nearest corner is farther than the k-th
// neighbour so far, with room for the rounding of both distances. Building: n log n; memory: the samples once more; a
// query reads a few leaves where features are few, and most samples where they are many.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/topk.hpp"

#include <cstdint>

namespace tenfold {

struct KdTreeShape {
  Index rows;
  Index columns;
  Index levels; // of splits

  KdTreeShape(Index n, Index d, Index leaf) : rows(n), columns(d), levels(0) {
    while ((n >> levels) > leaf)
      ++levels;
  }
  Index nodes() const { return (Index{2} << levels) - 1; }
  Index first_leaf() const { return (Index{1} << levels) - 1; }
};

struct KdTree {
  std::vector<std::int64_t> order; // (rows): the sample at each place
  std::vector<double> points;      // (rows, columns), in this order
  std::vector<double> boxes;       // (nodes, 2, columns): lowest and highest
};

// A view for searches.
struct KdTreeView {
  KdTreeShape shape;
  std::span<const std::int64_t> order;
  std::span<const double> points;
  std::span<const double> boxes;
};

template <class T> class KdTreeBuilder {
public:
  KdTreeBuilder(Dense<T> x, Index leaf) : x_(x), shape_(x.rows, x.columns, leaf), keys_(at(x.rows)) {
    tree_.order.resize(at(x.rows));
    for (Index i = 0; i < x.rows; ++i)
      tree_.order[at(i)] = i;
    tree_.boxes.resize(at(shape_.nodes() * 2 * x.columns));
    tree_.points.resize(at(x.rows * x.columns));
  }

  KdTree build(int threads) {
    std::vector<Range> ranges{{0, x_.rows}}, next;
    for (Index level = 0; level <= shape_.levels; ++level) {
      const Index first = (Index{1} << level) - 1;
      parallel(static_cast<Index>(ranges.size()), threads, [&](Index item, int) {
        const Range range = ranges[at(item)];
        compute_box(first + item, range);
        if (level < shape_.levels)
          split(first + item, range);
        else
          gather(range);
      });
      next.clear();
      for (const Range &range : ranges) {
        const Index middle = half(range);
        next.push_back({range.begin, middle});
        next.push_back({middle, range.end});
      }
      ranges.swap(next);
    }
    return std::move(tree_);
  }

  struct Range {
    Index begin, end;
  };
  static Index half(const Range &range) { return range.begin + (range.end - range.begin) / 2; }

private:
  struct Key {
    double value;
    std::int64_t row;
    bool operator<(const Key &other) const { return value < other.value || (value == other.value && row < other.row); }
  };
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void compute_box(Index node, const Range &range) {
    const Index d = x_.columns;
    double *low = tree_.boxes.data() + node * 2 * d, *high = low + d;
    std::fill_n(low, d, std::numeric_limits<double>::infinity());
    std::fill_n(high, d, -std::numeric_limits<double>::infinity());
    for (Index i = range.begin; i < range.end; ++i) {
      const T *row = x_.data + tree_.order[at(i)] * d;
      for (Index j = 0; j < d; ++j) {
        const double value = static_cast<double>(row[j]);
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
      }
    }
  }
  void split(Index node, const Range &range) {
    const Index d = x_.columns;
    const double *low = tree_.boxes.data() + node * 2 * d, *high = low + d;
    Index widest = 0;
    for (Index j = 1; j < d; ++j)
      if (high[j] - low[j] > high[widest] - low[widest])
        widest = j;
    for (Index i = range.begin; i < range.end; ++i) {
      const std::int64_t row = tree_.order[at(i)];
      keys_[at(i)] = {static_cast<double>(x_.data[row * d + widest]), row};
    }
    const auto begin = keys_.begin();
    std::nth_element(begin + range.begin, begin + half(range), begin + range.end);
    for (Index i = range.begin; i < range.end; ++i)
      tree_.order[at(i)] = keys_[at(i)].row;
  }
  void gather(const Range &range) {
    const Index d = x_.columns;
    for (Index i = range.begin; i < range.end; ++i)
      for (Index j = 0; j < d; ++j)
        tree_.points[at(i * d + j)] = static_cast<double>(x_.data[tree_.order[at(i)] * d + j]);
  }

  Dense<T> x_;
  KdTreeShape shape_;
  std::vector<Key> keys_;
  KdTree tree_;
};

// Terms of a reduced distance: their sum, or their maximum.
struct SquareTerm {
  double operator()(double sum, double difference) const { return sum + difference * difference; }
};
struct SizeTerm {
  double operator()(double sum, double difference) const { return sum + std::fabs(difference); }
};
struct LargestTerm {
  double operator()(double sum, double difference) const { return std::max(sum, std::fabs(difference)); }
};
struct PowerTerm {
  double p;
  double operator()(double sum, double difference) const { return sum + std::pow(std::fabs(difference), p); }
};

template <class Term, Index fixed, class Results> class KdTreeSearch {
public:
  KdTreeSearch(const KdTreeView &tree, Dense<double> queries, Term term)
      : tree_(tree), q_(queries), term_(term), room_(1.0 - 0x1p-50 * static_cast<double>(tree.shape.columns + 4)) {}

  void search(const Queries &queries, Results &results, int threads) const {
    constexpr Index together = 64;
    const Index items = (queries.end - queries.begin + together - 1) / together;
    parallel(items, threads, [&](Index item, int) {
      auto collector = results.make();
      const Index first = queries.begin + item * together;
      for (Index q = first; q < std::min(queries.end, first + together); ++q) {
        results.start(collector, q);
        const Visit visit{q_.data + q * q_.columns, queries.self(q), collector};
        descend(visit, 0, 0, tree_.shape.rows, corner(visit.query, 0));
        results.finish(collector, q);
      }
    });
  }

private:
  struct Visit {
    const double *query;
    Index self;
    typename Results::Collector &collector;
  };

  Index columns() const { return fixed > 0 ? fixed : tree_.shape.columns; }

  // The reduced distance of the nearest corner of a box.
  double corner(const double *query, Index node) const {
    const Index d = columns();
    const double *low = tree_.boxes.data() + node * 2 * d, *high = low + d;
    double sum = 0.0;
    for (Index j = 0; j < d; ++j) {
      const double under = low[j] - query[j], over = query[j] - high[j];
      sum = term_(sum, std::max(std::max(under, over), 0.0));
    }
    return sum;
  }

  void descend(const Visit &visit, Index node, Index begin, Index end, double bound) const {
    if (bound * room_ > visit.collector.worst())
      return;
    if (node >= tree_.shape.first_leaf()) {
      leaf(visit, begin, end);
      return;
    }
    const Index middle = begin + (end - begin) / 2, left = 2 * node + 1, right = left + 1;
    const double to_left = corner(visit.query, left), to_right = corner(visit.query, right);
    if (to_left <= to_right) {
      descend(visit, left, begin, middle, to_left);
      descend(visit, right, middle, end, to_right);
    } else {
      descend(visit, right, middle, end, to_right);
      descend(visit, left, begin, middle, to_left);
    }
  }

  void leaf(const Visit &visit, Index begin, Index end) const {
    const Index d = columns();
    double worst = visit.collector.worst();
    for (Index i = begin; i < end; ++i) {
      const double *point = tree_.points.data() + i * d;
      double sum = 0.0;
      for (Index j = 0; j < d; ++j)
        sum = term_(sum, point[j] - visit.query[j]);
      const std::int64_t row = tree_.order[static_cast<std::size_t>(i)];
      if (sum > worst || row == visit.self)
        continue;
      visit.collector.offer(sum, row);
      worst = visit.collector.worst();
    }
  }

  const KdTreeView &tree_;
  Dense<double> q_;
  Term term_;
  double room_;
};

} // namespace tenfold
