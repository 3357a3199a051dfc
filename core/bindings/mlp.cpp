#include "tenfold/mlp.hpp"

#include "bindings.hpp"
#include "sparse.hpp"

#include <utility>

namespace tenfold {
namespace {

constexpr std::pair<const char *, UnitFunction> functions[] = {{"identity", UnitFunction::identity},
                                                               {"logistic", UnitFunction::logistic},
                                                               {"tanh", UnitFunction::tanh},
                                                               {"relu", UnitFunction::relu}};

constexpr std::pair<const char *, MlpOutput> outputs[] = {{"identity", MlpOutput::identity},
                                                          {"exp", MlpOutput::exp},
                                                          {"logistic", MlpOutput::logistic},
                                                          {"softmax", MlpOutput::softmax}};

template <class Value, std::size_t N>
Value named(const std::pair<const char *, Value> (&names)[N], const std::string &name) {
  for (const auto &[known, value] : names)
    if (name == known)
      return value;
  throw nb::value_error("the function is not known");
}

// One step of stochastic gradient descent, as in mlp_kernels.hpp.
using Rule = std::tuple<bool, bool, double, double, double, double>;

template <class T> using Changed = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T> Mlp<T> make(const In<std::int64_t, 1> &units, const std::string &hidden, const std::string &output) {
  constexpr std::int64_t limit = 1 << 30;
  require(units.shape(0) >= 2, "there must be at least one layer");
  for (const std::int64_t count : units.span())
    require(count >= 1 && count < limit, "every layer must have from 1 to 2^30 units");
  return Mlp<T>(MlpShape(units.span(), named(functions, hidden), named(outputs, output)), scipy_blas());
}

template <class Rows>
MlpData<Rows> checked(const MlpShape &shape, const Rows &x, const In<typename Rows::Value, 2> &y,
                      const Maybe<double, 1> &weight, const Maybe<std::int64_t, 1> &order) {
  require(x.columns == shape.inputs(), "X must have one column an input");
  require(y.shape(0) == x.rows && y.shape(1) == shape.outputs(), "y must be (rows, outputs)");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  if (order)
    for (const std::int64_t row : order->span())
      require(row >= 0 && row < x.rows, "the order must be of rows");
  require(indices_in_range(x), "an index of the sparse rows is not a column");
  return {x, y.data(), span_or_none(weight), span_or_none(order)};
}

template <class T, class Rows>
double gradient(Mlp<T> &mlp, const Rows &x, const Changed<T> &params, const Changed<T> &result, const In<T, 2> &y,
                const Maybe<double, 1> &weight, int threads) {
  const auto size = static_cast<std::size_t>(mlp.shape().size);
  require(params.size() == size && result.size() == size, "params and gradient must have one entry a weight");
  const MlpData<Rows> data = checked(mlp.shape(), x, y, weight, {});
  const int workers = checked_threads(threads);
  const nb::gil_scoped_release release;
  std::fill_n(result.data(), size, T{});
  return mlp.gradient(data, params.data(), result.data(), workers);
}

template <class T, class Rows>
auto epoch(Mlp<T> &mlp, const Rows &x, const Changed<T> &state, const In<T, 2> &y, const Maybe<double, 1> &weight,
           const Maybe<std::int64_t, 1> &order, Index batch, double alpha, const Rule &rule, double steps,
           int threads) {
  const auto [adam, nesterov, rate, first, second, epsilon] = rule;
  const WeightStep step{adam, nesterov, rate, first, second, epsilon, 1.0};
  const auto size = static_cast<std::size_t>(mlp.shape().size);
  require(state.size() == (adam ? 4 : 3) * size, "the state must be weights, gradient and moments");
  require(batch >= 1, "batch must be at least 1");
  const MlpData<Rows> data = checked(mlp.shape(), x, y, weight, order);
  const int workers = checked_threads(threads);
  T *params = state.data();
  double loss = 0.0;
  {
    const nb::gil_scoped_release release;
    loss = mlp.epoch(data, batch, alpha, step, steps, params, params + size, params + 2 * size, workers);
  }
  return std::make_tuple(loss, steps);
}

template <class T, class Rows>
Given<T> predict(const Mlp<T> &mlp, const Rows &x, const In<T, 1> &params, bool raw, int threads) {
  require(x.columns == mlp.shape().inputs(), "X must have one column an input");
  require(params.shape(0) == mlp.shape().size, "params must have one entry a weight");
  require(indices_in_range(x), "an index of the sparse rows is not a column");
  const int workers = checked_threads(threads);
  Out<T, 2> out({x.rows, mlp.shape().outputs()});
  {
    const nb::gil_scoped_release release;
    mlp.predict(x, params.data(), raw, out.span().data(), workers);
  }
  return out.give();
}

template <class T, class I, class Class> void bind_sparse(Class &c) {
  c.def(
      "gradient_csr",
      [](Mlp<T> &mlp, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, Changed<T> params,
         Changed<T> result, const In<T, 2> &y, const Maybe<double, 1> &weight, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return gradient(mlp, rows.view, params, result, y, weight, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("params").noconvert(),
      nb::arg("gradient").noconvert(), nb::arg("y"), nb::arg("weight").none(), nb::arg("threads"), "gradient for CSR.");
  c.def(
      "epoch_csr",
      [](Mlp<T> &mlp, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, Changed<T> state,
         const In<T, 2> &y, const Maybe<double, 1> &weight, const Maybe<std::int64_t, 1> &order, Index batch,
         double alpha, const Rule &rule, double steps, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return epoch(mlp, rows.view, state, y, weight, order, batch, alpha, rule, steps, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("state").noconvert(), nb::arg("y"),
      nb::arg("weight").none(), nb::arg("order").none(), nb::arg("batch"), nb::arg("alpha"), nb::arg("rule"),
      nb::arg("steps"), nb::arg("threads"), "epoch for CSR.");
  c.def(
      "predict_csr",
      [](const Mlp<T> &mlp, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p,
         const In<T, 1> &params, bool raw, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return predict(mlp, rows.view, params, raw, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("params"), nb::arg("raw"),
      nb::arg("threads"), "predict for CSR.");
}

template <class T> void bind(nb::module_ &m, const char *name) {
  auto c = nb::class_<Mlp<T>>(m, name, "A multi-layer perceptron with its work space; its weights are arguments.");
  c.def(
       "__init__",
       [](Mlp<T> *to, const In<std::int64_t, 1> &units, const std::string &hidden, const std::string &output) {
         new (to) Mlp<T>(make<T>(units, hidden, output));
       },
       nb::arg("units"), nb::arg("hidden"), nb::arg("output"))
      .def_prop_ro("size", [](const Mlp<T> &mlp) { return mlp.shape().size; })
      .def(
          "gradient",
          [](Mlp<T> &mlp, const In<T, 2> &X, Changed<T> params, Changed<T> result, const In<T, 2> &y,
             const Maybe<double, 1> &weight, int threads) {
            return gradient(mlp, Dense<T>{X.data(), X.shape(0), X.shape(1)}, params, result, y, weight, threads);
          },
          nb::arg("X"), nb::arg("params").noconvert(), nb::arg("gradient").noconvert(), nb::arg("y"),
          nb::arg("weight").none(), nb::arg("threads"),
          "The sum of the losses of all rows; writes its derivatives by the weights (q,).")
      .def(
          "epoch",
          [](Mlp<T> &mlp, const In<T, 2> &X, Changed<T> state, const In<T, 2> &y, const Maybe<double, 1> &weight,
             const Maybe<std::int64_t, 1> &order, Index batch, double alpha, const Rule &rule, double steps,
             int threads) {
            return epoch(mlp, Dense<T>{X.data(), X.shape(0), X.shape(1)}, state, y, weight, order, batch, alpha, rule,
                         steps, threads);
          },
          nb::arg("X"), nb::arg("state").noconvert(), nb::arg("y"), nb::arg("weight").none(), nb::arg("order").none(),
          nb::arg("batch"), nb::arg("alpha"), nb::arg("rule"), nb::arg("steps"), nb::arg("threads"),
          "One step a batch, of the rows in an order. The state is weights, gradient and moments, one after the other; "
          "the rule (adam, nesterov, rate, first, second, epsilon). The mean loss and the number of steps.")
      .def(
          "predict",
          [](const Mlp<T> &mlp, const In<T, 2> &X, const In<T, 1> &params, bool raw, int threads) {
            return predict(mlp, Dense<T>{X.data(), X.shape(0), X.shape(1)}, params, raw, threads);
          },
          nb::arg("X"), nb::arg("params"), nb::arg("raw"), nb::arg("threads"),
          "The outputs (n, k), or with `raw` before their function.");
  bind_sparse<T, std::int32_t>(c);
  bind_sparse<T, std::int64_t>(c);
}

} // namespace

void bind_mlp(nb::module_ &m) {
  bind<float>(m, "MlpFloat32");
  bind<double>(m, "MlpFloat64");
}

} // namespace tenfold
