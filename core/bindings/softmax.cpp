#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/softmax_at_margins.hpp"
#include "tenfold/softmax_float32.hpp"
#include "tenfold/softmax_hessian.hpp"

namespace tenfold {
namespace {

// Evaluates sums(point, workers) without the GIL.
template <class Rows, class Sums>
auto evaluate(const Rows &x, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
              const In<double, 1> &intercept, const Maybe<double, 1> &shift, int order, int threads, Sums &&sums) {
  const Index p = x.columns, K = intercept.shape(0);
  require(Y.shape(0) == x.rows && Y.shape(1) == 1, "Y must be (rows of X, 1)");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(K >= 1 && coef.shape(0) == K && coef.shape(1) == p, "coef must be (classes, columns of X)");
  require(!shift || shift->shape(0) == p, "shift must have one entry a column of X");
  require(order == 0 || order == 1, "order must be 0 or 1");
  const int workers = checked_threads(threads);
  const SoftmaxPoint<Rows> point{x, Y.span(), span_or_none(weight), coef.span(), intercept.span(), span_or_none(shift)};
  SoftmaxSums s;
  {
    const nb::gil_scoped_release release;
    s = sums(point, workers);
  }
  std::optional<Given<double>> gradient;
  if (order >= 1)
    gradient = give<double, 2>(std::move(s.gradient), {K, p});
  return std::make_tuple(s.weight, give<double, 1>(std::vector<double>{s.value}, {1}),
                         give<double, 1>(std::move(s.slope), {K}), gradient);
}

auto exactly(int order) {
  return [order](const auto &point, int workers) { return softmax(point, order, workers); };
}

template <class T> Dense<T> rows_of(const In<T, 2> &X) { return {X.data(), X.shape(0), X.shape(1)}; }

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "softmax",
      [](const In<T, 2> &X, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
         const In<double, 1> &intercept, const Maybe<double, 1> &shift, int order, int threads) {
        return evaluate(rows_of(X), Y, weight, coef, intercept, shift, order, threads, exactly(order));
      },
      nb::arg("X"), nb::arg("Y"), nb::arg("weight").none(), nb::arg("coef"), nb::arg("intercept"),
      nb::arg("shift").none(), nb::arg("order"), nb::arg("threads"),
      "Sums of the softmax loss of class numbers Y and of its derivatives: (weight, value, slope, gradient).");
  m.def(
      "softmax_float32",
      [](const In<T, 2> &X, const In<double, 2> &Y, const Maybe<double, 1> &weight, const In<double, 2> &coef,
         const In<double, 1> &intercept, const Maybe<double, 1> &shift, int threads) {
        return evaluate(rows_of(X), Y, weight, coef, intercept, shift, 1, threads,
                        [](const auto &point, int workers) { return softmax_float32(point, workers); });
      },
      nb::arg("X"), nb::arg("Y"), nb::arg("weight").none(), nb::arg("coef"), nb::arg("intercept"),
      nb::arg("shift").none(), nb::arg("threads"), "softmax of order 1 with products in single precision.");
  m.def(
      "class_grams",
      [](const In<T, 2> &X, const In<double, 2> &share, const Maybe<double, 1> &shift, int threads) {
        const Dense<T> x = rows_of(X);
        const Index K = share.shape(1), q = x.columns + 1;
        require(share.shape(0) == x.rows, "share must have a row for each of X");
        require(!shift || shift->shape(0) == x.columns, "shift must have one entry a column of X");
        const int workers = checked_threads(threads);
        const Out<double, 3> grams({K, q, q});
        {
          const nb::gil_scoped_release release;
          class_grams(x, share.span(), span_or_none(shift), K, workers, grams.span());
        }
        return grams.give();
      },
      nb::arg("X"), nb::arg("share"), nb::arg("shift").none(), nb::arg("threads"),
      "The Gram matrices of [X - shift, 1] under every column of shares, with products in single precision.");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "softmax_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &Y,
         const Maybe<double, 1> &weight, const In<double, 2> &coef, const In<double, 1> &intercept, int order,
         int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return evaluate(rows.view, Y, weight, coef, intercept, std::nullopt, order, threads, exactly(order));
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("Y"), nb::arg("weight").none(),
      nb::arg("coef"), nb::arg("intercept"), nb::arg("order"), nb::arg("threads"),
      "softmax of compressed sparse rows.");
}

