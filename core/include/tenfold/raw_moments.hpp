// Raw second moments of weighted samples by group, about a shift; moments.hpp centres them.
#pragma once

#include "tenfold/gram_tile_choice.hpp"
#include "tenfold/row_groups.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

// Samples with targets, weights and groups. Columns are those of X, then those of y.
template <class Rows> struct WeightedRows {
  const Rows &x;
  std::span<const double> y;
  Index targets;
  std::span<const double> weight;
  const RowGroups &selection;
  Index groups;
  GramShape shape;

  Index columns() const { return x.columns + targets; }
  Index row(Index position) const { return selection.list() != nullptr ? selection.list()[position] : position; }
  double weight_of(Index position) const { return weight.empty() ? 1.0 : weight.data()[row(position)]; }
  Range range(Index group) const {
    const auto g = static_cast<std::size_t>(group);
    return {selection.starts[g], selection.starts[g + 1]};
  }
};

// Means of the first tile of a group as first row + mean difference, exact for constant columns. Sparse columns keep
// the shift zero: shifting would destroy sparsity.
template <class T> void add_differences(const Dense<T> &x, Index row, Index first, double w, double *sums) {
  const T *here = x.data + row * x.columns, *there = x.data + first * x.columns;
  for (Index j = 0; j < x.columns; ++j)
    sums[j] += w * (static_cast<double>(here[j]) - static_cast<double>(there[j]));
}
template <class T, class I> void add_differences(const Sparse<T, I> &, Index, Index, double, double *) {}

template <class T> double base_value(const Dense<T> &x, Index row, Index column) {
  return static_cast<double>(x.data[row * x.columns + column]);
}
template <class T, class I> double base_value(const Sparse<T, I> &, Index, Index) { return 0.0; }

template <class Rows> void estimate_mean(const WeightedRows<Rows> &table, Index group, double *shift) {
  const Range range = table.range(group);
  if (range.begin == range.end)
    return;
  const Index p = table.x.columns, t = table.targets;
  const Index first = table.row(range.begin), end = std::min(range.end, range.begin + gram_rows);
  const double *y = table.y.data();
  double total = 0.0;
  for (Index position = range.begin; position < end; ++position) {
    const Index row = table.row(position);
    const double w = table.weight_of(position);
    total += w;
    add_differences(table.x, row, first, w, shift);
    for (Index k = 0; k < t; ++k)
      shift[p + k] += w * (y[row * t + k] - y[first * t + k]);
  }
  for (Index j = 0; j < p + t; ++j) {
    const double base = j < p ? base_value(table.x, first, j) : y[first * t + j - p];
    const double mean = base + shift[j] / total;
    shift[j] = std::isfinite(mean) ? mean : base; // differences may overflow where values do not
  }
}

struct RawMoments {
  Buffer blocks; // group g at g * shape.size(): sum w a a' about the group's shift
  std::vector<double> weight;
};

// shifts: (groups, columns). The design holds 2^-exponent (value - shift).
template <class Rows>
std::vector<Design<Rows>> make_designs(const WeightedRows<Rows> &table, std::span<const double> shifts,
                                       std::span<const std::int32_t> exponent) {
  const Index p = table.x.columns;
  std::vector<Design<Rows>> designs;
  designs.reserve(static_cast<std::size_t>(table.groups));
  for (Index g = 0; g < table.groups; ++g) {
    Design<Rows> &design = designs.emplace_back(table.x, table.y.data(), table.selection.list(), table.shape);
    const double *shift = shifts.data() + g * table.columns();
    for (Index j = 0; j < table.columns(); ++j) {
      const std::int32_t e = exponent[static_cast<std::size_t>(j)];
      const double unit = e == 0 ? 1.0 : std::ldexp(1.0, -e);
      (j < p ? design.unit[j] : design.y_unit[static_cast<std::size_t>(j - p)]) = unit;
      (j < p ? design.centre[j] : design.y_centre[static_cast<std::size_t>(j - p)]) = shift[j] * unit;
    }
  }
  return designs;
}

// Square roots of the weights; returns the sum of the weights.
template <class Rows> double sqrt_weights(const WeightedRows<Rows> &table, Index begin, Index count, double *root) {
  if (table.weight.empty()) {
    std::fill_n(root, count, 1.0);
    return static_cast<double>(count);
  }
  double total = 0.0;
  for (Index i = 0; i < count; ++i) {
    const double w = table.weight_of(begin + i);
    total += w;
    root[i] = std::sqrt(w);
  }
  return total;
}

