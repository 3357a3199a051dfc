// A matrix b that many tiles of rows are multiplied by: out = a b.
//
// A factor of up to 8 MB whose rows of a fit the cache is packed once and multiplied by our own kernel
// (core/src/isa/gemm_panel.hpp), up to twice as fast as dgemm on a tile; for a larger one BLAS, which cuts it for the
// caches, is the better choice.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/blas.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>

namespace tenfold {

class RightFactor {
public:
  // b is inner x columns, or its transpose (columns x inner) is given; C order. It must outlive this. Of an upper
  // triangle nothing is multiplied by the zeros below.
  RightFactor(const double *b, bool transposed, Index inner, Index columns, bool upper = false)
      : b_(b), transposed_(transposed), upper_(upper), inner_(inner), columns_(columns), side_(kernels().panel),
        panels_((columns + side_ - 1) / side_), stride_((inner + 3) * side_) {
    if (!packed())
      return;
    packed_ = Buffer(panels_ * stride_);
    for (Index j = 0; j < columns; ++j) {
      double *to = packed_.data() + j / side_ * stride_ + j % side_;
      for (Index k = 0; k < inner; ++k)
        to[k * side_] = transposed ? b[j * inner + k] : b[k * columns + j];
    }
  }

  static bool fits(Index inner, Index columns) { return inner <= 1024 && inner * columns <= 1024 * 1024; }
  bool packed() const { return fits(inner_, columns_); }

  // Doubles from row to row of the product: whole panels.
  Index step() const { return panels_ * side_; }

  void multiply(const Blas &blas, const double *a, Index a_step, Index count, double *out) const {
    if (packed())
      kernels().product(a, a_step, count, inner_, packed_.data(), stride_, panels_, upper_, out, step());
    else
      gemm(blas, {a, a_step, false}, {b_, transposed_ ? inner_ : columns_, transposed_}, count, columns_, inner_, out,
           step());
  }

private:
  const double *b_;
  bool transposed_, upper_;
  Index inner_, columns_, side_, panels_, stride_;
  Buffer packed_;
};

} // namespace tenfold
