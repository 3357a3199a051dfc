#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/argmax.hpp"
#include "tenfold/class_scatter_products.hpp"
#include "tenfold/class_sums.hpp"
#include "tenfold/mahalanobis.hpp"

namespace tenfold {
namespace {

using Classes = In<std::int32_t, 1>;

template <class Rows> void check(const Rows &x, const Maybe<double, 1> &weight, const Classes &group, Index classes) {
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(group.shape(0) == x.rows, "group must have one entry a row");
  require(classes >= 1, "there must be a class");
}

template <class Rows, class What>
auto sums(const Rows &x, const Maybe<double, 1> &weight, const Classes &group, Index classes, What what, int threads) {
  check(x, weight, group, classes);
  const int workers = checked_threads(threads);
  ClassSums result;
  {
    const nb::gil_scoped_release release;
    result = class_sums(x, span_or_none(weight), group.span(), classes, what, workers);
  }
  if constexpr (std::is_same_v<What, CentredMoments>)
    return std::make_tuple(give<double, 1>(std::move(result.weight), {classes}),
                           give<double, 2>(std::move(result.sums), {classes, x.columns}),
                           give<double, 2>(std::move(result.squares), {classes, x.columns}));
  else
    return std::make_tuple(give<double, 1>(std::move(result.weight), {classes}),
                           give<double, 2>(std::move(result.sums), {classes, x.columns}), result.low);
}

template <class Rows>
auto sums_or_counts(const Rows &x, const Maybe<double, 1> &weight, const Classes &group, Index classes,
                    std::optional<double> threshold, int threads) {
  return threshold ? sums(x, weight, group, classes, CountAbove{*threshold}, threads)
                   : sums(x, weight, group, classes, SumOfValues{}, threads);
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "class_sums",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const Classes &group, Index classes,
         std::optional<double> threshold, int threads) {
        return sums_or_counts(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight, group, classes, threshold, threads);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("classes"), nb::arg("threshold").none(),
      nb::arg("threads"),
      "Weights and weighted sums of the columns of each class, and the smallest value: (weight, sums, low); with a "
      "threshold the values above it are counted, and low is infinite, or NaN where a value is not finite.");
  m.def(
      "class_moments",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const Classes &group, const In<double, 2> &shift,
         int threads) {
        require(shift.shape(1) == X.shape(1), "shift must have one entry a column of X");
        return sums(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight, group, shift.shape(0),
                    CentredMoments{shift.data()}, threads);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("shift"), nb::arg("threads"),
      "Weights of the classes, and sums and sums of squares of the columns about shift (classes, p).");
  m.def(
      "estimate_class_means",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const Classes &group, Index classes) {
        const Dense<T> x{X.data(), X.shape(0), X.shape(1)};
        check(x, weight, group, classes);
        return give<double, 2>(estimate_class_means(x, span_or_none(weight), group.span(), classes),
                               {classes, x.columns});
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("classes"),
      "Means of the columns over the first rows of each class, (classes, p).");
  m.def(
      "scaled_distances",
      [](const In<T, 2> &X, const In<double, 2> &centre, const In<double, 2> &scale, int threads) {
        require(centre.shape(1) == X.shape(1) && scale.shape(1) == X.shape(1), "centre and scale must be (classes, p)");
        require(centre.shape(0) == scale.shape(0), "centre and scale must have one row a class");
        const int workers = checked_threads(threads);
        const Out<double, 2> z({X.shape(0), centre.shape(0)});
        {
          const nb::gil_scoped_release release;
          scaled_distances(Dense<T>{X.data(), X.shape(0), X.shape(1)}, centre.span(), scale.span(), centre.shape(0),
                           workers, z.span());
        }
        return z.give();
      },
      nb::arg("X"), nb::arg("centre"), nb::arg("scale"), nb::arg("threads"),
      "sum_j (scale_kj (x_ij - centre_kj))^2, (n, classes).");
}

template <class T> void bind_products(nb::module_ &m) {
  m.def(
      "class_scatter_products",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const Classes &group, const In<double, 2> &centres,
         const In<double, 3> &vectors, int threads) {
        const Dense<T> x{X.data(), X.shape(0), X.shape(1)};
        const Index k = centres.shape(0), count = vectors.shape(1);
        check(x, weight, group, k);
        require(centres.shape(1) == x.columns, "centres must be (classes, p)");
        require(vectors.shape(2) == x.columns && (vectors.shape(0) == k || vectors.shape(0) == 1),
                "vectors must be (classes, q, p), or (1, q, p) for all classes");
        const int workers = checked_threads(threads);
        ClassScatterProducts result;
        {
          const nb::gil_scoped_release release;
          result = class_scatter_products(x, span_or_none(weight), group.span(), k, centres.span(), vectors.span(),
                                          count, vectors.shape(0) == 1, workers);
        }
        return std::make_tuple(give<double, 1>(std::move(result.weight), {k}),
                               give<double, 2>(std::move(result.sums), {k, x.columns}),
                               give<double, 2>(std::move(result.squares), {k, x.columns}),
                               give<double, 3>(std::move(result.products), {k, count, x.columns}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("centres"), nb::arg("vectors"),
      nb::arg("threads"),
      "With d = x - centre: weights of the classes, sums of d, of d^2, and of (d'v) d for vectors v: (weight, sums, "
      "squares, products).");
}

template <class T> void bind_mahalanobis(nb::module_ &m) {
  m.def(
      "mahalanobis_distances",
      [](const In<T, 2> &X, const In<double, 2> &centres, const In<double, 3> &factors, int threads) {
        const Index p = X.shape(1), k = centres.shape(0);
        require(centres.shape(1) == p, "centres must be (classes, p)");
        require(factors.shape(0) == k && factors.shape(1) == p && factors.shape(2) == p,
                "factors must be (classes, p, p)");
        const int workers = checked_threads(threads);
        const Blas blas = PackedRhs::fits(p, p) ? Blas{} : scipy_blas();
        const Out<double, 2> z({X.shape(0), k});
        {
          const nb::gil_scoped_release release;
          mahalanobis_distances(Dense<T>{X.data(), X.shape(0), p}, centres.span(), factors.span(), k, blas, workers,
                                z.span());
        }
        return z.give();
      },
      nb::arg("X"), nb::arg("centres"), nb::arg("factors"), nb::arg("threads"),
      "||(x_i - c_k) B_k||^2 with upper triangles B_k, (n, classes).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "class_sums_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const Maybe<double, 1> &weight,
         const Classes &group, Index classes, std::optional<double> threshold, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return sums_or_counts(rows.view, weight, group, classes, threshold, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight").none(), nb::arg("group"),
      nb::arg("classes"), nb::arg("threshold").none(), nb::arg("threads"),
      "class_sums for CSR; implicit zeros do not enter the minimum.");
}

} // namespace

void bind_class_sums(nb::module_ &m) {
  m.def(
      "argmax",
      [](const In<double, 2> &scores, int threads) {
        require(scores.shape(1) >= 1, "there must be a score");
        const int workers = checked_threads(threads);
        const Out<std::int64_t, 1> number({scores.shape(0)});
        {
          const nb::gil_scoped_release release;
          argmax(scores.span(), scores.shape(1), workers, number.span());
        }
        return number.give();
      },
      nb::arg("scores"), nb::arg("threads"), "argmax of the scores of each sample, (n,).");
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_products<float>(m);
  bind_products<double>(m);
  bind_mahalanobis<float>(m);
  bind_mahalanobis<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
