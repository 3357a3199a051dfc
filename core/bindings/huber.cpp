#include "bindings.hpp"

#include "tenfold/huber_sums.hpp"

namespace tenfold {
namespace {

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "huber_sums",
      [](const In<T, 2> &X, const In<double, 1> &y, const Maybe<double, 1> &weight, const In<double, 1> &coef,
         const In<double, 1> &intercept, const In<double, 1> &shift, double sigma, double epsilon, double beyond,
         int order, int threads) {
        const Index n = X.shape(0), p = X.shape(1);
        require(y.shape(0) == n, "y must have one entry a row of X");
        require(!weight || weight->shape(0) == n, "weight must have one entry a row of X");
        require(coef.shape(0) == p && shift.shape(0) == p, "coef and shift must have one entry a column of X");
        require(intercept.shape(0) == 1, "there must be one intercept");
        require(order == 1 || order == 2, "order must be 1 or 2");
        const int workers = checked_threads(threads);
        HuberSums out;
        {
          const nb::gil_scoped_release release;
          const HuberPoint at{coef.span(), intercept.span(), shift.span(), sigma, epsilon, beyond};
          out = huber_sums(Dense<T>{X.data(), n, p}, y.span(), span_or_none(weight), at, order, workers);
        }
        const Index width = out.outer.empty() ? 0 : p + 1;
        return std::make_tuple(give<double, 1>(std::vector<double>(out.sums.begin(), out.sums.end()), {7}),
                               give<double, 2>(std::move(out.gradients), {3, p}),
                               give<double, 2>(std::move(out.outer), {width, width}));
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("coef"), nb::arg("intercept"), nb::arg("shift"),
      nb::arg("sigma"), nb::arg("epsilon"), nb::arg("beyond"), nb::arg("order"), nb::arg("threads"),
      "The sums of Huber's loss with its scale: numbers (7,), with the samples (3, p), and of their products "
      "(p + 1, p + 1), empty at order 1 and where a sum is not finite: (sums, gradients, outer).");
}

} // namespace

void bind_huber(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
}

} // namespace tenfold
