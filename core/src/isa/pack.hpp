// Packing of rows into panels, the left operand of Gram and gemm microkernels.
//
// Given `count` rows of x (row i of the tile is row rows[i], or row i when rows is null, leading dimension
// `width_of_row`), writes   (x_ij * unit_j - centre_j) * root_i   in float64 to
//   panels[(j / panel) * stride + i * panel + j % panel],
// so that a panel holds `panel` columns of all rows of the tile contiguously. Lanes beyond the last column are zero.
// root null means ones. unit and centre are padded to whole panels. Bytes: reads the tile once, writes it once to
// cache. pack_centred writes (x_ij - c_ij) * root_i, with c_i row `of[i]` of centres with leading dimension `step`, a
// multiple of panel.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index panel = width < 4 ? 4 : width;
constexpr Index vectors = panel / width; // SIMD vectors of one row of a panel

// Rows are packed in groups of r, so that unit and centre are loaded once per group and stores to a panel are
// contiguous.
template <Index r, class T>
inline void pack_group(const T *const *row, Index columns, const double *unit, const double *centre, const double *root,
                       double *panels, Index stride) {
  Vector scale[r];
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
    scale[i] = all(root != nullptr ? root[i] : 1.0);
  Index j = 0;
  for (; j + panel <= columns; j += panel, panels += stride)
#pragma GCC unroll 8
    for (Index v = 0; v < panel; v += width) {
      const Vector times = load(unit + j + v), minus = load(centre + j + v);
#pragma GCC unroll 8
      for (Index i = 0; i < r; ++i)
        store(panels + i * panel + v, (load(row[i] + j + v) * times - minus) * scale[i]);
    }
  if (j < columns)
    for (Index v = 0; v < panel; v += width) {
      const Index left = j + v < columns ? smaller(columns - j - v, width) : 0;
      const Vector times = load(unit + j + v), minus = load_part(centre + j + v, left);
#pragma GCC unroll 8
      for (Index i = 0; i < r; ++i)
        store(panels + i * panel + v, (load_part(row[i] + j + v, left) * times - minus) * scale[i]);
    }
}

template <class T>
void pack(const T *x, Index width_of_row, const Index *rows, Index count, Index columns, const double *unit,
          const double *centre, const double *root, double *panels, Index stride) {
  constexpr Index r = 4;
  const T *row[r];
  const auto find = [&](Index i) { return x + (rows != nullptr ? rows[i] : i) * width_of_row; };
  Index i = 0;
  for (; i + r <= count; i += r) {
    for (Index k = 0; k < r; ++k)
      row[k] = find(i + k);
    pack_group<r>(row, columns, unit, centre, root != nullptr ? root + i : nullptr, panels + i * panel, stride);
  }
  for (; i < count; ++i) {
    row[0] = find(i);
    pack_group<1>(row, columns, unit, centre, root != nullptr ? root + i : nullptr, panels + i * panel, stride);
  }
}

template <Index r, class T>
inline void pack_group_centred(const T *const *row, Index columns, const double *const *centre, const double *root,
                               double *panels, Index stride) {
  Vector scale[r];
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
    scale[i] = all(root != nullptr ? root[i] : 1.0);
  const auto write = [&](Index j, Index v, auto &&of_row) {
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i)
      store(panels + i * panel + v, (of_row(row[i] + j + v) - load(centre[i] + j + v)) * scale[i]);
  };
  Index j = 0;
  for (; j + panel <= columns; j += panel, panels += stride)
#pragma GCC unroll 8
    for (Index v = 0; v < panel; v += width)
      write(j, v, [](const T *x) { return load(x); });
  if (j < columns)
    for (Index v = 0; v < panel; v += width) {
      const Index left = j + v < columns ? smaller(columns - j - v, width) : 0;
      write(j, v, [left](const T *x) { return load_part(x, left); });
    }
}

template <class T>
void pack_centred(const T *x, Index width_of_row, const Index *rows, Index count, Index columns, const double *centres,
                  Index step, const std::int32_t *of, const double *root, double *panels, Index stride) {
  constexpr Index r = 4;
  const T *row[r];
  const double *centre[r];
  const auto find = [&](Index i, Index k) {
    row[k] = x + rows[i + k] * width_of_row;
    centre[k] = centres + of[i + k] * step;
  };
  Index i = 0;
  for (; i + r <= count; i += r) {
    for (Index k = 0; k < r; ++k)
      find(i, k);
    pack_group_centred<r>(row, columns, centre, root != nullptr ? root + i : nullptr, panels + i * panel, stride);
  }
  for (; i < count; ++i) {
    find(i, 0);
    pack_group_centred<1>(row, columns, centre, root != nullptr ? root + i : nullptr, panels + i * panel, stride);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
