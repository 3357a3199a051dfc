// Weighted Gram matrices: the sum over samples of root_i^2 a_i a_i', where
//   a_i = [ (x_i - shift) * unit | 1 | (y_i - shift) * unit ]      (columns of X, ones, columns of y).
// Products of two different columns of y are not needed and are skipped where they fill whole blocks.
//
// The upper triangle is stored in blocks of panel x panel entries (core/src/isa/gram.hpp). Rows come in tiles of
// gram_rows, which are packed first and multiplied then. Tiles are dense panels (gram_dense_tile.hpp), for dense and
// for moderately sparse rows, or lists of nonzeros (gram_sparse_tile.hpp).
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/tile_products.hpp"

#include <algorithm>
#include <vector>

namespace tenfold {

constexpr Index gram_rows = 128; // rows of a tile: four panels of them fit L1

// Block layout of the matrix.
struct GramShape {
  Index features = 0;
  Index targets = 0;
  Index panel = 8;

  Index columns() const { return features + 1 + targets; }
  Index panels() const { return (columns() + panel - 1) / panel; }
  Index full_panels() const { return features / panel + 1; } // panels that are multiplied with all others
  Index block(Index i, Index j) const { return (j * (j + 1) / 2 + i) * panel * panel; }
  Index size() const { return block(0, panels()); }
  // i <= j
  Index at(Index i, Index j) const { return block(i / panel, j / panel) + j % panel * panel + i % panel; }
};

constexpr Index max_partition_columns = 512; // columns; wider matrices are shared by all threads
constexpr Index min_partition_rows = 1024;   // rows of a partition, so that reducing it is cheap

inline bool is_wide(const GramShape &shape) { return shape.columns() > max_partition_columns; }

// The rows a_i. `list` holds row numbers in processing order, or is null for all rows in order.
template <class Rows> struct Design {
  Design(const Rows &rows, const double *targets, const Index *order, const GramShape &shape)
      : x(rows), y(targets), list(order), unit(padded(shape)), centre(padded(shape)),
        y_unit(static_cast<std::size_t>(shape.targets), 1.0), y_centre(static_cast<std::size_t>(shape.targets)) {
    std::fill_n(unit.data(), shape.features, 1.0);
  }

  Index row(Index position) const { return list != nullptr ? list[position] : position; }

  const Rows &x;
  const double *y;
  const Index *list;
  Buffer unit, centre;                  // of the columns of X, padded to whole panels; centre = shift * unit
  std::vector<double> y_unit, y_centre; // of the columns of y

private:
  static Index padded(const GramShape &shape) { return (shape.features / shape.panel + 1) * shape.panel; }
};

// A rectangle of panels: I in [i0, i1), J in [j0, j1).
struct Blocks {
  Index i0, i1, j0, j1;
};

// The blocks that are computed: one rectangle, and the diagonal blocks of y (see GramShape::full_panels).
template <class F> void for_each_part(const GramShape &shape, F &&part) {
  const Index full = std::min(shape.full_panels(), shape.panels());
  part(Blocks{0, full, 0, shape.panels()});
  for (Index j = full; j < shape.panels(); ++j)
    part(Blocks{j, j + 1, j, j + 1});
}

// Adds the Gram matrix of the rows of `range` to blocks shared by all threads: a chunk of tiles is packed, then each
// thread multiplies rectangles of its own, so that every entry is summed in row order. roots(begin, count, out) gives
// the square roots of the weights.
template <class Tile, class Rows, class Roots>
void gram_wide(const Design<Rows> &design, const GramShape &shape, Range range, Roots &&roots, int threads,
               double *blocks) {
  constexpr Index chunk_size = 2 * 1024 * 1024; // doubles
  const Index most = std::clamp<Index>(chunk_size / (shape.columns() * gram_rows), 1, 8);
  const Index count = std::min(most, (range.end - range.begin + gram_rows - 1) / gram_rows);
  std::vector<Tile> tiles;
  for (Index i = 0; i < count; ++i)
    tiles.emplace_back(shape);
  const std::vector<Blocks> parts = Tile::parts(shape, threads);
  for (Index begin = range.begin; begin < range.end; begin += count * gram_rows) {
    const Index used = std::min(count, (range.end - begin + gram_rows - 1) / gram_rows);
    parallel(used, threads, [&](Index item, int) {
      const Index first = begin + item * gram_rows;
      const Index rows = std::min(gram_rows, range.end - first);
      double root[gram_rows];
      roots(first, rows, root);
      tiles[static_cast<std::size_t>(item)].clear();
      tiles[static_cast<std::size_t>(item)].pack(design, first, rows, root);
    });
    parallel(static_cast<Index>(parts.size()), threads, [&](Index item, int) {
      for (Index tile = 0; tile < used; ++tile)
        tiles[static_cast<std::size_t>(tile)].multiply(parts[static_cast<std::size_t>(item)], blocks);
    });
  }
}

// The leading q x q matrix, both triangles, minus sums sums' / total unless sums is null.
inline void to_symmetric(const GramShape &shape, const double *blocks, Index q, const double *sums, double total,
                         int threads, double *out) {
  const Index side = shape.panel;
  const Index panels = (q + side - 1) / side;
  parallel(panels, q > max_partition_columns ? threads : 1, [&](Index column, int) {
    for (Index row = 0; row <= column; ++row) {
      const double *block = blocks + shape.block(row, column);
      const Index rows = std::min(side, q - row * side), columns = std::min(side, q - column * side);
      for (Index b = 0; b < columns; ++b) {
        const Index j = column * side + b;
        for (Index a = 0; a < rows; ++a) {
          const Index i = row * side + a;
          if (i > j)
            break;
          double value = block[b * side + a];
          if (sums != nullptr)
            value -= sums[i] * sums[j] / total;
          out[j * q + i] = out[i * q + j] = value;
        }
      }
    }
  });
}

} // namespace tenfold
