// Centred second moments of rows, by groups: what least squares in all its forms needs to know about the data.
//
// Given X (n x p), y (n x t), weights (or none) and group numbers (or none), returns for every group g with
// W_g = sum of its weights, and for a shift and exponents e common to all groups,
//   z = 2^-e (x - shift),   offset_g = sum w z / W_g,
//   XX_g = sum w (z - offset_g)(z - offset_g)',   XY_g the same for X against y,   yy_g the diagonal for y.
// Rows of weight zero are left out altogether. The mean is shift + 2^e offset, never added up here: at a mean of 1e8
// that would cost eight digits.
//
// Every group is folded around the mean of its own first tile, as sum w z z' - (sum w z)(sum w z)' / W: a shift that is
// the mean of rows of the group keeps the cancellation below a factor of (rows of the group) / (rows of a tile).
// Exponents are zero unless a column's sum of squares leaves [1e-280, 1e280]; then everything is folded again with
// exponents that bring the largest |z| of such columns to at most one.
// Flops: n (p + t + 1)^2; bytes: X once.
#pragma once

#include "tenfold/gram.hpp"
#include "tenfold/selection.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct Moments {
  std::vector<std::int64_t> count; // (groups)
  std::vector<double> weight;      // (groups)
  std::vector<double> shift;       // (p + t), columns of X first
  std::vector<double> offset;      // (groups, p + t)
  std::vector<std::int32_t> exponent;
  std::vector<double> XX; // (groups, p, p), both triangles
  std::vector<double> XY; // (groups, p, t)
  std::vector<double> yy; // (groups, t)
};

namespace moments_detail {

// Entry `column` of a row; for sparse rows the shift of X is zero and this is not needed.
template <class T> double entry(const Dense<T> &x, Index row, Index column) {
  return static_cast<double>(x.data[row * x.columns + column]);
}

// What is folded: rows with their weights, in the order of the selection.
template <class Rows> struct Data {
  const Rows &x;
  std::span<const double> y;
  Index targets;
  std::span<const double> weight;
  const Selection &selection;
  Index groups;
  GramShape shape;

  Index columns() const { return x.columns + targets; }
  Index row(Index position) const { return selection.list() != nullptr ? selection.list()[position] : position; }
  double weight_of(Index row) const { return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(row)]; }
  Range range(Index group) const {
    const auto g = static_cast<std::size_t>(group);
    return {selection.starts[g], selection.starts[g + 1]};
  }
};

template <class Rows> constexpr bool shifts_features = true;
template <class T, class I> constexpr bool shifts_features<Sparse<T, I>> = false;

// The weighted mean of the first rows of a group, as first row + mean difference, so that it is exact for a constant.
template <class Rows> void first_mean(const Data<Rows> &data, Range range, double *shift) {
  const Index p = data.x.columns, t = data.targets;
  const Index end = std::min(range.end, range.begin + gram_rows);
  if (range.begin == range.end)
    return;
  const Index first = data.row(range.begin);
  const auto value = [&](Index row, Index column) {
    if constexpr (shifts_features<Rows>) {
      if (column < p)
        return entry(data.x, row, column);
    }
    return data.y[static_cast<std::size_t>(row * t + column - p)];
  };
  const Index begin_column = shifts_features<Rows> ? 0 : p;
  std::vector<double> sums(static_cast<std::size_t>(p + t));
  double total = 0.0;
  for (Index position = range.begin; position < end; ++position) {
    const Index row = data.row(position);
    const double w = data.weight_of(row);
    total += w;
    for (Index j = begin_column; j < p + t; ++j)
      sums[static_cast<std::size_t>(j)] += w * (value(row, j) - value(first, j));
  }
  for (Index j = begin_column; j < p + t; ++j) {
    const double mean = value(first, j) + sums[static_cast<std::size_t>(j)] / total;
    shift[j] = std::isfinite(mean) ? mean : value(first, j);
  }
}

template <class Rows>
Design<Rows> design_of(const Data<Rows> &data, const double *shift, std::span<const std::int32_t> exponent) {
  const Index p = data.x.columns, t = data.targets;
  const auto padded = static_cast<std::size_t>((p + data.shape.panel) / data.shape.panel * data.shape.panel);
  Design<Rows> design{data.x, data.y.data(), data.selection.list(), {}, {}, {}, {}};
  design.x_unit.assign(padded, 0.0);
  design.x_centre.assign(padded, 0.0);
  design.y_unit.assign(static_cast<std::size_t>(t), 0.0);
  design.y_centre.assign(static_cast<std::size_t>(t), 0.0);
  for (Index j = 0; j < p + t; ++j) {
    const double unit = std::ldexp(1.0, -exponent[static_cast<std::size_t>(j)]);
    (j < p ? design.x_unit[static_cast<std::size_t>(j)] : design.y_unit[static_cast<std::size_t>(j - p)]) = unit;
    (j < p ? design.x_centre[static_cast<std::size_t>(j)] : design.y_centre[static_cast<std::size_t>(j - p)]) =
        shift[j] * unit;
  }
  return design;
}

