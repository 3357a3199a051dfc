// Row indices of the samples of positive weight, by group.
//
// Given weights (empty: ones) and group numbers (empty: one group), lists the rows of positive weight, those of group 0
// first, each group in row order. With one group and no zero weights the list stays empty and stands for all rows.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tenfold {

struct RowGroups {
  std::vector<Index> rows;
  std::vector<Index> starts; // group g has positions starts[g] ... starts[g + 1]
  const Index *list() const { return rows.empty() ? nullptr : rows.data(); }
};

inline void check_weights(std::span<const double> weight) {
  bool good = true;
  for (const double w : weight)
    good &= w >= 0.0;
  if (!good)
    throw std::invalid_argument("weights must not be negative or NaN");
}

inline RowGroups group_rows(Index rows, std::span<const double> weight, std::span<const std::int32_t> group,
                            Index groups) {
  RowGroups selection;
  selection.starts.assign(static_cast<std::size_t>(groups) + 1, 0);
  check_weights(weight);
  const auto counts = [&](std::size_t i) { return weight.empty() || weight[i] > 0.0; };
  if (group.empty() && std::find(weight.begin(), weight.end(), 0.0) == weight.end()) {
    selection.starts.back() = rows;
    return selection;
  }
  Index taken = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    const Index g = group.empty() ? 0 : group[i];
    if (g < 0 || g >= groups)
      throw std::invalid_argument("group numbers must be at least 0 and below the number of groups");
    if (!counts(i))
      continue;
    ++selection.starts[static_cast<std::size_t>(g) + 1];
    ++taken;
  }
  for (std::size_t g = 0; g < static_cast<std::size_t>(groups); ++g)
    selection.starts[g + 1] += selection.starts[g];
  if (taken == rows && groups == 1)
    return selection;
  // An empty list stands for all rows: where every weight is zero, one unreachable entry tells the two apart.
  selection.rows.resize(static_cast<std::size_t>(std::max<Index>(taken, 1)));
  std::vector<Index> next(selection.starts.begin(), selection.starts.end() - 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
    if (counts(i)) {
      const auto g = static_cast<std::size_t>(group.empty() ? 0 : group[i]);
      selection.rows[static_cast<std::size_t>(next[g]++)] = static_cast<Index>(i);
    }
  return selection;
}

} // namespace tenfold
