// Random Fourier features z_ik = scale cos(x_i.w_k + offset_k): a product by BLAS for some samples at a time, whose
// cosines are taken while it is in the second-level cache. Bytes: X is read once and Z written once.
#pragma once

#include "tenfold/blas.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <type_traits>

namespace tenfold {

constexpr Index cosine_tile_bytes = Index{1} << 19;

// Tiles of samples: their length is a function of the shape alone, so bits do not depend on the threads.
template <class T> Index cosine_tile_rows(Index columns) {
  const Index fitting = cosine_tile_bytes / (static_cast<Index>(sizeof(T)) * std::max<Index>(1, columns));
  return std::clamp<Index>(fitting, 16, 1024);
}

// z = scale cos(z + offset), z (n x K) in C order.
template <class T> void take_cosines(T *z, Index n, Index columns, const T *offset, double scale, int threads) {
  const Index rows = cosine_tile_rows<T>(columns), tiles = (n + rows - 1) / rows;
  const auto cosines = kernels().template dense<T>().cosines;
  parallel(tiles, threads, [&](Index tile, int) {
    for (Index i = tile * rows; i < std::min(n, (tile + 1) * rows); ++i)
      cosines(z + i * columns, offset, scale, columns);
  });
}

// x (n x p), w (p x K), z (n x K), all in C order; p, K < 2^31.
template <class T>
void cosine_features(const Blas &blas, Dense<T> x, const T *w, Index columns, const T *offset, double scale, T *z,
                     int threads) {
  const Index rows = cosine_tile_rows<T>(columns), tiles = (x.rows + rows - 1) / rows;
  const auto cosines = kernels().template dense<T>().cosines;
  parallel(tiles, threads, [&](Index tile, int) {
    const Index begin = tile * rows, count = std::min(x.rows - begin, rows);
    // in Fortran order the C-ordered matrices are their transposes: z' = w' x'
    char plain = 'N';
    int m = static_cast<int>(columns), samples = static_cast<int>(count), p = static_cast<int>(x.columns);
    T one = 1, zero = 0, *out = z + begin * columns;
    T *left = const_cast<T *>(w), *right = const_cast<T *>(x.data + begin * x.columns);
    if constexpr (std::is_same_v<T, float>)
      blas.sgemm(&plain, &plain, &m, &samples, &p, &one, left, &m, right, &p, &zero, out, &m);
    else
      blas.dgemm(&plain, &plain, &m, &samples, &p, &one, left, &m, right, &p, &zero, out, &m);
    for (Index i = 0; i < count; ++i)
      cosines(out + i * columns, offset, scale, columns);
  });
}

} // namespace tenfold
