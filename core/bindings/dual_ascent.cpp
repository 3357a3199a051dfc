#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/dual_ascent.hpp"

namespace tenfold {
namespace {

std::vector<double> copied(const In<double, 1> &array) {
  return std::vector<double>(array.span().begin(), array.span().end());
}

DualAscent make(const In<double, 1> &target, const In<double, 1> &low, const In<double, 1> &high,
                const In<double, 1> &curvature, double epsilon, double unit, std::uint64_t seed) {
  for (const In<double, 1> *part : {&low, &high, &curvature})
    require(part->shape(0) == target.shape(0), "target, low, high and curvature must have one entry a row");
  DualAscent state;
  state.target = copied(target), state.low = copied(low), state.high = copied(high);
  state.curvature = copied(curvature), state.epsilon = epsilon, state.unit = unit, state.random = Random(seed);
  return state;
}

template <class Rows> void start(DualAscent &state, const Rows &x) {
  require(x.rows == static_cast<Index>(state.target.size()) && columns_are_inside(x),
          "X must have a row for each target, and indices within its columns");
  const nb::gil_scoped_release release;
  begin(x, state);
}

template <class Rows> double advance(DualAscent &state, const Rows &x) {
  require(x.rows == static_cast<Index>(state.order.size()) && x.columns + 1 == static_cast<Index>(state.w.size()),
          "begin with these rows first");
  const nb::gil_scoped_release release;
  return epoch(x, state);
}

using Class = nb::class_<DualAscent>;

template <class T> void bind_dense(Class &c) {
  const auto view = [](const In<T, 2> &X) { return Dense<T>{X.data(), X.shape(0), X.shape(1)}; };
  c.def(
      "begin", [view](DualAscent &state, const In<T, 2> &X) { start(state, view(X)); }, nb::arg("X"),
      "Begin with these rows.");
  c.def(
      "epoch", [view](DualAscent &state, const In<T, 2> &X) { return advance(state, view(X)); }, nb::arg("X"),
      "Take every row that is not left out once: the largest violation.");
}

template <class T, class I> void bind_sparse(Class &c) {
  c.def(
      "begin_csr",
      [](DualAscent &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        start(state, rows.view);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), "begin with compressed sparse rows.");
  c.def(
      "epoch_csr",
      [](DualAscent &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return advance(state, rows.view);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), "epoch of compressed sparse rows.");
}

nb::object vector(const std::vector<double> &values) {
  return give<double, 1>(values, {static_cast<Index>(values.size())});
}

} // namespace

void bind_dual_ascent(nb::module_ &m) {
  auto c = Class(m, "DualAscent", "Coordinate descent on the dual of a linear support vector machine.");
  c.def(
      "__init__",
      [](DualAscent *self, const In<double, 1> &target, const In<double, 1> &low, const In<double, 1> &high,
         const In<double, 1> &curvature, double epsilon, double unit,
         std::uint64_t seed) { new (self) DualAscent(make(target, low, high, curvature, epsilon, unit, seed)); },
      nb::arg("target"), nb::arg("low"), nb::arg("high"), nb::arg("curvature"), nb::arg("epsilon"), nb::arg("unit"),
      nb::arg("seed"));
  c.def("take_all", &DualAscent::take_all, "Take the rows again that were left out.");
  c.def(
      "retarget",
      [](DualAscent &state, const In<double, 1> &target) {
        require(target.span().size() == state.target.size(), "target must have one entry a row");
        state.target = copied(target);
        state.take_all();
      },
      nb::arg("target"), "Go on with other targets.");
  c.def_prop_ro("b", [](const DualAscent &s) { return vector(s.b); });
  c.def_prop_ro("w", [](const DualAscent &s) { return vector({s.w.begin(), s.w.end()}); });
  c.def_prop_ro("complete", [](const DualAscent &s) { return s.active == static_cast<Index>(s.order.size()); });
  bind_dense<float>(c);
  bind_dense<double>(c);
  bind_sparse<float, std::int32_t>(c);
  bind_sparse<float, std::int64_t>(c);
  bind_sparse<double, std::int32_t>(c);
  bind_sparse<double, std::int64_t>(c);
}

} // namespace tenfold
