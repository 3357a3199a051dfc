// Power-of-two scaling of columns whose squares would overflow or underflow.
#pragma once

#include "tenfold/raw_moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

// largest = max(largest, |value|); NaN is sticky.
inline void update_max_abs(double &largest, double value) {
  const double size = std::abs(value);
  largest = size <= largest || std::isnan(largest) ? largest : size;
}

// max |x_ij - shift_j| over the rows of one group, for some columns of X.
template <class T>
void max_abs_differences(const WeightedRows<Dense<T>> &table, Range range, const double *shift,
                         std::span<const Index> columns, double *largest) {
  for (Index position = range.begin; position < range.end; ++position) {
    const T *row = table.x.data + table.row(position) * table.x.columns;
    for (const Index j : columns)
      update_max_abs(largest[j], static_cast<double>(row[j]) - shift[j]);
  }
}
template <class T, class I>
void max_abs_differences(const WeightedRows<Sparse<T, I>> &table, Range range, const double *, std::span<const Index>,
                         double *largest) {
  for (Index position = range.begin; position < range.end; ++position) {
    const std::int64_t *ends = table.x.indptr.data() + table.row(position);
    for (Index k = ends[0]; k < ends[1]; ++k)
      update_max_abs(largest[table.x.indices.data()[k]], static_cast<double>(table.x.data.data()[k]));
  }
}

// Sets the exponents of non-constant columns whose sum of squares is outside [1e-280, 1e280], such that
// 2^-exponent |value - shift| <= 1; returns whether there are any. Columns that are not finite are left alone.
template <class Rows>
bool choose_exponents(const WeightedRows<Rows> &table, const RawMoments &moments, std::span<const double> shifts,
                      std::span<std::int32_t> exponent) {
  const Index p = table.x.columns, t = table.targets, c = table.columns();
  std::vector<Index> features, all;
  for (Index j = 0; j < c; ++j) {
    const Index column = j < p ? j : j + 1; // the column of ones is between X and y
    double squares = 0.0;
    for (Index g = 0; g < table.groups; ++g)
      squares += moments.blocks[g * table.shape.size() + table.shape.at(column, column)];
    if (squares >= 1e-280 && squares <= 1e280)
      continue;
    all.push_back(j);
    if (j < p)
      features.push_back(j);
  }
  if (all.empty())
    return false;
  std::vector<double> largest(static_cast<std::size_t>(c));
  for (Index g = 0; g < table.groups; ++g) {
    const Range range = table.range(g);
    const double *shift = shifts.data() + g * c;
    if (!features.empty())
      max_abs_differences(table, range, shift, features, largest.data());
    for (const Index j : all)
      for (Index position = range.begin; j >= p && position < range.end; ++position)
        update_max_abs(largest[static_cast<std::size_t>(j)],
                       table.y.data()[table.row(position) * t + j - p] - shift[j]);
  }
  bool any = false;
  for (const Index j : all) {
    const double most = largest[static_cast<std::size_t>(j)];
    if (most == 0.0 || std::isnan(most))
      continue;
    // Differences of finite values may overflow: then 2^1025 bounds all of them. 2^-exponent must be a double too.
    const int power = std::isinf(most) ? 1025 : std::clamp(std::ilogb(most) + 1, -1022, 1025);
    exponent[static_cast<std::size_t>(j)] = power;
    any |= power != 0;
  }
  return any;
}

} // namespace tenfold
