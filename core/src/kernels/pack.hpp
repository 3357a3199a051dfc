// Rows to panels: the left half of a Gram product.
//
// Given `count` rows of x (row i of the tile is row rows[i], or row i when rows is null, each `width_of_row` apart),
// writes   (x_ij * unit_j - centre_j) * root_i   in float64 to
//   panels[(j / panel) * stride + i * panel + j % panel],
// so that one panel holds `panel` columns of all rows of the tile side by side. Lanes behind the last column become zero.
// root null means ones. unit and centre are padded to whole panels.
// Bytes: reads the tile once, writes it once to cache.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index panel = width < 4 ? 4 : width;
constexpr Index vectors = panel / width; // vectors of one row of a panel

template <class T>
void pack(const T *x, Index width_of_row, const Index *rows, Index count, Index columns, const double *unit,
          const double *centre, const double *root, double *panels, Index stride) {
  const Index whole = columns / panel * panel;
  for (Index i = 0; i < count; ++i) {
    const T *row = x + (rows != nullptr ? rows[i] : i) * width_of_row;
    const Vector scale = all(root != nullptr ? root[i] : 1.0);
    double *to = panels + i * panel;
    for (Index j = 0; j < whole; j += panel, to += stride)
      for (Index v = 0; v < panel; v += width)
        store(to + v, (load(row + j + v) * load(unit + j + v) - load(centre + j + v)) * scale);
    if (whole < columns)
      for (Index v = 0; v < panel; v += width) {
        const Index j = whole + v;
        const Index left = j < columns ? smaller(columns - j, width) : 0;
        store(to + v, (load_part(row + j, left) * load(unit + j) - load_part(centre + j, left)) * scale);
      }
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