// One piece of work: consecutive positions of one group.
struct Piece {
  Index group;
  Range range;
};

template <class Rows> std::vector<Piece> pieces_of(const Data<Rows> &data) {
  const double work = static_cast<double>(data.shape.size()) / 4.0 + row_work(data.x);
  const Index room = std::max<Index>(1, (Index{1} << 22) / data.shape.size());
  std::vector<Piece> pieces;
  for (Index g = 0; g < data.groups; ++g) {
    const Range range = data.range(g);
    const Index rows = range.end - range.begin;
    if (rows == 0)
      continue;
    const Index slots = slot_count(rows, work, std::min(most_slots, room));
    for (Index s = 0; s < slots; ++s) {
      const Range part = slot_range(rows, slots, s);
      pieces.push_back({g, {range.begin + part.begin, range.begin + part.end}});
    }
  }
  return pieces;
}

// The raw sums of every group, around the group's own shift. Group g starts at g * shape.size().
template <class Rows>
Buffer fold(const Data<Rows> &data, std::span<const double> shifts, std::span<const std::int32_t> exponent,
            int threads) {
  const std::vector<Piece> pieces = pieces_of(data);
  std::vector<Design<Rows>> designs;
  for (Index g = 0; g < data.groups; ++g)
    designs.push_back(design_of(data, shifts.data() + g * data.columns(), exponent));
  const Index size = data.shape.size();
  const int workers = std::max(1, std::min<int>(threads, static_cast<int>(pieces.size())));
  std::vector<GramTile<Rows>> tiles(static_cast<std::size_t>(workers), GramTile<Rows>(data.shape));
  Buffer sums(static_cast<Index>(pieces.size()) * size);
  parallel(static_cast<Index>(pieces.size()), workers, [&](Index item, int worker) {
    const Piece &piece = pieces[static_cast<std::size_t>(item)];
    double roots[gram_rows];
    double *blocks = sums.data() + item * size;
    GramTile<Rows> &tile = tiles[static_cast<std::size_t>(worker)];
    for (Index i = piece.range.begin; i < piece.range.end; i += gram_rows) {
      const Index count = std::min(gram_rows, piece.range.end - i);
      for (Index k = 0; k < count; ++k)
        roots[k] = std::sqrt(data.weight_of(data.row(i + k)));
      tile.push(designs[static_cast<std::size_t>(piece.group)], i, count, roots, blocks, piece.range.end);
    }
    tile.flush(blocks);
  });
  Buffer groups(data.groups * size);
  parallel(data.groups, data.groups * size < 65536 ? 1 : threads, [&](Index g, int) {
    double *to = groups.data() + g * size;
    for (std::size_t item = 0; item < pieces.size(); ++item)
      if (pieces[item].group == g) {
        const double *from = sums.data() + static_cast<Index>(item) * size;
        for (Index i = 0; i < size; ++i)
          to[i] += from[i];
      }
  });
  return groups;
}

// The largest |x_ij - shift_j| over all rows of column j; where that is beyond the range of doubles, infinity.
template <class T>
double largest_difference(const Data<Dense<T>> &data, std::span<const double> shifts, Index column) {
  const Index p = data.x.columns;
  double largest = 0.0;
  for (Index g = 0; g < data.groups; ++g) {
    const double shift = shifts[static_cast<std::size_t>(g * data.columns() + column)];
    const Range range = data.range(g);
    for (Index i = range.begin; i < range.end; ++i) {
      const Index row = data.row(i);
      const double value =
          column < p ? entry(data.x, row, column) : data.y[static_cast<std::size_t>(row * data.targets + column - p)];
      const double difference = std::abs(value - shift);
      largest = difference <= largest ? largest : difference;
    }
  }
  return largest;
}
template <class T, class I>
double largest_difference(const Data<Sparse<T, I>> &data, std::span<const double> shifts, Index column) {
  const Index p = data.x.columns;
  double largest = 0.0;
  for (Index g = 0; g < data.groups; ++g) {
    const double shift = shifts[static_cast<std::size_t>(g * data.columns() + column)];
    const Range range = data.range(g);
    for (Index i = range.begin; i < range.end; ++i) {
      const auto row = static_cast<std::size_t>(data.row(i));
      if (column >= p) {
        const double value = data.y[row * static_cast<std::size_t>(data.targets) + static_cast<std::size_t>(column - p)];
        const double difference = std::abs(value - shift);
        largest = difference <= largest ? largest : difference;
        continue;
      }
      for (auto k = static_cast<std::size_t>(data.x.indptr[row]); k < static_cast<std::size_t>(data.x.indptr[row + 1]);
           ++k)
        if (static_cast<Index>(data.x.indices[k]) == column) {
          const double difference = std::abs(static_cast<double>(data.x.data[k]));
          largest = difference <= largest ? largest : difference;
        }
    }
  }
  return largest;
}

