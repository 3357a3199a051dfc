// Level-3 products of dense X (n x p) with k >= 8 vectors, by packed tiles; with D = X - 1 shift':
//   packed_matmul        Z = D coef' + intercept, (n x k)
//   packed_matmul_t      U' D, (k x p)
//   scatter_products     coef D' W D and 1' W D, (k + 1 x p), W diagonal with the sample weights
// The loops of matvec.hpp serve few vectors: they reload the coefficients for every few rows.
//
// As in GotoBLAS, a tile of rows is packed in blocks of columns that stay in L2 while they are multiplied by the
// vectors, which are packed once. `scatter_products` uses a packed tile for both products. Narrow results are summed
// per partition of the rows; wide ones are split by columns, and every entry is summed in row order: the bits do not
// depend on threads.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/scatter_wide.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index packed_gemm_min_vectors = 8;      // vectors from which packing pays for itself
constexpr Index packed_tile_rows = 64;            // rows of a packed tile
constexpr Index packed_tile_columns = 512;        // columns of a packed tile: 256 KiB with 64 rows, in L2
constexpr Index row_partition_max_columns = 1024; // wider results are split by columns instead of rows

inline Index count_panels(Index columns) { return (columns + kernels().panel - 1) / kernels().panel; }

// Vectors (count x columns) in panels: entry (c, j) of the transpose at (j / panel) * stride + c * panel + j % panel.
class PackedVectors {
public:
  PackedVectors(const double *vectors, Index count, Index columns, int threads = 1)
      : side_(kernels().panel), panels_(count_panels(count)), stride_((count_panels(columns) * side_ + 3) * side_),
        values_(panels_ * stride_) {
    parallel(panels_, count * columns < 8 * packed_tile_columns ? 1 : threads, [&](Index panel, int) {
      const Index first = panel * side_, some = std::min(side_, count - first);
      double *to = values_.data() + panel * stride_;
      for (Index c = 0; c < columns; ++c, to += side_)
        for (Index j = 0; j < some; ++j)
          to[j] = vectors[(first + j) * columns + c];
    });
  }

  Index panels() const { return panels_; }
  Index width() const { return panels_ * side_; }

  // out (count x width) += products of packed rows whose first column is `begin`.
  void add_products(const double *tile, Index stride, Index count, Index begin, Index columns, double *out) const {
    kernels().gemm_packed(tile, stride, count, count_panels(columns), values_.data() + begin * side_, stride_, panels_,
                          out, width());
  }

private:
  Index side_, panels_, stride_;
  Buffer values_;
};

// Packs tiles of D.
template <class T> class PackedRows {
public:
  PackedRows(const Dense<T> &x, std::span<const double> shift)
      : x_(x), unit_(count_panels(x.columns) * kernels().panel), centre_(count_panels(x.columns) * kernels().panel) {
    std::fill_n(unit_.data(), x.columns, 1.0);
    std::copy(shift.begin(), shift.end(), centre_.data());
  }

  static Index stride() { return (packed_tile_rows + 3) * kernels().panel; }
  static Index size(Index columns) { return count_panels(std::min(columns, packed_tile_columns)) * stride(); }

  void pack(Index row, Index count, Index begin, Index columns, double *tile) const {
    kernels().dense<T>().pack(x_.data + row * x_.columns + begin, x_.columns, nullptr, count, columns,
                              unit_.data() + begin, centre_.data() + begin, nullptr, tile, stride());
  }

private:
  Dense<T> x_;
  Buffer unit_, centre_;
};

// Work space of one thread.
struct Scratch {
  Scratch(Index of_tile, Index of_sums, Index of_right) : tile(of_tile), sums(of_sums), right(of_right) {}
  Buffer tile, sums, right;
};

inline std::vector<Scratch> scratches(int threads, Index tile, Index sums, Index panels = 0) {
  std::vector<Scratch> result;
  for (int w = 0; w < threads; ++w)
    result.emplace_back(tile, sums, panels);
  return result;
}

