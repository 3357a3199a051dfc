// Neighbours of sparse queries among sparse samples, Euclidean or Manhattan.
//
// The samples are also given column by column. For a query, n_j + m plus what its columns add - where both have an
// entry,
//   squares: -2 x q        city blocks: |x - q| - |x| - |q|
// with n_j and m the distances from zero - is the reduced distance of sample j up to rounding e (n_j + m), e = (entries
// of the query + 8) 2^-51. Candidates are measured again by merging both lists of entries, without cancellation. Work:
// the entries that queries and samples have in common, and one comparison a pair.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/topk.hpp"

#include <cmath>

namespace tenfold {

struct SparseSquares {
  static double alone(double x) { return x * x; }
  static double common(double x, double q) { return -2.0 * x * q; }
  static double both(double x, double q) { return (x - q) * (x - q); }
};
struct SparseSizes {
  static double alone(double x) { return std::fabs(x); }
  static double common(double x, double q) { return std::fabs(x - q) - std::fabs(x) - std::fabs(q); }
  static double both(double x, double q) { return std::fabs(x - q); }
};

template <class Term, class I> class CsrSearch {
public:
  // `columns` are the samples x, column by column; all have their indices in order, each once. All must outlive this.
  CsrSearch(const Sparse<double, I> &x, const Sparse<double, I> &columns, const Sparse<double, I> &queries)
      : x_(x), columns_(columns), q_(queries), sizes_(static_cast<std::size_t>(x.rows)) {
    for (Index i = 0; i < x.rows; ++i)
      sizes_[static_cast<std::size_t>(i)] = alone(x_, i);
  }

  template <class Results> void search(const Queries &queries, Results &results, int threads) const {
    constexpr Index together = 16;
    const Index items = (queries.end - queries.begin + together - 1) / together;
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(threads));
    parallel(items, threads, [&](Index item, int worker) {
      auto &own = sums[static_cast<std::size_t>(worker)];
      own.resize(static_cast<std::size_t>(x_.rows));
      auto collector = results.make();
      const Index first = queries.begin + item * together;
      for (Index q = first; q < std::min(queries.end, first + together); ++q) {
        results.start(collector, q);
        one(q, queries.self(q), own, collector);
        results.finish(collector, q);
      }
    });
  }

private:
  static std::size_t start(const Sparse<double, I> &x, Index i) {
    return static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(i)]);
  }
  static double alone(const Sparse<double, I> &x, Index i) {
    double sum = 0.0;
    for (std::size_t e = start(x, i); e < start(x, i + 1); ++e)
      sum += Term::alone(x.data[e]);
    return sum;
  }

  template <class Collector> void one(Index q, Index self, std::vector<double> &sums, Collector &collector) const {
    std::copy(sizes_.begin(), sizes_.end(), sums.begin());
    for (std::size_t e = start(q_, q); e < start(q_, q + 1); ++e) {
      const Index column = static_cast<Index>(q_.indices[e]);
      for (std::size_t f = start(columns_, column); f < start(columns_, column + 1); ++f)
        sums[static_cast<std::size_t>(columns_.indices[f])] += Term::common(columns_.data[f], q_.data[e]);
    }
    const double size = alone(q_, q), error = static_cast<double>(start(q_, q + 1) - start(q_, q) + 8) * 0x1p-51;
    double worst = collector.worst();
    for (Index j = 0; j < x_.rows; ++j) {
      const auto row = static_cast<std::size_t>(j);
      if (sums[row] + size - error * (sizes_[row] + size) > worst || j == self)
        continue;
      const double exact = distance(j, q);
      if (exact > worst)
        continue;
      collector.offer(exact, j);
      worst = collector.worst();
    }
  }

  double distance(Index row, Index query) const {
    std::size_t a = start(x_, row), b = start(q_, query);
    const std::size_t a_end = start(x_, row + 1), b_end = start(q_, query + 1);
    double sum = 0.0;
    while (a < a_end && b < b_end) {
      const I left = x_.indices[a], right = q_.indices[b];
      if (left == right)
        sum += Term::both(x_.data[a++], q_.data[b++]);
      else
        sum += left < right ? Term::alone(x_.data[a++]) : Term::alone(q_.data[b++]);
    }
    for (; a < a_end; ++a)
      sum += Term::alone(x_.data[a]);
    for (; b < b_end; ++b)
      sum += Term::alone(q_.data[b]);
    return sum;
  }

  const Sparse<double, I> &x_, &columns_, &q_;
  std::vector<double> sizes_;
};

} // namespace tenfold
