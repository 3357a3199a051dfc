// Sums of the columns by class: the statistics of naive Bayes.
//
// Given X (n x p), weights (or none) and the class of each sample, returns for every class c
//   weight_c = sum w,   sums_c = sum w f(x),   and optionally   squares_c = sum w (x - shift_c)^2,
// where f(x) is x, x - shift_c, or the indicator of x > threshold. Samples of weight zero are skipped.
// Flops: n p (4 with squares); bytes: X once. Partial sums by partition, fewer where they are large; with a single
// partition the classes are distributed over threads.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/row_groups.hpp"
#include "tenfold/tile_products.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

namespace tenfold {

// What is summed: values, indicators of values above a threshold, or moments about a shift.
struct SumOfValues {};
struct CountAbove {
  double threshold;
};
struct CentredMoments {
  const double *shift; // (classes, columns)
};

struct ClassSums {
  std::vector<double> weight;  // (classes)
  std::vector<double> sums;    // (classes, columns)
  std::vector<double> squares; // (classes, columns), or empty
  // The smallest value; with a threshold infinity, or NaN where a value is not finite.
  double low = std::numeric_limits<double>::infinity();
};

template <class T>
double add_row(const Dense<T> &x, Index row, Index, double w, SumOfValues, double low, double *sums, double *) {
  const T *values = x.data + row * x.columns;
  kernels().dense<T>().axpy(w, values, x.columns, sums);
  return kernels().dense<T>().min_value(values, x.columns, low);
}
template <class T>
double add_row(const Dense<T> &x, Index row, Index, double w, CountAbove above, double low, double *sums, double *) {
  return low + kernels().dense<T>().count_above(w, x.data + row * x.columns, above.threshold, x.columns, sums);
}
template <class T>
double add_row(const Dense<T> &x, Index row, Index c, double w, CentredMoments about, double low, double *sums,
               double *squares) {
  kernels().dense<T>().add_centred_moments(w, x.data + row * x.columns, about.shift + c * x.columns, x.columns, sums,
                                           squares);
  return low;
}
template <class T, class I>
double add_row(const Sparse<T, I> &x, Index row, Index, double w, SumOfValues, double low, double *sums, double *) {
  const auto *indptr = x.indptr.data();
  const T *data = x.data.data();
  const I *indices = x.indices.data();
  const auto columns = static_cast<std::size_t>(x.columns);
  const std::int64_t end = indptr[row + 1];
  double least[4] = {low, low, low, low}; // four chains of comparisons
  bool good = true;
  for (std::int64_t k = indptr[row]; k < end && good; k += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, end - k);
    for (std::int64_t u = 0; u < count; ++u)
      good &= static_cast<std::size_t>(indices[k + u]) < columns;
    for (std::int64_t u = 0; u < count && good; ++u) {
      const double value = static_cast<double>(data[k + u]);
      least[u] = value < least[u] ? value : least[u];
      sums[indices[k + u]] += w * value;
    }
  }
  require_columns(good);
  return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}
template <class T, class I>
double add_row(const Sparse<T, I> &x, Index row, Index, double w, CountAbove above, double low, double *sums,
               double *) {
  const auto *indptr = x.indptr.data();
  bool good = true;
  for (std::int64_t k = indptr[row]; k < indptr[row + 1]; ++k) {
    const auto j = static_cast<Index>(x.indices.data()[k]);
    const double value = static_cast<double>(x.data.data()[k]);
    low += 0.0 * value;
    if (j >= 0 && j < x.columns)
      sums[j] += value > above.threshold ? w : 0.0;
    else
      good = false;
  }
  require_columns(good);
  return low;
}

constexpr std::size_t max_cached_bytes = std::size_t{1} << 18; // of sums that rows are added to in any order

// Number of partitions such that reducing their sums costs a small part of the loop.
inline Index max_class_partitions(double entries, Index size) {
  return static_cast<Index>(std::clamp(entries / (4.0 * static_cast<double>(std::max<Index>(1, size))), 1.0, 16.0));
}

template <class T> double stored_entries(const Dense<T> &x) {
  return static_cast<double>(x.rows) * static_cast<double>(x.columns);
}
template <class T, class I> double stored_entries(const Sparse<T, I> &x) { return static_cast<double>(x.data.size()); }