// D coef' of `count` rows, tile by tile. Where one block holds all columns the last tile is left packed for reuse.
template <class T>
void multiply_rows(const PackedRows<T> &rows, const PackedVectors &vectors, Index columns, Index row, Index count,
                   Scratch &scratch) {
  std::fill_n(scratch.sums.data(), count * vectors.width(), 0.0);
  for (Index begin = 0; begin < columns; begin += packed_tile_columns)
    for (Index i = 0; i < count; i += packed_tile_rows) {
      const Index chunk = std::min(packed_tile_columns, columns - begin), some = std::min(packed_tile_rows, count - i);
      rows.pack(row + i, some, begin, chunk, scratch.tile.data());
      vectors.add_products(scratch.tile.data(), PackedRows<T>::stride(), some, begin, chunk,
                           scratch.sums.data() + i * vectors.width());
    }
}

// Calls write(row, products) for every row of D coef'. Vectors that exceed L2 are read once per group of up to four
// tiles; the grouping does not change the bits.
template <class T, class F>
void for_each_product(const Dense<T> &x, std::span<const double> coef, Index count, std::span<const double> shift,
                      int threads, F &&write) {
  const PackedRows<T> rows(x, shift);
  const PackedVectors vectors(coef.data(), count, x.columns, threads);
  const Index tiles = (x.rows + packed_tile_rows - 1) / packed_tile_rows;
  const Index group = packed_tile_rows * std::clamp<Index>(x.columns > packed_tile_columns ? tiles / threads : 1, 1, 4);
  std::vector<Scratch> scratch = scratches(threads, rows.size(x.columns), group * vectors.width());
  parallel((x.rows + group - 1) / group, threads, [&](Index item, int worker) {
    Scratch &local = scratch[static_cast<std::size_t>(worker)];
    const Index row = item * group, some = std::min(group, x.rows - row);
    multiply_rows(rows, vectors, x.columns, row, some, local);
    for (Index i = 0; i < some; ++i)
      write(row + i, local.sums.data() + i * vectors.width());
  });
}

template <class T>
void packed_matmul(const Dense<T> &x, std::span<const double> coef, std::span<const double> intercept,
                   std::span<const double> shift, int threads, std::span<double> z) {
  const Index t = static_cast<Index>(intercept.size());
  for_each_product(x, coef, t, shift, threads, [&](Index i, const double *products) {
    for (Index k = 0; k < t; ++k)
      z[static_cast<std::size_t>(i * t + k)] = products[k] + intercept[static_cast<std::size_t>(k)];
  });
}

// Results (vectors x columns) in register-block order, see core/src/isa/panel_cross.hpp, in blocks of
// packed_tile_columns columns: block c begins at c * packed_tile_columns * (padded vectors).
class CrossProductSums {
public:
  CrossProductSums(Index vectors, Index columns, Index partitions)
      : side_(kernels().panel), vectors_(vectors), columns_(columns), slots_(partitions),
        stride_(count_panels(vectors) * side_ * count_panels(columns) * side_), sums_(partitions * stride_) {}

  // The register blocks of the column block that starts at `begin`.
  double *blocks(Index partition, Index begin) {
    return sums_.data() + partition * stride_ + begin * count_panels(vectors_) * side_;
  }

