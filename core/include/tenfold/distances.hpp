// Reduced distances of a sample to a query, in float64, for DirectPairs (pairwise.hpp). Names and meanings are
// scikit-learn's.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tenfold {

enum class Metric : int {
  squares,     // sum_j (x_j - q_j)^2, whose root is the Euclidean distance
  city_block,  // sum_j |x_j - q_j|
  chessboard,  // max_j |x_j - q_j|
  powers,      // sum_j |x_j - q_j|^p, whose p-th root is Minkowski's distance
  hamming,     // the share of entries that differ
  canberra,    // sum_j |x_j - q_j| / (|x_j| + |q_j|), 0 / 0 = 0
  bray_curtis, // sum_j |x_j - q_j| / sum_j |x_j + q_j|
  haversine,   // angle on a sphere between two (latitude, longitude) in radians
  known        // sum of (x_j - q_j)^2 over the entries that both have, times d over their number: its root is wanted
};

// Samples and queries of a distance that is taken entry by entry.
template <class T, class Term> struct Entries {
  Dense<T> x;
  Dense<double> q;
  Term term;

  double operator()(Index row, Index query) const {
    return term(x.data + row * x.columns, q.data + query * x.columns, x.columns);
  }
};

struct Powers {
  double p;
  template <class T> double operator()(const T *x, const double *q, Index d) const {
    double sum = 0.0;
    for (Index j = 0; j < d; ++j)
      sum += std::pow(std::fabs(static_cast<double>(x[j]) - q[j]), p);
    return sum;
  }
};

// The loops that are compiled for every instruction set (isa/distances.hpp).
template <class T> struct Compiled {
  double (*loop)(const T *x, const double *q, Index columns);
  double operator()(const T *x, const double *q, Index d) const { return loop(x, q, d); }
};

struct Hamming {
  double operator()(const double *x, const double *q, Index d) const {
    Index apart = 0;
    for (Index j = 0; j < d; ++j)
      apart += x[j] != q[j];
    return static_cast<double>(apart) / static_cast<double>(d);
  }
};

struct Canberra {
  double operator()(const double *x, const double *q, Index d) const {
    double sum = 0.0;
    for (Index j = 0; j < d; ++j) {
      const double size = std::fabs(x[j]) + std::fabs(q[j]);
      sum += size > 0.0 ? std::fabs(x[j] - q[j]) / size : 0.0;
    }
    return sum;
  }
};

struct BrayCurtis {
  double operator()(const double *x, const double *q, Index d) const {
    double above = 0.0, below = 0.0;
    for (Index j = 0; j < d; ++j) {
      above += std::fabs(x[j] - q[j]);
      below += std::fabs(x[j] + q[j]);
    }
    return below > 0.0 ? above / below : 0.0;
  }
};

struct Haversine {
  double operator()(const double *x, const double *q, Index) const {
    const double up = std::sin(0.5 * (x[0] - q[0])), across = std::sin(0.5 * (x[1] - q[1]));
    return 2.0 * std::asin(std::sqrt(up * up + std::cos(x[0]) * std::cos(q[0]) * across * across));
  }
};

struct Known {
  double operator()(const double *x, const double *q, Index d) const {
    double sum = 0.0;
    Index both = 0;
    for (Index j = 0; j < d; ++j) {
      const double difference = x[j] - q[j];
      if (!std::isnan(difference)) {
        sum += difference * difference;
        ++both;
      }
    }
    return both == 0 ? std::nan("") : sum * static_cast<double>(d) / static_cast<double>(both);
  }
};

// Distances of sets, each in 64-bit words, from four counts: entries true in both, in one, in the other, in none.
enum class SetMetric : int { dice, hamming, jaccard, rogers_tanimoto, russell_rao, sokal_michener, sokal_sneath, yule };

struct Sets {
  Dense<std::uint64_t> x;
  Dense<std::uint64_t> q;
  Index columns; // bits that count
  SetMetric metric;

  double operator()(Index row, Index query) const {
    const std::uint64_t *a = x.data + row * x.columns, *b = q.data + query * q.columns;
    Index both = 0, either = 0, first = 0;
    for (Index w = 0; w < x.columns; ++w) {
      both += std::popcount(a[w] & b[w]);
      either += std::popcount(a[w] | b[w]);
      first += std::popcount(a[w]);
    }
    return of_counts(static_cast<double>(both), static_cast<double>(first - both), static_cast<double>(either - first),
                     static_cast<double>(columns - either));
  }

private:
  double of_counts(double both, double one, double other, double none) const {
    const double apart = one + other, all = static_cast<double>(columns);
    switch (metric) {
    case SetMetric::dice:
      return apart == 0.0 ? 0.0 : apart / (2.0 * both + apart);
    case SetMetric::jaccard:
      return apart == 0.0 ? 0.0 : apart / (both + apart);
    case SetMetric::rogers_tanimoto:
    case SetMetric::sokal_michener:
      return 2.0 * apart / (all + apart);
    case SetMetric::russell_rao:
      return (all - both) / all;
    case SetMetric::sokal_sneath:
      return apart == 0.0 ? 0.0 : 2.0 * apart / (both + 2.0 * apart);
    case SetMetric::yule:
      return one * other == 0.0 ? 0.0 : 2.0 * one * other / (both * none + one * other);
    default:
      return apart / all;
    }
  }
};

// Distances that are given, (queries x rows).
struct Table {
  Dense<double> distances;
  double operator()(Index row, Index query) const { return distances.data[query * distances.columns + row]; }
};

} // namespace tenfold
