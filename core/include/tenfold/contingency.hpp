// Categories of columns, class by class: how often each came, and what they say of the classes.
//
// A value stands for the whole number that is left when its digits behind the point are dropped; NaN is missing.
//   category_ranges   the least and the largest value of each column, and whether one is infinite
//   class_tables      sums of the weights, entry (starts_j + v, c) for category v of column j in class c
//   table_scores      z_ik = intercept_k + sum_j table(starts_j + x_ij, k)
// Rows of weight zero are left out of the sums. One pass over X each.
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
  const Index p = x.columns, slots = slot_count(x.rows, row_work(x)), stride = (2 * p + lanes - 1) / lanes * lanes;
  const double infinite = std::numeric_limits<double>::infinity();
  Buffer ends(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    double *low = ends.data() + slot * stride, *high = low + p;
    std::fill_n(low, p, infinite);
    std::fill_n(high, p, -infinite);
    const Range range = slot_range(x.rows, slots, slot);
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
  for (Index slot = 0; slot < slots; ++slot)
    for (Index j = 0; j < p; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out.low[at] = std::min(out.low[at], ends[slot * stride + j]);
      out.high[at] = std::max(out.high[at], ends[slot * stride + p + j]);
    }
  for (Index j = 0; j < p; ++j)
    out.finite &= out.low[static_cast<std::size_t>(j)] > -infinite && out.high[static_cast<std::size_t>(j)] < infinite;
  return out;
}

// starts: (columns + 1). Every value must be in the range of its column.
template <class T>
ClassColumns class_tables(const Dense<T> &x, std::span<const double> weight, std::span<const std::int32_t> group,
                          Index classes, std::span<const std::int64_t> starts, int threads) {
  const Index p = x.columns, size = starts[static_cast<std::size_t>(p)] * classes;
  const Index stride = (size + classes + lanes - 1) / lanes * lanes;
  const Index slots = slot_count(x.rows, 4.0 * row_work(x), most_class_slots(stored(x), stride));
  check_weights(weight);
  for (const std::int32_t c : group)
    if (c < 0 || c >= classes)
      throw std::invalid_argument("class numbers must be at least 0 and below the number of classes");
  Buffer sums(slots * stride);
  std::vector<char> good(static_cast<std::size_t>(slots), 1);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    double *own = sums.data() + slot * stride;
    bool inside = true;
    for (Index i = range.begin; i < range.end; ++i) {
      const double w = weight.empty() ? 1.0 : weight.data()[i];
      if (w == 0.0)
        continue;
      const Index c = group.data()[i];
      own[size + c] += w;
      const T *row = x.data + i * p;
      for (Index j = 0; j < p; ++j) {
        const double value = static_cast<double>(row[j]);
        if (value != value)
          continue;
        const std::int64_t first = starts.data()[j], room = starts.data()[j + 1] - first;
        if (value > -1.0 && value < static_cast<double>(room))
          own[(first + static_cast<std::int64_t>(value)) * classes + c] += w;
        else
          inside = false;
      }
    }
    good[static_cast<std::size_t>(slot)] = inside;
  });
  if (std::find(good.begin(), good.end(), 0) != good.end())
    throw std::invalid_argument("a category is outside the range of its column");
  merge_slots(sums.data(), slots, stride, stride, threads);
  ClassColumns out;
  out.sums.assign(sums.data(), sums.data() + size);
  out.weight.assign(sums.data() + size, sums.data() + size + classes);
  return out;
}

// Returns the first row and column of a category that the tables do not have, or -1.
template <class T>
Index table_scores(const Dense<T> &x, std::span<const double> table, std::span<const double> intercept,
                   std::span<const std::int64_t> starts, int threads, std::span<double> z) {
  constexpr Index side = 8; // classes that are summed at a time
  const Index p = x.columns, classes = static_cast<Index>(intercept.size());
  const Index sides = (classes + side - 1) / side, padded = sides * side, total = starts[static_cast<std::size_t>(p)];
  Buffer wide(total * padded);
  for (Index v = 0; v < total; ++v)
    std::copy_n(table.data() + v * classes, classes, wide.data() + v * padded);
  const Index slots = slot_count(x.rows, row_work(x) * static_cast<double>(padded), 64);
  std::vector<Index> strange(static_cast<std::size_t>(slots), -1);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    std::vector<const double *> lines(static_cast<std::size_t>(p));
    for (Index i = range.begin; i < range.end; ++i) {
      Index known = 0;
      for (Index j = 0; j < p; ++j) {
        const double value = static_cast<double>(x.data[i * p + j]);
        const std::int64_t first = starts.data()[j], room = starts.data()[j + 1] - first;
        if (value > -1.0 && value < static_cast<double>(room))
          lines[static_cast<std::size_t>(known++)] = wide.data() + (first + static_cast<std::int64_t>(value)) * padded;
        else if (value == value && strange[static_cast<std::size_t>(slot)] < 0)
          strange[static_cast<std::size_t>(slot)] = i * p + j;
      }
      for (Index k = 0; k < classes; k += side) {
        double sums[side] = {};
        for (Index j = 0; j < known; ++j)
          for (Index l = 0; l < side; ++l)
            sums[l] += lines[static_cast<std::size_t>(j)][k + l];
        for (Index l = 0; l < std::min(side, classes - k); ++l)
          z[static_cast<std::size_t>(i * classes + k + l)] = intercept[static_cast<std::size_t>(k + l)] + sums[l];
      }
    }
  });
  for (const Index place : strange)
    if (place >= 0)
      return place;
  return -1;
}

} // namespace tenfold
