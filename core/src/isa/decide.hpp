// Single-precision scores and their two largest values, for a tile with one lane per row.
//
// scale_row      out_j = unit_j (x_j - place_j)
// row_sq_norms   squares(j, i) = rows(j, i)^2 unless null, and norms(i) += their sums over the columns j
// top_two        of scores z(k, i) + b_k the largest, the second largest and the index of the largest; NaN is skipped
#pragma once

#include "sgemm_tile.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class T> void scale_row(const T *x, Index columns, const double *place, const double *unit, float *out) {
  Index j = 0;
  for (; j + width <= columns; j += width)
    store(out + j, load(unit + j) * (load(x + j) - load(place + j)));
  if (j < columns) {
    const Index left = columns - j;
    const Vector away = load_part(x + j, left) - load_part(place + j, left);
    store_part(out + j, load_part(unit + j, left) * away, left);
  }
}

void row_sq_norms(const float *rows, Index step, Index columns, Index count, float *squares, float *norms) {
  for (Index i = 0; i < count; i += singles) {
    Singles total = load_singles(norms + i);
    for (Index j = 0; j < columns; ++j) {
      const Singles v = load_singles(rows + j * step + i), square = v * v;
      total += square;
      if (squares != nullptr)
        *reinterpret_cast<Singles *>(squares + j * step + i) = square;
    }
    *reinterpret_cast<Singles *>(norms + i) = total;
  }
}

void top_two(const float *z, Index step, Index classes, const float *b, Index count, float *best, float *second,
             std::int32_t *number) {
  for (Index i = 0; i < count; i += singles) {
    Standing standing{all_singles(-__builtin_inff()), all_singles(-__builtin_inff()), Numbers{}};
    for (Index k = 0; k < classes; ++k)
      enter(standing, load_singles(z + k * step + i) + b[k], static_cast<int>(k));
    *reinterpret_cast<UnalignedSingles *>(best + i) = standing.best;
    *reinterpret_cast<UnalignedSingles *>(second + i) = standing.second;
    for (Index l = 0; l < singles; ++l)
      number[i + l] = standing.panel[l];
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
