// The raw second moments of weighted rows, group by group: what moments.hpp centres.
#pragma once

#include "tenfold/gram_tile_choice.hpp"
#include "tenfold/row_groups.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

// Rows with targets, weights and groups. Columns are those of X, then those of y.
template <class Rows> struct Table {
  const Rows &x;
  std::span<const double> y;
  Index targets;
  std::span<const double> weight;
  const Selection &selection;
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

// Means of the first tile of a group as first row + mean difference, so that a constant column gets its very value.
// Sparse columns of X keep the shift zero: shifted they would not be sparse.
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

template <class Rows> void first_mean(const Table<Rows> &table, Index group, double *shift) {
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

struct Fold {
  Buffer blocks; // group g from g * shape.size() on: sum w a a' around the group's shift
  std::vector<double> weight;
};

// shifts: (groups, columns). z = 2^-exponent (value - shift).
template <class Rows>
std::vector<Design<Rows>> designs_of(const Table<Rows> &table, std::span<const double> shifts,
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

// The roots of the weights of some positions; returns the sum of the weights.
template <class Rows> double roots_of(const Table<Rows> &table, Index begin, Index count, double *root) {
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

// Narrow matrices: every slot of every group has blocks of its own.
template <class Tile, class Rows>
void fold_slots(const Table<Rows> &table, const std::vector<Design<Rows>> &designs, int threads, Fold &fold) {
  struct Slot {
    Index group;
    Range range;
    bool first; // of its group: it sums into the group's own blocks
  };
  std::vector<Slot> slots;
  const double work = gram_work(table.x, table.shape);
  const Index all = table.selection.starts.back();
  for (Index g = 0; g < table.groups; ++g) {
    const Range range = table.range(g);
    const Index rows = range.end - range.begin;
    // A group has its share of the slots.
    const Index share = std::min((most_slots * rows + all - 1) / all, rows / least_slot_rows + 1);
    const Index count = rows == 0 ? 0 : slot_count(rows, work, share);
    for (Index s = 0; s < count; ++s) {
      const Range part = slot_range(rows, count, s);
      slots.push_back({g, {range.begin + part.begin, range.begin + part.end}, s == 0});
    }
  }
  const Index size = table.shape.size(), count = static_cast<Index>(slots.size());
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(1, count)));
  std::vector<Tile> tiles;
  for (int w = 0; w < workers; ++w)
    tiles.emplace_back(table.shape);
  const Index more = std::count_if(slots.begin(), slots.end(), [](const Slot &slot) { return !slot.first; });
  Buffer others(more * size);
  std::vector<double *> blocks;
  for (double *free = others.data(); const Slot &slot : slots) {
    blocks.push_back(slot.first ? fold.blocks.data() + slot.group * size : free);
    free += slot.first ? 0 : size;
  }
  std::vector<double> weight(slots.size());
  parallel(count, workers, [&](Index item, int worker) {
    const auto s = static_cast<std::size_t>(item);
    Tile &tile = tiles[static_cast<std::size_t>(worker)];
    const Range range = slots[s].range;
    const Design<Rows> &design = designs[static_cast<std::size_t>(slots[s].group)];
    for (Index begin = range.begin; begin < range.end; begin += gram_rows) {
      const Index rows = std::min(gram_rows, range.end - begin);
      double root[gram_rows];
      weight[s] += roots_of(table, begin, rows, root);
      tile.clear();
      tile.pack(design, begin, rows, root);
      tile.multiply_all(design, begin + rows, range.end, blocks[s]);
    }
  });
  for (std::size_t s = 0; s < slots.size(); ++s)
    fold.weight[static_cast<std::size_t>(slots[s].group)] += weight[s];
  parallel(table.groups, count * size < 65536 ? 1 : threads, [&](Index g, int) {
    double *to = fold.blocks.data() + g * size;
    for (std::size_t s = 0; s < slots.size(); ++s)
      if (slots[s].group == g && !slots[s].first)
        for (Index i = 0; i < size; ++i)
          to[i] += blocks[s][i];
  });
}

// Wide matrices: one after the other, each on all threads.
template <class Tile, class Rows>
void fold_wide(const Table<Rows> &table, const std::vector<Design<Rows>> &designs, int threads, Fold &fold) {
  for (Index g = 0; g < table.groups; ++g) {
    const Range range = table.range(g);
    for (Index position = range.begin; position < range.end; ++position)
      fold.weight[static_cast<std::size_t>(g)] += table.weight_of(position);
    const auto roots = [&](Index begin, Index count, double *root) { roots_of(table, begin, count, root); };
    gram_wide<Tile>(designs[static_cast<std::size_t>(g)], table.shape, range, roots, threads,
                    fold.blocks.data() + g * table.shape.size());
  }
}

template <class Rows>
Fold fold_rows(const Table<Rows> &table, std::span<const double> shifts, std::span<const std::int32_t> exponent,
               int threads) {
  Fold fold{Buffer(table.groups * table.shape.size()), std::vector<double>(static_cast<std::size_t>(table.groups))};
  const auto designs = designs_of(table, shifts, exponent);
  with_tile(table.x, table.shape, [&]<class Tile>(std::type_identity<Tile>) {
    if (is_wide(table.shape))
      fold_wide<Tile>(table, designs, threads, fold);
    else
      fold_slots<Tile>(table, designs, threads, fold);
  });
  return fold;
}

} // namespace tenfold
