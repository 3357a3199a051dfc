// The BLAS that SciPy carries, by the function pointers that it publishes. core/bindings/blas.cpp fills this in.
#pragma once

#include "tenfold/types.hpp"

namespace tenfold {

using Dgemm = void (*)(char *transa, char *transb, int *m, int *n, int *k, double *alpha, double *a, int *lda,
                       double *b, int *ldb, double *beta, double *c, int *ldc);

struct Blas {
  Dgemm dgemm = nullptr;
};

// c = a b for C-ordered a (m x k), b (k x n), c (m x n), or with b given as its transpose (n x k). Sizes are those of
// tiles: below 2^31 each.
inline void multiply(const Blas &blas, const double *a, const double *b, bool b_transposed, Index m, Index n, Index k,
                     double *c) {
  // Seen column by column the C-ordered matrices are their transposes: c' = b' a'.
  char plain = 'N', turned = 'T';
  int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
  const auto step = [](Index length) { return static_cast<int>(length < 1 ? 1 : length); };
  int ldb = step(b_transposed ? k : n), lda = step(k), ldc = step(n);
  double one = 1.0, zero = 0.0;
  if (m > 0 && n > 0)
    blas.dgemm(b_transposed ? &turned : &plain, &plain, &rows, &columns, &inner, &one, const_cast<double *>(b), &ldb,
               const_cast<double *>(a), &lda, &zero, c, &ldc);
}

} // namespace tenfold
