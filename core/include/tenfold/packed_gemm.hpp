// Products of dense rows with many vectors, by packed panels; with D = X - shift:
//   many_times     z = D coef' + intercept, (rows x vectors)
//   many_times_t   U' D, (vectors x columns)
//   scatter        coef D' W D and 1' W D, (vectors + 1 x columns), W diagonal with the weights
// The loops of times.hpp serve a few vectors: they read coefficients again for every few rows.
//
// A tile of rows is packed in chunks of columns that stay in the second-level cache while they are multiplied by the
// vectors, which are packed once. `scatter` uses a tile for both products before it goes on to the next.
// Narrow sums are taken in slots; wide ones are cut by columns, and every entry is summed in the order of the rows.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/scatter_wide.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index many_vectors = 8; // from here on packing pays
constexpr Index packed_rows = 64;
constexpr Index packed_columns = 512;
constexpr Index narrow_columns = 1024; // sums of more columns are cut by these and not by rows

inline Index in_panels(Index columns) { return (columns + kernels().panel - 1) / kernels().panel; }

// Vectors (count x columns) as panels: entry (c, j) of their transpose at (j / panel) * stride + c * panel + j % panel.
class PackedVectors {
public:
  PackedVectors(const double *vectors, Index count, Index columns, int threads = 1)
      : side_(kernels().panel), panels_(in_panels(count)), stride_((in_panels(columns) * side_ + 3) * side_),
        values_(panels_ * stride_) {
    parallel(panels_, count * columns < 8 * packed_columns ? 1 : threads, [&](Index panel, int) {
      const Index first = panel * side_, some = std::min(side_, count - first);
      double *to = values_.data() + panel * stride_;
      for (Index c = 0; c < columns; ++c, to += side_)
        for (Index j = 0; j < some; ++j)
          to[j] = vectors[(first + j) * columns + c];
    });
  }

  Index panels() const { return panels_; }
  Index width() const { return panels_ * side_; }

  // Adds the products of packed rows, whose first column is `begin`, to out (count x width).
  void add_products(const double *tile, Index stride, Index count, Index begin, Index columns, double *out) const {
    kernels().panel_times(tile, stride, count, in_panels(columns), values_.data() + begin * side_, stride_, panels_,
                          out, width());
  }

private:
  Index side_, panels_, stride_;
  Buffer values_;
};

// Tiles of D.
template <class T> class PackedRows {
public:
  PackedRows(const Dense<T> &x, std::span<const double> shift)
      : x_(x), unit_(in_panels(x.columns) * kernels().panel), centre_(in_panels(x.columns) * kernels().panel) {
    std::fill_n(unit_.data(), x.columns, 1.0);
    std::copy(shift.begin(), shift.end(), centre_.data());
  }

  static Index stride() { return (packed_rows + 3) * kernels().panel; }
  static Index size(Index columns) { return in_panels(std::min(columns, packed_columns)) * stride(); }

  void pack(Index row, Index count, Index begin, Index columns, double *tile) const {
    kernels().dense<T>().pack(x_.data + row * x_.columns + begin, x_.columns, nullptr, count, columns,
                              unit_.data() + begin, centre_.data() + begin, nullptr, tile, stride());
  }

private:
  Dense<T> x_;
  Buffer unit_, centre_;
};

// What one worker needs.
struct Scratch {
  Scratch(Index of_tile, Index of_sums, Index of_right) : tile(of_tile), sums(of_sums), right(of_right) {}
  Buffer tile, sums, right;
};

inline std::vector<Scratch> scratches(int threads, Index tile, Index sums, Index panels = 0) {
  std::vector<Scratch> found;
  for (int w = 0; w < threads; ++w)
    found.emplace_back(tile, sums, panels);
  return found;
}

