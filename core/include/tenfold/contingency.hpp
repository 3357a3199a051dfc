// Categorical columns by class: category counts and the scores of naive Bayes.
//
// A value stands for its integer part; NaN is missing.
//   category_ranges   smallest and largest value of each column, and whether all are finite
//   category_counts   sums of the weights, entry (starts_j + v, c) for category v of column j in class c
//   category_scores   z_ik = intercept_k + sum_j table(starts_j + x_ij, k)
// Samples of weight zero are skipped in the sums. One pass over X each.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/class_sums.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct CategoryRanges {
  std::vector<double> low, high; // (columns); infinity and minus infinity where all are missing
  bool finite = true;
};

template <class T> CategoryRanges category_ranges(const Dense<T> &x, std::span<const double> weight, int threads) {
  const Index p = x.columns, partitions = partition_count(x.rows, row_work(x)),
              stride = (2 * p + lanes - 1) / lanes * lanes;
  const double infinite = std::numeric_limits<double>::infinity();
  Buffer ends(partitions * stride);
  parallel(partitions, threads, [&](Index partition, int) {
    double *low = ends.data() + partition * stride, *high = low + p;
    std::fill_n(low, p, infinite);
    std::fill_n(high, p, -infinite);
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; ++i) {
      if (!weight.empty() && weight[static_cast<std::size_t>(i)] == 0.0)
        continue;
      const T *row = x.data + i * p;
      for (Index j = 0; j < p; ++j) {
        const double value = static_cast<double>(row[j]);
        low[j] = value < low[j] ? value : low[j];
        high[j] = value > high[j] ? value : high[j];
      }
    }
  });
  CategoryRanges out;
  out.low.assign(static_cast<std::size_t>(p), infinite);
  out.high.assign(static_cast<std::size_t>(p), -infinite);
  for (Index partition = 0; partition < partitions; ++partition)
    for (Index j = 0; j < p; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out.low[at] = std::min(out.low[at], ends[partition * stride + j]);
      out.high[at] = std::max(out.high[at], ends[partition * stride + p + j]);
    }
  for (Index j = 0; j < p; ++j)
    out.finite &= out.low[static_cast<std::size_t>(j)] > -infinite && out.high[static_cast<std::size_t>(j)] < infinite;
  return out;
}

// starts: (columns + 1). Every value must be in the range of its column.
template <class T>
ClassSums category_counts(const Dense<T> &x, std::span<const double> weight, std::span<const std::int32_t> group,
                          Index classes, std::span<const std::int64_t> starts, int threads) {
  const Index p = x.columns, size = starts[static_cast<std::size_t>(p)] * classes;
  const Index stride = (size + classes + lanes - 1) / lanes * lanes;
  const Index partitions = partition_count(x.rows, 4.0 * row_work(x), max_class_partitions(stored_entries(x), stride));
  check_weights(weight);
  for (const std::int32_t c : group)
    if (c < 0 || c >= classes)
      throw std::invalid_argument("class numbers must be at least 0 and below the number of classes");
  Buffer sums(partitions * stride);
  std::vector<char> good(static_cast<std::size_t>(partitions), 1);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *local = sums.data() + partition * stride;
    bool inside = true;
    for (Index i = range.begin; i < range.end; ++i) {
      const double w = weight.empty() ? 1.0 : weight.data()[i];
      if (w == 0.0)
        continue;
      const Index c = group.data()[i];
      local[size + c] += w;
      const T *row = x.data + i * p;
      for (Index j = 0; j < p; ++j) {
        const double value = static_cast<double>(row[j]);
        if (value != value)
          continue;
        const std::int64_t first = starts.data()[j], room = starts.data()[j + 1] - first;
        if (value > -1.0 && value < static_cast<double>(room))
          local[(first + static_cast<std::int64_t>(value)) * classes + c] += w;
        else
          inside = false;
      }
    }
    good[static_cast<std::size_t>(partition)] = inside;
  });
  if (std::find(good.begin(), good.end(), 0) != good.end())
    throw std::invalid_argument("a category is outside the range of its column");
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  ClassSums out;
  out.sums.assign(sums.data(), sums.data() + size);
  out.weight.assign(sums.data() + size, sums.data() + size + classes);
  return out;
}

// Returns the flat index of the first unknown category, or -1.
template <class T>
Index category_scores(const Dense<T> &x, std::span<const double> table, std::span<const double> intercept,
                      std::span<const std::int64_t> starts, int threads, std::span<double> z) {
  constexpr Index side = 8; // classes that are summed at a time
  const Index p = x.columns, classes = static_cast<Index>(intercept.size());
  const Index sides = (classes + side - 1) / side, padded = sides * side, total = starts[static_cast<std::size_t>(p)];
  Buffer padded_table(total * padded);
  for (Index v = 0; v < total; ++v)
    std::copy_n(table.data() + v * classes, classes, padded_table.data() + v * padded);
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(padded), 64);
  std::vector<Index> unknown(static_cast<std::size_t>(partitions), -1);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    std::vector<const double *> category_rows(static_cast<std::size_t>(p));
    for (Index i = range.begin; i < range.end; ++i) {
      Index known = 0;
      for (Index j = 0; j < p; ++j) {
        const double value = static_cast<double>(x.data[i * p + j]);
        const std::int64_t first = starts.data()[j], room = starts.data()[j + 1] - first;
        if (value > -1.0 && value < static_cast<double>(room))
          category_rows[static_cast<std::size_t>(known++)] =
              padded_table.data() + (first + static_cast<std::int64_t>(value)) * padded;
        else if (value == value && unknown[static_cast<std::size_t>(partition)] < 0)
          unknown[static_cast<std::size_t>(partition)] = i * p + j;
      }
      for (Index k = 0; k < classes; k += side) {
        double sums[side] = {};
        for (Index j = 0; j < known; ++j)
          for (Index l = 0; l < side; ++l)
            sums[l] += category_rows[static_cast<std::size_t>(j)][k + l];
        for (Index l = 0; l < std::min(side, classes - k); ++l)
          z[static_cast<std::size_t>(i * classes + k + l)] = intercept[static_cast<std::size_t>(k + l)] + sums[l];
      }
    }
  });
  for (const Index index : unknown)
    if (index >= 0)
      return index;
  return -1;
}

} // namespace tenfold