  std::vector<double> total(int threads) {
    merge_partitions(sums_.data(), slots_, stride_, stride_, threads);
    std::vector<double> out(static_cast<std::size_t>(vectors_ * columns_));
    parallel(vectors_, vectors_ * columns_ < 8 * packed_tile_columns ? 1 : threads, [&](Index j, int) {
      for (Index begin = 0; begin < columns_; begin += packed_tile_columns) {
        const Index chunk = std::min(packed_tile_columns, columns_ - begin), panels = count_panels(chunk);
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

// Packs u (count x targets, rows `step` apart), scaled by the weights unless null.
inline void pack_rhs(const double *u, Index step, Index count, Index targets, const double *weight, double *panels) {
  const Index panel = kernels().panel, stride = (packed_tile_rows + 3) * panel;
  for (Index j = 0; j < targets; ++j) {
    double *to = panels + j / panel * stride + j % panel;
    for (Index i = 0; i < count; ++i)
      to[i * panel] = weight != nullptr ? weight[i] * u[i * step + j] : u[i * step + j];
  }
}

// Number of row partitions; depends on the shape alone.
inline Index count_tile_partitions(Index rows, Index columns) {
  return columns > row_partition_max_columns ? 1 : std::clamp<Index>(rows / (8 * packed_tile_rows), 1, max_partitions);
}

template <class T>
std::vector<double> packed_matmul_t(const Dense<T> &x, std::span<const double> u, Index targets,
                                    std::span<const double> shift, int threads) {
  const PackedRows<T> rows(x, shift);
  const Index partitions = count_tile_partitions(x.rows, x.columns),
              chunks = (x.columns + packed_tile_columns - 1) / packed_tile_columns;
  const Index stride = PackedRows<T>::stride();
  CrossProductSums sums(targets, x.columns, partitions);
  std::vector<Scratch> scratch = scratches(threads, rows.size(x.columns), 0, count_panels(targets) * stride);
  parallel(partitions * chunks, threads, [&](Index item, int worker) {
    Scratch &local = scratch[static_cast<std::size_t>(worker)];
    const Range range = partition_range(x.rows, partitions, item / chunks);
    const Index begin = item % chunks * packed_tile_columns, chunk = std::min(packed_tile_columns, x.columns - begin);
    for (Index row = range.begin; row < range.end; row += packed_tile_rows) {
      const Index count = std::min(packed_tile_rows, range.end - row);
      rows.pack(row, count, begin, chunk, local.tile.data());
      pack_rhs(u.data() + row * targets, targets, count, targets, nullptr, local.right.data());
      kernels().panel_cross(local.tile.data(), stride, count_panels(chunk), local.right.data(), stride,
                            count_panels(targets), count, sums.blocks(item / chunks, begin));
    }
  });
  return sums.total(threads);
}

// Wide X takes two passes: the products first, then the transposed product split by columns.
template <class T>
std::vector<double> scatter_products(const Dense<T> &x, std::span<const double> coef, Index count,
                                     std::span<const double> shift, std::span<const double> weight, int threads) {
  const Index width = count + 1, stride = PackedRows<T>::stride();
  if (x.columns > packed_tile_columns && count <= unpacked_max_vectors)
    return scatter_products_unpacked(x, coef, count, shift, weight, threads);
  if (x.columns > packed_tile_columns) {
    std::vector<double> u(static_cast<std::size_t>(x.rows * width));
    for_each_product(x, coef, count, shift, threads, [&](Index i, const double *products) {
      const double w = weight.empty() ? 1.0 : weight[static_cast<std::size_t>(i)];
      for (Index k = 0; k < count; ++k)
        u[static_cast<std::size_t>(i * width + k)] = w * products[k];
      u[static_cast<std::size_t>(i * width + count)] = w;
    });
    return packed_matmul_t(x, std::span<const double>(u), width, shift, threads);
  }
  const PackedRows<T> rows(x, shift);
  const PackedVectors vectors(coef.data(), count, x.columns);
  const Index partitions = count_tile_partitions(x.rows, x.columns);
  CrossProductSums sums(width, x.columns, partitions);
  std::vector<Scratch> scratch =
      scratches(threads, rows.size(x.columns), packed_tile_rows * vectors.width(), count_panels(width) * stride);
  parallel(partitions, threads, [&](Index partition, int worker) {
    Scratch &local = scratch[static_cast<std::size_t>(worker)];
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index row = range.begin; row < range.end; row += packed_tile_rows) {
      const Index some = std::min(packed_tile_rows, range.end - row);
      multiply_rows(rows, vectors, x.columns, row, some, local);
      const double *w = weight.empty() ? nullptr : weight.data() + row;
      pack_rhs(local.sums.data(), vectors.width(), some, count, w, local.right.data());
      double *last = local.right.data() + count / kernels().panel * stride + count % kernels().panel;
      for (Index i = 0; i < some; ++i)
        last[i * kernels().panel] = w != nullptr ? w[i] : 1.0;
      kernels().panel_cross(local.tile.data(), stride, count_panels(x.columns), local.right.data(), stride,
                            count_panels(width), some, sums.blocks(partition, 0));
    }
  });
  return sums.total(threads);
}

} // namespace tenfold
