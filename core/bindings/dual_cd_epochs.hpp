// Bindings that the dual coordinate descent solvers share: `begin` initialises, every `epoch` visits the active
// samples.
#pragma once

#include "bindings.hpp"
#include "sparse.hpp"

namespace tenfold {

template <class State, class Rows> void start(State &state, const Rows &x) {
  require(x.rows == state.rows() && indices_in_range(x),
          "X must have a row for each target, and indices within its columns");
  const nb::gil_scoped_release release;
  begin(x, state);
}

template <class State, class Rows> double advance(State &state, const Rows &x) {
  require(x.rows == static_cast<Index>(state.order.size()) &&
              (x.columns + 1) * state.vectors() == static_cast<Index>(state.w.size()),
          "begin with these rows first");
  const nb::gil_scoped_release release;
  return epoch(x, state);
}

template <class T, class State> void bind_dense(nb::class_<State> &c) {
  const auto view = [](const In<T, 2> &X) { return Dense<T>{X.data(), X.shape(0), X.shape(1)}; };
  c.def(
      "begin", [view](State &state, const In<T, 2> &X) { start(state, view(X)); }, nb::arg("X"),
      "Initialises with these samples.");
  c.def(
      "epoch", [view](State &state, const In<T, 2> &X) { return advance(state, view(X)); }, nb::arg("X"),
      "Visits every active sample once; returns the largest violation.");
}

template <class T, class I, class State> void bind_sparse(nb::class_<State> &c) {
  c.def(
      "begin_csr",
      [](State &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        start(state, rows.view);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), "begin for CSR.");
  c.def(
      "epoch_csr",
      [](State &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return advance(state, rows.view);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), "epoch for CSR.");
}

template <class State> void bind_common(nb::class_<State> &c) {
  c.def("unshrink", &State::unshrink, "Makes all samples active again.");
  c.def_prop_ro("complete", [](const State &s) { return s.active == static_cast<Index>(s.order.size()); });
  c.def_prop_ro("gap", [](const State &s) { return s.gap; }, "Sum of the gap terms seen by the last epoch.");
  bind_dense<float>(c);
  bind_dense<double>(c);
  bind_sparse<float, std::int32_t>(c);
  bind_sparse<float, std::int64_t>(c);
  bind_sparse<double, std::int32_t>(c);
  bind_sparse<double, std::int64_t>(c);
}

} // namespace tenfold
