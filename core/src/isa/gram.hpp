// Microkernel of the Gram matrix of one packed tile, upper triangle, in blocks of panel x panel entries.
//
// Given `count` packed rows (see pack.hpp), adds   sum_r z_ri z_rj   to
//   blocks[(J (J + 1) / 2 + I) * panel^2 + (j % panel) * panel + i % panel],   I = i / panel <= J = j / panel,
// for all panels I in [i0, i1) and J in [j0, j1) with I <= J.
// Flops: 2 * count * panel^2 for a block; a register block holds up to `tall` blocks of one J, so that a step in r
// costs tall vector loads and `panel` broadcasts for tall * panel multiply-adds.
#pragma once

#include "pack.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index tall = registers == 32 ? 3 : (vectors == 1 ? 3 : 1); // panels I in one register block

// With `ahead`, the register block also prefetches cache line number `line` of each of the next rows, whose addresses
// are in `next`.
template <Index n, bool ahead>
inline void multiply(const double *a, const double *b, Index stride, Index count, double *block,
                     const char *const *next, Index line) {
  Vector sums[n * vectors][panel] = {};
  for (Index r = 0; r < count; ++r) {
    Vector left[n * vectors];
#pragma GCC unroll 8
    for (Index i = 0; i < n; ++i)
#pragma GCC unroll 8
      for (Index v = 0; v < vectors; ++v)
        left[i * vectors + v] = *reinterpret_cast<const Vector *>(a + i * stride + v * width);
#pragma GCC unroll 8
    for (Index j = 0; j < panel; ++j) {
      const Vector right = all(b[j]);
#pragma GCC unroll 8
      for (Index i = 0; i < n * vectors; ++i)
        sums[i][j] += left[i] * right;
    }
    a += panel;
    b += panel;
    if constexpr (ahead)
      __builtin_prefetch(next[r] + line * 64, 0, 2);
  }
#pragma GCC unroll 8
  for (Index i = 0; i < n; ++i)
#pragma GCC unroll 8
    for (Index j = 0; j < panel; ++j)
#pragma GCC unroll 8
      for (Index v = 0; v < vectors; ++v) {
        Vector *to = reinterpret_cast<Vector *>(block + i * panel * panel + j * panel + v * width);
        *to += sums[i * vectors + v][j];
      }
}

void gram(const double *panels, Index stride, Index count, Index i0, Index i1, Index j0, Index j1, double *blocks,
          const char *const *next, Index lines) {
  // Prefetches are spread evenly over the register blocks: memory cannot serve one cache line per step.
  Index total = 0, credit = 0, line = 0;
  for (Index j = j0; j < j1; ++j)
    total += (smaller(i1, j + 1) - i0 + tall - 1) / tall;
  const auto run = [&]<Index n>(const double *a, const double *b, double *block) {
    credit += lines;
    if (credit >= total && line < lines) {
      credit -= total;
      multiply<n, true>(a, b, stride, count, block, next, line++);
    } else {
      multiply<n, false>(a, b, stride, count, block, nullptr, 0);
    }
  };
  for (Index j = j0; j < j1; ++j) {
    const Index end = smaller(i1, j + 1);
    double *column = blocks + j * (j + 1) / 2 * panel * panel;
    const double *b = panels + j * stride;
    Index i = i0;
    for (; i + tall <= end; i += tall)
      run.template operator()<tall>(panels + i * stride, b, column + i * panel * panel);
    if constexpr (tall > 2)
      if (i + 2 <= end) {
        run.template operator()<2>(panels + i * stride, b, column + i * panel * panel);
        i += 2;
      }
    for (; i < end; ++i)
      run.template operator()<1>(panels + i * stride, b, column + i * panel * panel);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
