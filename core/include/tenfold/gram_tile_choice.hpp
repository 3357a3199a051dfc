// Selects the kind of tile by sparsity.
#pragma once

#include "tenfold/gram_dense_tile.hpp"
#include "tenfold/gram_sparse_tile.hpp"

#include <type_traits>

namespace tenfold {

template <class T, class I> bool is_very_sparse(const Sparse<T, I> &x, const GramShape &shape) {
  const double entries = static_cast<double>(x.data.size()) / static_cast<double>(std::max<Index>(1, x.rows));
  const double list = entries + 1.0 + static_cast<double>(shape.targets);
  return shape.columns() > 32 && list * 6.0 < static_cast<double>(shape.columns());
}

// Calls use(std::type_identity<Tile>{}) with the selected tile type.
template <class T, class F> void with_tile(const Dense<T> &, const GramShape &, F &&use) {
  use(std::type_identity<DenseTile>{});
}
template <class T, class I, class F> void with_tile(const Sparse<T, I> &x, const GramShape &shape, F &&use) {
  if (is_very_sparse(x, shape))
    use(std::type_identity<SparseTile>{});
  else
    use(std::type_identity<DenseTile>{});
}

// Vector operations of a row in the Gram product.
template <class T> double gram_work(const Dense<T> &x, const GramShape &shape) {
  return static_cast<double>(shape.size()) / 8.0 + row_work(x);
}
template <class T, class I> double gram_work(const Sparse<T, I> &x, const GramShape &shape) {
  const double entries = static_cast<double>(x.data.size()) / static_cast<double>(std::max<Index>(1, x.rows)) + 2.0;
  return is_very_sparse(x, shape) ? entries * entries + row_work(x)
                                  : static_cast<double>(shape.size()) / 8.0 + row_work(x);
}

} // namespace tenfold