// Narrow matrices: partial sums for every partition of every group.
template <class Tile, class Rows>
void accumulate_by_partition(const WeightedRows<Rows> &table, const std::vector<Design<Rows>> &designs, int threads,
                             RawMoments &moments) {
  struct Partition {
    Index group;
    Range range;
    bool first; // of its group: sums directly into the group's blocks
  };
  std::vector<Partition> partitions;
  const double work = gram_work(table.x, table.shape);
  const Index all = table.selection.starts.back();
  for (Index g = 0; g < table.groups; ++g) {
    const Range range = table.range(g);
    const Index rows = range.end - range.begin;
    // Partitions are distributed in proportion to the size of the groups.
    const Index max_count = std::min((max_partitions * rows + all - 1) / all, rows / min_partition_rows + 1);
    const Index count = rows == 0 ? 0 : partition_count(rows, work, max_count);
    for (Index s = 0; s < count; ++s) {
      const Range part = partition_range(rows, count, s);
      partitions.push_back({g, {range.begin + part.begin, range.begin + part.end}, s == 0});
    }
  }
  const Index size = table.shape.size(), count = static_cast<Index>(partitions.size());
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(1, count)));
  std::vector<Tile> tiles;
  for (int w = 0; w < workers; ++w)
    tiles.emplace_back(table.shape);
  const Index more =
      std::count_if(partitions.begin(), partitions.end(), [](const Partition &partition) { return !partition.first; });
  Buffer others(more * size);
  std::vector<double *> blocks;
  for (double *free = others.data(); const Partition &partition : partitions) {
    blocks.push_back(partition.first ? moments.blocks.data() + partition.group * size : free);
    free += partition.first ? 0 : size;
  }
  std::vector<double> weight(partitions.size());
  parallel(count, workers, [&](Index item, int worker) {
    const auto s = static_cast<std::size_t>(item);
    Tile &tile = tiles[static_cast<std::size_t>(worker)];
    const Range range = partitions[s].range;
    const Design<Rows> &design = designs[static_cast<std::size_t>(partitions[s].group)];
    for (Index begin = range.begin; begin < range.end; begin += gram_rows) {
      const Index rows = std::min(gram_rows, range.end - begin);
      double root[gram_rows];
      weight[s] += sqrt_weights(table, begin, rows, root);
      tile.clear();
      tile.pack(design, begin, rows, root);
      tile.multiply_all(design, begin + rows, range.end, blocks[s]);
    }
  });
  for (std::size_t s = 0; s < partitions.size(); ++s)
    moments.weight[static_cast<std::size_t>(partitions[s].group)] += weight[s];
  parallel(table.groups, count * size < 65536 ? 1 : threads, [&](Index g, int) {
    double *to = moments.blocks.data() + g * size;
    for (std::size_t s = 0; s < partitions.size(); ++s)
      if (partitions[s].group == g && !partitions[s].first)
        for (Index i = 0; i < size; ++i)
          to[i] += blocks[s][i];
  });
}

// Wide matrices: groups one after the other, each on all threads.
template <class Tile, class Rows>
void accumulate_wide(const WeightedRows<Rows> &table, const std::vector<Design<Rows>> &designs, int threads,
                     RawMoments &moments) {
  for (Index g = 0; g < table.groups; ++g) {
    const Range range = table.range(g);
    for (Index position = range.begin; position < range.end; ++position)
      moments.weight[static_cast<std::size_t>(g)] += table.weight_of(position);
    const auto roots = [&](Index begin, Index count, double *root) { sqrt_weights(table, begin, count, root); };
    gram_wide<Tile>(designs[static_cast<std::size_t>(g)], table.shape, range, roots, threads,
                    moments.blocks.data() + g * table.shape.size());
  }
}

template <class Rows>
RawMoments accumulate_moments(const WeightedRows<Rows> &table, std::span<const double> shifts,
                              std::span<const std::int32_t> exponent, int threads) {
  RawMoments moments{Buffer(table.groups * table.shape.size()),
                     std::vector<double>(static_cast<std::size_t>(table.groups))};
  const auto designs = make_designs(table, shifts, exponent);
  with_tile(table.x, table.shape, [&]<class Tile>(std::type_identity<Tile>) {
    if (is_wide(table.shape))
      accumulate_wide<Tile>(table, designs, threads, moments);
    else
      accumulate_by_partition<Tile>(table, designs, threads, moments);
  });
  return moments;
}

} // namespace tenfold
