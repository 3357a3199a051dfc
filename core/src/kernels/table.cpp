// Compiled once for every instruction set, with TENFOLD_ISA as the namespace and the matching -march.
#include "elementwise.hpp"
#include "gradient.hpp"
#include "gram.hpp"
#include "loo.hpp"
#include "loss.hpp"
#include "margins.hpp"
#include "pack.hpp"
#include "product.hpp"
#include "sparse.hpp"

namespace tenfold::TENFOLD_ISA {

const Kernels &table();

const Kernels &table() {
#define DENSE(T)                                                                                                       \
  {pack<T>, margins<T>, gradient<T>, centred_row<T>, elementwise<exponential, T>,                                      \
   elementwise<log_one_plus, T>, elementwise<logistic, T>, elementwise<softplus, T>}
#define SPARSE(T, I) {sparse_margins<T, I>, sparse_gradient<T, I>}
  static constexpr Kernels kernels = {
      TENFOLD_ISA_NAME,
      panel,
      gram,
      loss<Square>,
      loss<Logistic>,
      product,
      squares,
      leverage,
      loo,
      DENSE(float),
      DENSE(double),
      SPARSE(float, std::int32_t),
      SPARSE(float, std::int64_t),
      SPARSE(double, std::int32_t),
      SPARSE(double, std::int64_t),
  };
#undef DENSE
#undef SPARSE
  return kernels;
}

} // namespace tenfold::TENFOLD_ISA
