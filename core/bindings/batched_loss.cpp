#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/batched_cholesky.hpp"
#include "tenfold/batched_loss.hpp"
#include "tenfold/feature_sign.hpp"

namespace tenfold {
namespace {

template <class Rows>
auto evaluate(const Rows &x, const In<double, 1> &y, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
              const In<double, 2> &share, const In<double, 3> &coef, const In<double, 2> &intercept,
              const Maybe<double, 1> &shift, int order, int threads) {
  const Index p = x.columns, M = coef.shape(0), K = coef.shape(1);
  require(y.shape(0) == x.rows, "y must have one entry a row");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(group.shape(0) == x.rows, "group must have one entry a row");
  require(M >= 1 && K >= 1 && coef.shape(2) == p, "coef must be (models, classes, columns of X)");
  require(share.shape(1) == M, "share must be (groups, models)");
  require(intercept.shape(0) == M && intercept.shape(1) == K, "intercept must be (models, classes)");
  require(!shift || shift->shape(0) == p, "shift must have one entry a column of X");
  require(order == 0 || order == 1, "order must be 0 or 1");
  const int workers = checked_threads(threads);
  const BatchedLoss<Rows> in{
      x, y.span(), span_or_none(weight), group.span(), share.span(), coef.span(), intercept.span(), span_or_none(shift),
      M, K};
  const Blas blas = PackedRhs::fits(p, in.targets()) ? Blas{} : scipy_blas();
  ModelSums s;
  {
    const nb::gil_scoped_release release;
    s = batched_loss(in, order, blas, workers);
  }
  std::optional<Given<double>> gradient;
  if (order >= 1)
    gradient = give<double, 3>(std::move(s.gradient), {M, K, p});
  return std::make_tuple(give<double, 1>(std::move(s.value), {M}), give<double, 2>(std::move(s.slope), {M, K}),
                         gradient);
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "batched_loss",
      [](const In<T, 2> &X, const In<double, 1> &y, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group,
         const In<double, 2> &share, const In<double, 3> &coef, const In<double, 2> &intercept,
         const Maybe<double, 1> &shift, int order, int threads) {
        return evaluate(Dense<T>{X.data(), X.shape(0), X.shape(1)}, y, weight, group, share, coef, intercept, shift,
                        order, threads);
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("group"), nb::arg("share"), nb::arg("coef"),
      nb::arg("intercept"), nb::arg("shift").none(), nb::arg("order"), nb::arg("threads"),
      "Sums of the logistic loss or the softmax of many models, each with its weight of the rows of a group: (value, "
      "slope, gradient).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "batched_loss_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 1> &y,
         const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group, const In<double, 2> &share,
         const In<double, 3> &coef, const In<double, 2> &intercept, int order, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return evaluate(rows.view, y, weight, group, share, coef, intercept, std::nullopt, order, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("y"), nb::arg("weight").none(),
      nb::arg("group"), nb::arg("share"), nb::arg("coef"), nb::arg("intercept"), nb::arg("order"), nb::arg("threads"),
      "batched_loss of compressed sparse rows.");
}

// Hessians of many models, side by side.
void bind_quadratic_models(nb::module_ &m) {
  m.def(
      "solve_stack",
      [](const In<double, 3> &lower, const In<std::int64_t, 1> &which, const In<double, 2> &g) {
        const Index q = lower.shape(1), count = g.shape(0);
        require(lower.shape(2) == q && g.shape(1) == q, "factors and right-hand sides must be of one size");
        require(which.shape(0) == count, "which must name a factor for each right-hand side");
        for (const std::int64_t k : which.span())
          require(k >= 0 && k < lower.shape(0), "no such factor");
        std::vector<double> x(g.data(), g.data() + count * q);
        {
          const nb::gil_scoped_release release;
          solve_cholesky_batch(lower.span(), q, which.span(), x);
        }
        return give<double, 2>(std::move(x), {count, q});
      },
      nb::arg("lower"), nb::arg("which"), nb::arg("g"), "Systems solved, each with one of the factors.");
  m.def(
      "feature_sign",
      [](const In<double, 3> &H, const In<double, 2> &g, const In<double, 2> &limit, const In<double, 2> &x,
         int threads) {
        const Index count = H.shape(0), q = H.shape(1);
        require(H.shape(2) == q, "H must be (models, size, size)");
        for (const auto *part : {&g, &limit, &x})
          require(part->shape(0) == count && part->shape(1) == q, "g, limit and x must be (models, size)");
        const int workers = checked_threads(threads);
        std::vector<double> u(x.data(), x.data() + count * q);
        {
          const nb::gil_scoped_release release;
          feature_sign(H.span(), g.span(), limit.span(), q, workers, u);
        }
        return give<double, 2>(std::move(u), {count, q});
      },
      nb::arg("H"), nb::arg("g"), nb::arg("limit"), nb::arg("x"), nb::arg("threads"),
      "The minimum of g.(u - x) + (u - x)'H (u - x) / 2 + limit.|u| of each model.");
}

} // namespace

void bind_batched_loss(nb::module_ &m) {
  bind_quadratic_models(m);
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
