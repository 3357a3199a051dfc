// A right-hand side b that many row tiles are multiplied by: out = a b.
//
// Up to 8 MB b is packed once and multiplied by the microkernel of core/src/isa/gemm_panel.hpp, up to twice as fast as
// dgemm on a tile; a larger b goes to the dgemm of BLAS, which blocks it for the caches.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/blas.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>

namespace tenfold {

class PackedRhs {
public:
  // b is inner x columns in C order, or its transpose (columns x inner) is given; it must outlive this. Zero panels
  // below an upper triangle are skipped.
  PackedRhs(const double *b, bool transposed, Index inner, Index columns, bool upper = false)
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

  // Whether b is packed: 1024 * 1024 doubles at most.
  static bool fits(Index inner, Index columns) { return inner <= 1024 && inner * columns <= 1024 * 1024; }
  bool packed() const { return fits(inner_, columns_); }

  // Leading dimension of the product: whole panels.
  Index step() const { return panels_ * side_; }

  void multiply(const Blas &blas, const double *a, Index a_step, Index count, double *out) const {
    if (packed())
      kernels().gemm_panel(a, a_step, count, inner_, packed_.data(), stride_, panels_, upper_, out, step());
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
