#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/csr_select_columns.hpp"
#include "tenfold/matvec.hpp"
#include "tenfold/row_gram.hpp"

namespace tenfold {
namespace {

template <class Rows>
auto bound_matvec(const Rows &x, const In<double, 2> &coef, const In<double, 1> &intercept,
                  const Maybe<double, 1> &shift, int threads) {
  require(coef.shape(0) == intercept.shape(0) && coef.shape(1) == x.columns, "coef must be (targets, columns of X)");
  require(!shift || shift->shape(0) == x.columns, "shift must have one entry a column of X");
  const int workers = checked_threads(threads);
  Out<double, 2> z({x.rows, intercept.shape(0)});
  {
    const nb::gil_scoped_release release;
    matvec(x, coef.span(), intercept.span(), span_or_none(shift), workers, z.span());
  }
  return z.give();
}

template <class Rows>
auto bound_matvec_t(const Rows &x, const In<double, 2> &U, const Maybe<double, 1> &shift, int threads) {
  require(U.shape(0) == x.rows, "U must have as many rows as X");
  require(!shift || shift->shape(0) == x.columns, "shift must have one entry a column of X");
  const int workers = checked_threads(threads);
  const Index t = U.shape(1);
  std::vector<double> g;
  {
    const nb::gil_scoped_release release;
    g = matvec_t(x, U.span(), t, span_or_none(shift), workers);
  }
  return give<double, 2>(std::move(g), {t, x.columns});
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "matvec",
      [](const In<T, 2> &X, const In<double, 2> &coef, const In<double, 1> &intercept, const Maybe<double, 1> &shift,
         int threads) {
        return bound_matvec(Dense<T>{X.data(), X.shape(0), X.shape(1)}, coef, intercept, shift, threads);
      },
      nb::arg("X"), nb::arg("coef"), nb::arg("intercept"), nb::arg("shift").none(), nb::arg("threads"),
      "(X - shift) coef' + intercept, (n, t).");
  m.def(
      "matvec_t",
      [](const In<T, 2> &X, const In<double, 2> &U, const Maybe<double, 1> &shift, int threads) {
        return bound_matvec_t(Dense<T>{X.data(), X.shape(0), X.shape(1)}, U, shift, threads);
      },
      nb::arg("X"), nb::arg("U"), nb::arg("shift").none(), nb::arg("threads"), "U' (X - shift), (t, p).");
  m.def(
      "scatter_products",
      [](const In<T, 2> &X, const In<double, 2> &vectors, const In<double, 1> &shift, const Maybe<double, 1> &weight,
         int threads) {
        require(vectors.shape(1) == X.shape(1), "vectors must be (q, columns of X)");
        require(shift.shape(0) == X.shape(1), "shift must have one entry a column of X");
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row of X");
        const int workers = checked_threads(threads);
        const Index q = vectors.shape(0);
        std::vector<double> result;
        {
          const nb::gil_scoped_release release;
          result = scatter_products(Dense<T>{X.data(), X.shape(0), X.shape(1)}, vectors.span(), q, shift.span(),
                                    span_or_none(weight), workers);
        }
        return give<double, 2>(std::move(result), {q + 1, X.shape(1)});
      },
      nb::arg("X"), nb::arg("vectors"), nb::arg("shift"), nb::arg("weight").none(), nb::arg("threads"),
      "With D = X - shift: vectors D' W D, and weight' D as the last row, (q + 1, p).");
  m.def(
      "column_sums",
      [](const In<T, 2> &X, const In<double, 1> &weight, const In<double, 1> &other, const In<double, 1> &shift,
         int threads) {
        require(weight.shape(0) == X.shape(0), "weight must have one entry a row of X");
        require(other.shape(0) == X.shape(0), "other must have one entry a row of X");
        require(shift.shape(0) == X.shape(1), "shift must have one entry a column of X");
        const int workers = checked_threads(threads);
        std::vector<double> sums;
        {
          const nb::gil_scoped_release release;
          sums = column_sums(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight.span(), other.span(), shift.span(),
                             workers);
        }
        return give<double, 2>(std::move(sums), {3, X.shape(1)});
      },
      nb::arg("X"), nb::arg("weight"), nb::arg("other"), nb::arg("shift"), nb::arg("threads"),
      "With D = X - shift: weight' D, weight' D^2 and other' D, (3, p).");
  m.def(
      "gather_columns",
      [](const In<T, 2> &X, const In<std::int64_t, 1> &index, const In<double, 1> &centre, const In<double, 1> &root,
         int threads) {
        require(centre.shape(0) == index.shape(0), "centre must have one entry a chosen column");
        require(root.shape(0) == X.shape(0), "root must have one entry a row of X");
        for (const std::int64_t j : index.span())
          require(j >= 0 && j < X.shape(1), "index must name columns of X");
        const int workers = checked_threads(threads);
        Out<double, 2> columns({index.shape(0), X.shape(0)});
        {
          const nb::gil_scoped_release release;
          gather_columns(Dense<T>{X.data(), X.shape(0), X.shape(1)}, index.span(), centre.span(), root.span(), workers,
                         columns.span());
        }
        return columns.give();
      },
      nb::arg("X"), nb::arg("index"), nb::arg("centre"), nb::arg("root"), nb::arg("threads"),
      "Selected columns of X as rows, (q, n): root (X[:, index] - centre) transposed.");
  m.def(
      "row_gram",
      [](const In<T, 2> &X, const In<double, 1> &centre, const In<double, 1> &root, int threads) {
        require(centre.shape(0) == X.shape(1), "centre must have one entry a column of X");
        require(root.shape(0) == X.shape(0), "root must have one entry a row of X");
        const int workers = checked_threads(threads);
        Out<double, 2> K({X.shape(0), X.shape(0)});
        {
          const nb::gil_scoped_release release;
          row_gram(Dense<T>{X.data(), X.shape(0), X.shape(1)}, centre.span(), root.span(), workers, K.span());
        }
        return K.give();
      },
      nb::arg("X"), nb::arg("centre"), nb::arg("root"), nb::arg("threads"), "A A' with A = root (X - centre), (n, n).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "matvec_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &coef,
         const In<double, 1> &intercept, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return bound_matvec(rows.view, coef, intercept, std::nullopt, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("coef"), nb::arg("intercept"),
      nb::arg("threads"), "matvec for CSR.");
  m.def(
      "matvec_t_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &U,
         int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return bound_matvec_t(rows.view, U, std::nullopt, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("U"), nb::arg("threads"),
      "matvec_t for CSR.");
  m.def(
      "column_sums_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 1> &weight,
         const Maybe<double, 1> &other, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        require(weight.shape(0) == rows.view.rows, "weight must have one entry a row of X");
        require(!other || other->shape(0) == rows.view.rows, "other must have one entry a row of X");
        const int workers = checked_threads(threads);
        SparseColumnSums result;
        {
          const nb::gil_scoped_release release;
          result = column_sums(rows.view, weight.span(), span_or_none(other), workers);
        }
        return std::make_tuple(give<double, 2>(std::move(result.sums), {3, p}), result.min_abs, result.max_abs);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight"), nb::arg("other").none(),
      nb::arg("threads"),
      "weight' X, weight' X^2 and other' X for CSR, (3, p), and the smallest nonzero and the largest "
      "absolute value.");
  m.def(
      "gather_columns_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p,
         const In<std::int64_t, 1> &selected, const Maybe<double, 1> &root, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        require(!root || root->shape(0) == rows.view.rows, "root must have one entry a row of X");
        for (const std::int64_t j : selected.span())
          require(j >= 0 && j < p, "selected must name columns of X");
        const int workers = checked_threads(threads);
        SelectedColumns<I> result;
        {
          const nb::gil_scoped_release release;
          result = gather_columns(rows.view, selected.span(), span_or_none(root), workers);
        }
        const auto entries = static_cast<Index>(result.data.size());
        return std::make_tuple(give<double, 1>(std::move(result.data), {entries}),
                               give<I, 1>(std::move(result.indices), {entries}),
                               give<std::int64_t, 1>(std::move(result.indptr), {selected.shape(0) + 1}));
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("selected"), nb::arg("root").none(),
      nb::arg("threads"),
      "Selected columns of CSR rows, scaled by root, as CSC: (data, indices, "
      "indptr).");
}

} // namespace

void bind_matvec(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