Margins checked_margins(const In<double, 2> &Y, const In<double, 2> &Z, const In<double, 1> &weight) {
  const Margins m{Y.span(), Z.span(), weight.span(), Z.shape(1)};
  require(Y.shape(1) == 1 && Y.shape(0) == Z.shape(0), "Y must be (rows of Z, 1)");
  require(weight.shape(0) == Z.shape(0), "weight must have one entry a row");
  require(m.classes >= 1, "Z must have a column for each class");
  for (const double y : m.y)
    require(y >= 0.0 && y < static_cast<double>(m.classes), "Y must hold numbers of classes");
  return m;
}

void bind_margins(nb::module_ &m) {
  m.def(
      "softmax_at_margins",
      [](const In<double, 2> &Y, const In<double, 2> &Z, const In<double, 1> &weight, int threads) {
        const Margins margins = checked_margins(Y, Z, weight);
        const Index K = margins.classes;
        const int workers = checked_threads(threads);
        const Out<double, 2> u({margins.rows(), K});
        Buffer sums;
        {
          const nb::gil_scoped_release release;
          sums = softmax_at_margins(margins, workers, u.span());
        }
        const double *first = sums.data() + 1;
        return std::make_tuple(sums[0], give<double, 1>(std::vector<double>(first, first + K), {K}),
                               give<double, 1>(std::vector<double>(first + K, first + 2 * K), {K}), u.give());
      },
      nb::arg("Y"), nb::arg("Z"), nb::arg("weight"), nb::arg("threads"),
      "The softmax loss of class numbers Y at margins Z: (value, slope, bend, u).");
  m.def(
      "softmax_along_line",
      [](const In<double, 2> &Y, const In<double, 2> &Z, const In<double, 2> &D, double length,
         const In<double, 1> &weight, int threads) {
        const Margins margins = checked_margins(Y, Z, weight);
        require(D.shape(0) == Z.shape(0) && D.shape(1) == Z.shape(1), "D must have the shape of Z");
        const int workers = checked_threads(threads);
        Buffer sums;
        {
          const nb::gil_scoped_release release;
          sums = softmax_along_line(margins, D.span(), length, workers);
        }
        return std::make_tuple(sums[0], sums[1]);
      },
      nb::arg("Y"), nb::arg("Z"), nb::arg("D"), nb::arg("length"), nb::arg("weight"), nb::arg("threads"),
      "The first two derivatives in t of the softmax loss at Z + t D, at t = length.");
  m.def(
      "softmax_hessian",
      [](const In<double, 2> &X, const In<double, 2> &q, const In<double, 1> &weight, int threads) {
        const Index n = X.shape(0), p = X.shape(1), K = q.shape(0), size = K * (p + 1);
        require(q.shape(1) == n, "q must have a column for each row of X");
        require(weight.shape(0) == n, "weight must have one entry a row");
        const int workers = checked_threads(threads);
        std::vector<double> total;
        {
          const nb::gil_scoped_release release;
          total = softmax_hessian({X.data(), n, p}, q.span(), K, weight.span(), workers);
        }
        return give<double, 2>(std::move(total), {size, size});
      },
      nb::arg("X"), nb::arg("q"), nb::arg("weight"), nb::arg("threads"),
      "The Hessian of the softmax in weights and intercepts, class by class, at probabilities q (K, n).");
}

} // namespace

void bind_softmax(nb::module_ &m) {
  bind_margins(m);
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