// D coef' of some rows, a tile after the other; the last tile is left packed where one chunk has all columns.
template <class T>
void products_of_rows(const PackedRows<T> &rows, const PackedVectors &vectors, Index columns, Index row, Index count,
                      Scratch &scratch) {
  std::fill_n(scratch.sums.data(), count * vectors.width(), 0.0);
  for (Index begin = 0; begin < columns; begin += packed_columns)
    for (Index i = 0; i < count; i += packed_rows) {
      const Index chunk = std::min(packed_columns, columns - begin), some = std::min(packed_rows, count - i);
      rows.pack(row + i, some, begin, chunk, scratch.tile.data());
      vectors.add_products(scratch.tile.data(), PackedRows<T>::stride(), some, begin, chunk,
                           scratch.sums.data() + i * vectors.width());
    }
}

// Gives the products of every row with all vectors to write(row, products). Vectors of many columns that do not lie in
// the second-level cache are read once for some tiles of rows; how many does not matter to the bits.
template <class T, class F>
void products_of_all(const Dense<T> &x, std::span<const double> coef, Index count, std::span<const double> shift,
                     int threads, F &&write) {
  const PackedRows<T> rows(x, shift);
  const PackedVectors vectors(coef.data(), count, x.columns, threads);
  const Index tiles = (x.rows + packed_rows - 1) / packed_rows;
  const Index group = packed_rows * std::clamp<Index>(x.columns > packed_columns ? tiles / threads : 1, 1, 4);
  std::vector<Scratch> scratch = scratches(threads, rows.size(x.columns), group * vectors.width());
  parallel((x.rows + group - 1) / group, threads, [&](Index item, int worker) {
    Scratch &own = scratch[static_cast<std::size_t>(worker)];
    const Index row = item * group, some = std::min(group, x.rows - row);
    products_of_rows(rows, vectors, x.columns, row, some, own);
    for (Index i = 0; i < some; ++i)
      write(row + i, own.sums.data() + i * vectors.width());
  });
}

template <class T>
void many_times(const Dense<T> &x, std::span<const double> coef, std::span<const double> intercept,
                std::span<const double> shift, int threads, std::span<double> z) {
  const Index t = static_cast<Index>(intercept.size());
  products_of_all(x, coef, t, shift, threads, [&](Index i, const double *products) {
    for (Index k = 0; k < t; ++k)
      z[static_cast<std::size_t>(i * t + k)] = products[k] + intercept[static_cast<std::size_t>(k)];
  });
}

// Sums (vectors x columns) by blocks, see core/src/isa/panel_cross.hpp, in chunks of columns: chunk c begins at
// c * packed_columns * (padded vectors).
class CrossSums {
public:
  CrossSums(Index vectors, Index columns, Index slots)
      : side_(kernels().panel), vectors_(vectors), columns_(columns), slots_(slots),
        stride_(in_panels(vectors) * side_ * in_panels(columns) * side_), sums_(slots * stride_) {}

  // The blocks of the chunk whose first column is `begin`.
  double *blocks(Index slot, Index begin) {
    return sums_.data() + slot * stride_ + begin * in_panels(vectors_) * side_;
  }

  std::vector<double> total(int threads) {
    merge_slots(sums_.data(), slots_, stride_, stride_, threads);
    std::vector<double> out(static_cast<std::size_t>(vectors_ * columns_));
    parallel(vectors_, vectors_ * columns_ < 8 * packed_columns ? 1 : threads, [&](Index j, int) {
      for (Index begin = 0; begin < columns_; begin += packed_columns) {
        const Index chunk = std::min(packed_columns, columns_ - begin), panels = in_panels(chunk);
        const double *from = blocks(0, begin) + j / side_ * panels * side_ * side_ + j % side_ * side_;
        double *to = out.data() + j * columns_ + begin;
        for (Index c = 0; c < chunk; c += side_, from += side_ * side_)
          std::copy_n(from, std::min(side_, chunk - c), to + c);
      }
    });
    return out;
  }

private:
  Index side_, vectors_, columns_, slots_, stride_;
  Buffer sums_;
};

// Rows of u (count x targets, `step` apart), times a weight where there is one, as panels.
inline void pack_right(const double *u, Index step, Index count, Index targets, const double *weight, double *panels) {
  const Index side = kernels().panel, stride = (packed_rows + 3) * side;
  for (Index j = 0; j < targets; ++j) {
    double *to = panels + j / side * stride + j % side;
    for (Index i = 0; i < count; ++i)
      to[i * side] = weight != nullptr ? weight[i] * u[i * step + j] : u[i * step + j];
  }
}