// Exponents for columns whose sum of squares is out of range; true when there is any.
template <class Rows>
bool find_exponents(const Data<Rows> &data, const Buffer &groups, std::span<const double> shifts,
                    std::span<std::int32_t> exponent) {
  bool any = false;
  for (Index j = 0; j < data.columns(); ++j) {
    const Index column = j < data.x.columns ? j : j + 1;
    double squares = 0.0;
    for (Index g = 0; g < data.groups; ++g)
      squares += groups[g * data.shape.size() + data.shape.at(column, column)];
    if (squares >= 1e-280 && squares <= 1e280)
      continue;
    const double largest = largest_difference(data, shifts, j);
    if (largest == 0.0 || std::isnan(largest))
      continue;
    const int power = std::isinf(largest) ? 1025 : std::ilogb(largest) + 1;
    const int clamped = std::clamp(power, -1022, 1025);
    exponent[static_cast<std::size_t>(j)] = clamped;
    any |= clamped != 0;
  }
  return any;
}

inline double not_negative(double value) { return value < 0.0 ? 0.0 : value; }

// From raw sums around the group's shift to centred moments.
template <class Rows>
void finish(const Data<Rows> &data, const double *sums, std::span<const double> shifts, Index group, Moments &out) {
  const Index p = data.x.columns, t = data.targets, c = p + t;
  const GramShape &shape = data.shape;
  const Range range = data.range(group);
  const auto g = static_cast<std::size_t>(group);
  double total = 0.0;
  for (Index i = range.begin; i < range.end; ++i)
    total += data.weight_of(data.row(i));
  out.count[g] = range.end - range.begin;
  out.weight[g] = total;
  if (range.begin == range.end)
    return;
  std::vector<double> s(static_cast<std::size_t>(c));
  for (Index j = 0; j < c; ++j)
    s[static_cast<std::size_t>(j)] = j < p ? sums[shape.at(j, p)] : sums[shape.at(p, j + 1)];
  const auto sum_of = [&](Index j) { return s[static_cast<std::size_t>(j)]; };
  for (Index j = 0; j < c; ++j) {
    const double unit = std::ldexp(1.0, -out.exponent[static_cast<std::size_t>(j)]);
    const double own = shifts[static_cast<std::size_t>(group * c + j)] * unit;
    const double common = out.shift[static_cast<std::size_t>(j)] * unit;
    out.offset[static_cast<std::size_t>(group * c + j)] = (own - common) + sum_of(j) / total;
  }
  double *xx = out.XX.data() + group * p * p;
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i <= j; ++i) {
      double value = sums[shape.at(i, j)] - sum_of(i) * sum_of(j) / total;
      if (i == j)
        value = not_negative(value);
      xx[i * p + j] = value;
      xx[j * p + i] = value;
    }
  for (Index i = 0; i < p; ++i)
    for (Index k = 0; k < t; ++k)
      out.XY[static_cast<std::size_t>((group * p + i) * t + k)] =
          sums[shape.at(i, p + 1 + k)] - sum_of(i) * sum_of(p + k) / total;
  for (Index k = 0; k < t; ++k)
    out.yy[static_cast<std::size_t>(group * t + k)] =
        not_negative(sums[shape.at(p + 1 + k, p + 1 + k)] - sum_of(p + k) * sum_of(p + k) / total);
}

} // namespace moments_detail

template <class Rows>
Moments moments(const Rows &x, std::span<const double> y, Index targets, std::span<const double> weight,
                std::span<const std::int32_t> group, Index groups, int threads) {
  using namespace moments_detail;
  const Selection selection = select_rows(x.rows, weight, group, groups);
  const Data<Rows> data{x, y, targets, weight, selection, groups, {x.columns, targets, kernels().panel}};
  const auto size = [](auto... factors) { return static_cast<std::size_t>((Index{1} * ... * factors)); };
  const Index c = data.columns();
  Moments out;
  out.count.resize(size(groups));
  out.weight.resize(size(groups));
  out.shift.resize(size(c));
  out.offset.resize(size(groups, c));
  out.exponent.resize(size(c));
  out.XX.resize(size(groups, x.columns, x.columns));
  out.XY.resize(size(groups, x.columns, targets));
  out.yy.resize(size(groups, targets));
  std::vector<double> shifts(size(groups, c));
  bool found = false;
  for (Index g = 0; g < groups; ++g) {
    const Range range = data.range(g);
    first_mean(data, range, shifts.data() + g * c);
    if (!found && range.begin < range.end) {
      std::copy_n(shifts.data() + g * c, c, out.shift.data());
      found = true;
    }
  }
  if (!found)
    return out;
  Buffer sums = fold(data, shifts, out.exponent, threads);
  if (find_exponents(data, sums, shifts, out.exponent))
    sums = fold(data, shifts, out.exponent, threads);
  for (Index g = 0; g < groups; ++g)
    finish(data, sums.data() + g * data.shape.size(), shifts, g, out);
  return out;
}

} // namespace tenfold
