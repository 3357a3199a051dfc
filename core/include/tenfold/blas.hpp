// BLAS and LAPACK routines through the function pointers that SciPy publishes; core/bindings/blas.cpp fills them in.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>

namespace tenfold {

using Dgemm = void (*)(char *transa, char *transb, int *m, int *n, int *k, double *alpha, double *a, int *lda,
                       double *b, int *ldb, double *beta, double *c, int *ldc);

using Sgemm = void (*)(char *transa, char *transb, int *m, int *n, int *k, float *alpha, float *a, int *lda, float *b,
                       int *ldb, float *beta, float *c, int *ldc);

using Dpotrf = void (*)(char *uplo, int *n, double *a, int *lda, int *info);
using Dpotrs = void (*)(char *uplo, int *n, int *sides, double *a, int *lda, double *b, int *ldb, int *info);

using Dtrsm = void (*)(char *side, char *uplo, char *transa, char *diag, int *m, int *n, double *alpha, double *a,
                       int *lda, double *b, int *ldb);
using Dtrsv = void (*)(char *uplo, char *trans, char *diag, int *n, double *a, int *lda, double *x, int *incx);

struct Blas {
  Dgemm dgemm = nullptr;
  Sgemm sgemm = nullptr;
  Dtrsm dtrsm = nullptr;
  Dtrsv dtrsv = nullptr;
  Dpotrf dpotrf = nullptr;
  Dpotrs dpotrs = nullptr;
};

// A C-ordered matrix with leading dimension `step`; transposed: it stands for its transpose.
struct Operand {
  const double *data;
  Index step;
  bool transposed;
};

// c = a b, with a (m x k), b (k x n), c (m x n) in C order, rows of c `c_step` apart. BLAS has 32-bit integers: rows
// are split so that no array passed to it reaches 2^31 elements; n, k and the leading dimensions must be below 2^31.
inline void gemm(const Blas &blas, Operand a, Operand b, Index m, Index n, Index k, double *c, Index c_step) {
  constexpr Index limit = 2147483647;
  const auto length = [](Index value) { return static_cast<int>(std::max<Index>(1, value)); };
  const Index piece = std::max<Index>(1, limit / std::max<Index>(1, std::max(a.step, c_step)));
  for (Index begin = 0; begin < m && n > 0; begin += piece) {
    // In Fortran order the C-ordered matrices are their transposes: c' = b' a'.
    char left = b.transposed ? 'T' : 'N', right = a.transposed ? 'T' : 'N';
    int rows = static_cast<int>(n), columns = static_cast<int>(std::min(piece, m - begin)), inner = static_cast<int>(k);
    int left_step = length(b.step), right_step = length(a.step), out_step = length(c_step);
    double one = 1.0, zero = 0.0;
    const double *rows_of_a = a.data + (a.transposed ? begin : begin * a.step);
    blas.dgemm(&left, &right, &rows, &columns, &inner, &one, const_cast<double *>(b.data), &left_step,
               const_cast<double *>(rows_of_a), &right_step, &zero, c + begin * c_step, &out_step);
  }
}

} // namespace tenfold