template <class Rows, class What>
ClassSums class_sums(const Rows &x, std::span<const double> weight, std::span<const std::int32_t> group, Index classes,
                     What what, int threads) {
  constexpr bool squared = std::is_same_v<What, CentredMoments>;
  check_weights(weight);
  for (const std::int32_t c : group)
    if (c < 0 || c >= classes)
      throw std::invalid_argument("class numbers must be at least 0 and below the number of classes");
  const Index p = x.columns, size = classes * p;
  const Index stride = ((squared ? 2 : 1) * size + classes + lanes - 1) / lanes * lanes;
  const Index partitions = partition_count(x.rows, row_work(x), max_class_partitions(stored_entries(x), stride));
  // Where partial sums are too large, threads take classes: the rows of each are still added in order. Sums beyond the
  // cache are taken a class at a time by one thread, too.
  const bool beyond_cache = static_cast<std::size_t>(stride) * sizeof(double) > max_cached_bytes;
  const Index each = beyond_cache ? std::min<Index>(classes, 16) : 1;
  const Index parts = partitions == 1 ? std::max(each, partition_count(x.rows, row_work(x), classes)) : 1;
  Buffer sums(partitions * stride);
  std::vector<double> low(static_cast<std::size_t>(partitions * parts));
  parallel(partitions * parts, threads, [&](Index item, int) {
    const Index partition = item / parts, part = item % parts;
    const Range range = partition_range(x.rows, partitions, partition);
    double *first = sums.data() + partition * stride, *second = first + size,
           *weights = first + (squared ? 2 : 1) * size;
    double least = std::numeric_limits<double>::infinity();
    for (Index i = range.begin; i < range.end; ++i) {
      const double w = weight.empty() ? 1.0 : weight.data()[i];
      const Index c = group.data()[i];
      if (w == 0.0 || c % parts != part)
        continue;
      weights[c] += w;
      least = add_row(x, i, c, w, what, least, first + c * p, second + c * p);
    }
    low[static_cast<std::size_t>(item)] = least;
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  ClassSums out;
  const double *all = sums.data();
  out.sums.assign(all, all + size);
  if (squared)
    out.squares.assign(all + size, all + 2 * size);
  const double *weights = all + (squared ? 2 : 1) * size;
  out.weight.assign(weights, weights + classes);
  for (const double least : low)
    out.low = least < out.low || std::isnan(least) ? least : out.low;
  return out;
}

// Means of the first 64 samples of every class as first row + mean difference, exact for constant columns: shifts about
// which sums of squares lose few digits.
template <class T>
std::vector<double> estimate_class_means(const Dense<T> &x, std::span<const double> weight,
                                         std::span<const std::int32_t> group, Index classes) {
  constexpr Index enough = 64;
  const Index p = x.columns;
  std::vector<double> means(static_cast<std::size_t>(classes * p));
  std::vector<Index> first(static_cast<std::size_t>(classes), -1), count(static_cast<std::size_t>(classes));
  Index pending = classes;
  for (Index i = 0; i < x.rows && pending > 0; ++i) {
    const Index c = group.data()[i];
    if (c < 0 || c >= classes || count[static_cast<std::size_t>(c)] == enough ||
        (!weight.empty() && weight.data()[i] == 0.0))
      continue;
    if (first[static_cast<std::size_t>(c)] < 0)
      first[static_cast<std::size_t>(c)] = i;
    const T *row_values = x.data + i * p, *first_values = x.data + first[static_cast<std::size_t>(c)] * p;
    double *mean = means.data() + c * p;
    for (Index j = 0; j < p; ++j)
      mean[j] += static_cast<double>(row_values[j]) - static_cast<double>(first_values[j]);
    pending -= ++count[static_cast<std::size_t>(c)] == enough;
  }
  for (Index c = 0; c < classes; ++c)
    if (first[static_cast<std::size_t>(c)] >= 0)
      for (Index j = 0; j < p; ++j) {
        const double base = static_cast<double>(x.data[first[static_cast<std::size_t>(c)] * p + j]);
        const double mean =
            base + means[static_cast<std::size_t>(c * p + j)] / static_cast<double>(count[static_cast<std::size_t>(c)]);
        means[static_cast<std::size_t>(c * p + j)] = std::isfinite(mean) ? mean : base;
      }
  return means;
}

// z_ik = sum_j (scale_kj (x_ij - centre_kj))^2: scaled squared distances from the classes. One pass over X.
template <class T>
void scaled_distances(const Dense<T> &x, std::span<const double> centre, std::span<const double> scale, Index classes,
                      int threads, std::span<double> z) {
  const Index tile = tile_rows(x);
  const Index partitions = partition_count(x.rows, 2.0 * row_work(x) * static_cast<double>(classes), 64);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile)
      kernels().dense<T>().scaled_distances(x.data + i * x.columns, std::min(tile, range.end - i), x.columns,
                                            centre.data(), scale.data(), classes, z.data() + i * classes);
  });
}

} // namespace tenfold