// Tiles of consecutive rows in slots that depend on the shape alone.
inline Index slots_of_tiles(Index rows, Index columns) {
  return columns > narrow_columns ? 1 : std::clamp<Index>(rows / (8 * packed_rows), 1, most_slots);
}

template <class T>
std::vector<double> many_times_t(const Dense<T> &x, std::span<const double> u, Index targets,
                                 std::span<const double> shift, int threads) {
  const PackedRows<T> rows(x, shift);
  const Index slots = slots_of_tiles(x.rows, x.columns), chunks = (x.columns + packed_columns - 1) / packed_columns;
  const Index stride = PackedRows<T>::stride();
  CrossSums sums(targets, x.columns, slots);
  std::vector<Scratch> scratch = scratches(threads, rows.size(x.columns), 0, in_panels(targets) * stride);
  parallel(slots * chunks, threads, [&](Index item, int worker) {
    Scratch &own = scratch[static_cast<std::size_t>(worker)];
    const Range range = slot_range(x.rows, slots, item / chunks);
    const Index begin = item % chunks * packed_columns, chunk = std::min(packed_columns, x.columns - begin);
    for (Index row = range.begin; row < range.end; row += packed_rows) {
      const Index count = std::min(packed_rows, range.end - row);
      rows.pack(row, count, begin, chunk, own.tile.data());
      pack_right(u.data() + row * targets, targets, count, targets, nullptr, own.right.data());
      kernels().panel_cross(own.tile.data(), stride, in_panels(chunk), own.right.data(), stride, in_panels(targets),
                            count, sums.blocks(item / chunks, begin));
    }
  });
  return sums.total(threads);
}

// Both products of a tile, one after the other; wide rows by columns in the end, from products that all threads make
// first.
template <class T>
std::vector<double> scatter(const Dense<T> &x, std::span<const double> coef, Index count, std::span<const double> shift,
                            std::span<const double> weight, int threads) {
  const Index width = count + 1, stride = PackedRows<T>::stride();
  if (x.columns > packed_columns && count <= slab_vectors)
    return slab_scatter(x, coef, count, shift, weight, threads);
  if (x.columns > packed_columns) {
    std::vector<double> u(static_cast<std::size_t>(x.rows * width));
    products_of_all(x, coef, count, shift, threads, [&](Index i, const double *products) {
      const double w = weight.empty() ? 1.0 : weight[static_cast<std::size_t>(i)];
      for (Index k = 0; k < count; ++k)
        u[static_cast<std::size_t>(i * width + k)] = w * products[k];
      u[static_cast<std::size_t>(i * width + count)] = w;
    });
    return many_times_t(x, std::span<const double>(u), width, shift, threads);
  }
  const PackedRows<T> rows(x, shift);
  const PackedVectors vectors(coef.data(), count, x.columns);
  const Index slots = slots_of_tiles(x.rows, x.columns);
  CrossSums sums(width, x.columns, slots);
  std::vector<Scratch> scratch =
      scratches(threads, rows.size(x.columns), packed_rows * vectors.width(), in_panels(width) * stride);
  parallel(slots, threads, [&](Index slot, int worker) {
    Scratch &own = scratch[static_cast<std::size_t>(worker)];
    const Range range = slot_range(x.rows, slots, slot);
    for (Index row = range.begin; row < range.end; row += packed_rows) {
      const Index some = std::min(packed_rows, range.end - row);
      products_of_rows(rows, vectors, x.columns, row, some, own);
      const double *w = weight.empty() ? nullptr : weight.data() + row;
      pack_right(own.sums.data(), vectors.width(), some, count, w, own.right.data());
      double *last = own.right.data() + count / kernels().panel * stride + count % kernels().panel;
      for (Index i = 0; i < some; ++i)
        last[i * kernels().panel] = w != nullptr ? w[i] : 1.0;
      kernels().panel_cross(own.tile.data(), stride, in_panels(x.columns), own.right.data(), stride, in_panels(width),
                            some, sums.blocks(slot, 0));
    }
  });
  return sums.total(threads);
}

} // namespace tenfold
