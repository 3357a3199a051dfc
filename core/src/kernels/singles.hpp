// Products of rows with some vectors in single precision, both ways. Rows lie as they are, `step` floats apart, a
// multiple of `singles`; vectors are in panels of `singles` lanes, entry (c, k) at v[(k / singles) * stride + c *
// singles + k % singles], and z (count x width of all panels) has their products.
//
// singles_times   z(i, k) += sum_c x(i, c) v(c, k)
// singles_back    out(k, c) += sum_i z(i, k) x(i, c) for `asked` of them, a multiple of four; rows of out `step`
// apart Nothing is packed but the vectors: each entry of x meets few of them. Flops: 2 * count * columns * vectors
// each.
#pragma once

#include "nearest.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

inline void store_singles(float *p, Singles v) { *reinterpret_cast<UnalignedSingles *>(p) = v; }

template <Index r, Index n>
inline void times_some(const float *x, Index step, Index columns, const float *v, Index stride, float *z,
                       Index width_z) {
  Singles sums[r][n] = {};
  for (Index c = 0; c < columns; ++c) {
    Singles right[n];
#pragma GCC unroll 8
    for (Index k = 0; k < n; ++k)
      right[k] = load_singles(v + k * stride + c * singles);
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i) {
      const Singles left = all_singles(x[i * step + c]);
#pragma GCC unroll 8
      for (Index k = 0; k < n; ++k)
        sums[i][k] += left * right[k];
    }
  }
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
#pragma GCC unroll 8
    for (Index k = 0; k < n; ++k) {
      float *to = z + i * width_z + k * singles;
      store_singles(to, load_singles(to) + sums[i][k]);
    }
}

void singles_times(const float *x, Index step, Index count, Index columns, const float *v, Index stride, Index panels,
                   float *z) {
  constexpr Index n = registers == 32 ? 2 : 1, r = registers == 32 ? 8 : 4;
  const Index width_z = panels * singles;
  const auto rows = [&]<Index some>(Index k) {
    Index i = 0;
    for (; i + r <= count; i += r)
      times_some<r, some>(x + i * step, step, columns, v + k * stride, stride, z + i * width_z + k * singles, width_z);
    for (; i < count; ++i)
      times_some<1, some>(x + i * step, step, columns, v + k * stride, stride, z + i * width_z + k * singles, width_z);
  };
  Index k = 0;
  for (; k + n <= panels; k += n)
    rows.template operator()<n>(k);
  if constexpr (n > 1)
    for (; k < panels; ++k)
      rows.template operator()<1>(k);
}

template <Index n>
inline void back_some(const float *x, Index step, Index count, const float *z, Index width_z, Index asked, float *out) {
  constexpr Index side = 4;
  for (Index k = 0; k < asked; k += side) {
    Singles sums[side][n];
#pragma GCC unroll 8
    for (Index l = 0; l < side; ++l)
#pragma GCC unroll 8
      for (Index c = 0; c < n; ++c)
        sums[l][c] = load_singles(out + (k + l) * step + c * singles);
    for (Index i = 0; i < count; ++i) {
      Singles right[n];
#pragma GCC unroll 8
      for (Index c = 0; c < n; ++c)
        right[c] = load_singles(x + i * step + c * singles);
#pragma GCC unroll 8
      for (Index l = 0; l < side; ++l) {
        const Singles left = all_singles(z[i * width_z + k + l]);
#pragma GCC unroll 8
        for (Index c = 0; c < n; ++c)
          sums[l][c] += left * right[c];
      }
    }
#pragma GCC unroll 8
    for (Index l = 0; l < side; ++l)
#pragma GCC unroll 8
      for (Index c = 0; c < n; ++c)
        store_singles(out + (k + l) * step + c * singles, sums[l][c]);
  }
}

void singles_back(const float *x, Index step, Index count, Index columns, const float *z, Index width_z, Index asked,
                  float *out) {
  constexpr Index n = registers == 32 ? 4 : 2;
  Index c = 0;
  for (; c + n * singles <= columns; c += n * singles)
    back_some<n>(x + c, step, count, z, width_z, asked, out + c);
  for (; c < columns; c += singles)
    back_some<1>(x + c, step, count, z, width_z, asked, out + c);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
