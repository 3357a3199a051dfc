// Weighted Gram matrices of rows: the sum over rows of root_i^2 a_i a_i', where
//   a_i = [ (x_i - shift) * unit | 1 | (y_i - shift) * unit ]      (columns of X, the constant, columns of y).
// Products of two different columns of y are not formed where they fill whole blocks: nobody asks for them.
//
// The matrix is kept by blocks of panel x panel entries, upper triangle (core/src/kernels/gram.hpp).
#pragma once

#include "tenfold/buffer.hpp"
#include "tenfold/products.hpp"
#include "tenfold/slots.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenfold {

// Where the entries of the matrix are.
struct GramShape {
  Index features = 0;
  Index targets = 0;
  Index panel = 8;

  Index columns() const { return features + 1 + targets; }
  Index panels() const { return (columns() + panel - 1) / panel; }
  Index full_panels() const { return features / panel + 1; } // those that meet every other panel
  Index size() const { return panels() * (panels() + 1) / 2 * panel * panel; }
  // i <= j
  Index at(Index i, Index j) const {
    const Index row = i / panel, column = j / panel;
    return ((column * (column + 1) / 2 + row) * panel + j % panel) * panel + i % panel;
  }
};

// The rows a_i. `list` names the rows in the order in which they are taken, or is null for all rows in theirs. unit and
// centre = shift * unit have features + targets entries, X first, the part of X padded to whole panels (x_padded).
template <class Rows> struct Design {
  const Rows &x;
  const double *y;
  const Index *list;
  std::vector<double> x_unit, x_centre;
  std::vector<double> y_unit, y_centre;

  Index row(Index position) const { return list != nullptr ? list[position] : position; }
};

constexpr Index gram_rows = 128; // packed at once

template <class T>
void pack_features(const Design<Dense<T>> &design, const GramShape &, Index begin, Index count, const double *root,
                   double *panels, Index stride) {
  const Index p = design.x.columns;
  const Index *rows = design.list != nullptr ? design.list + begin : nullptr;
  const T *x = design.list != nullptr ? design.x.data : design.x.data + begin * p;
  kernels().dense<T>().pack(x, p, rows, count, p, design.x_unit.data(), design.x_centre.data(), root, panels, stride);
}
template <class T, class I>
void pack_features(const Design<Sparse<T, I>> &design, const GramShape &shape, Index begin, Index count,
                   const double *root, double *panels, Index stride) {
  const Index covered = (shape.features + shape.panel - 1) / shape.panel;
  for (Index block = 0; block < covered; ++block)
    std::fill_n(panels + block * stride, count * shape.panel, 0.0);
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(design.row(begin + i));
    check(design.x, static_cast<Index>(row), 1);
    for (auto k = static_cast<std::size_t>(design.x.indptr[row]); k < static_cast<std::size_t>(design.x.indptr[row + 1]); ++k) {
      const Index j = static_cast<Index>(design.x.indices[k]);
      panels[j / shape.panel * stride + i * shape.panel + j % shape.panel] +=
          static_cast<double>(design.x.data[k]) * design.x_unit[static_cast<std::size_t>(j)] * root[i];
    }
  }
}

// Packs rows begin ... begin + count of the design, times root, as rows `at` ... of the panels.
template <class Rows>
void pack_rows(const Design<Rows> &design, const GramShape &shape, Index begin, Index count, const double *root,
               Index at, double *panels) {
  const Index stride = gram_rows * shape.panel;
  double *to = panels + at * shape.panel;
  pack_features(design, shape, begin, count, root, to, stride);
  for (Index c = 0; c <= shape.targets; ++c) {
    const Index j = shape.features + c;
    double *column = to + j / shape.panel * stride + j % shape.panel;
    for (Index i = 0; i < count; ++i) {
      double value = 1.0;
      if (c > 0) {
        const auto k = static_cast<std::size_t>(c - 1);
        value = design.y[design.row(begin + i) * shape.targets + c - 1] * design.y_unit[k] - design.y_centre[k];
      }
      column[i * shape.panel] = value * root[i];
    }
  }
}

// Where the rows that come next begin, for reading ahead; returns the cache lines of a row, 0 for nothing to read ahead.
template <class T>
Index addresses(const Design<Dense<T>> &design, Index begin, Index count, const char **next) {
  if (count <= 0)
    return 0;
  for (Index i = 0; i < gram_rows; ++i)
    next[i] = reinterpret_cast<const char *>(design.x.data + design.row(begin + std::min(i, count - 1)) * design.x.columns);
  return design.x.columns * static_cast<Index>(sizeof(T)) / 64 + 1;
}
template <class T, class I> Index addresses(const Design<Sparse<T, I>> &, Index, Index, const char **) { return 0; }

// Adds the Gram matrix of the first `count` packed rows for all blocks.
inline void multiply_panels(const GramShape &shape, const double *panels, Index count, double *blocks,
                            const char *const *next, Index lines) {
  const Index stride = gram_rows * shape.panel;
  const Index full = std::min(shape.full_panels(), shape.panels());
  kernels().gram(panels, stride, count, 0, full, 0, shape.panels(), blocks, next, lines);
  for (Index j = full; j < shape.panels(); ++j)
    kernels().gram(panels, stride, count, j, j + 1, j, j + 1, blocks, nullptr, 0);
}

// Rows into one matrix, a tile at a time: push packs them, flush multiplies what has been packed.
template <class Rows> class GramTile {
public:
  GramTile() = default;
  explicit GramTile(const GramShape &shape)
      : shape_(shape), panels_(shape.panels() * gram_rows * shape.panel), next_(gram_rows) {}

  void push(const Design<Rows> &design, Index begin, Index count, const double *root, double *blocks, Index end) {
    while (count > 0) {
      const Index part = std::min(count, gram_rows - filled_);
      pack_rows(design, shape_, begin, part, root, filled_, panels_.data());
      filled_ += part;
      begin += part;
      root += part;
      count -= part;
      if (filled_ == gram_rows) {
        multiply_panels(shape_, panels_.data(), filled_, blocks, next_.data(),
                        addresses(design, begin, std::min(gram_rows, end - begin), next_.data()));
        filled_ = 0;
      }
    }
  }
  void flush(double *blocks) {
    if (filled_ > 0)
      multiply_panels(shape_, panels_.data(), filled_, blocks, nullptr, 0);
    filled_ = 0;
  }

private:
  GramShape shape_;
  Buffer panels_;
  std::vector<const char *> next_;
  Index filled_ = 0;
};

} // namespace tenfold
