#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/joint_ascent.hpp"

namespace tenfold {
namespace {

JointAscent make(const In<std::int32_t, 1> &label, Index classes, const In<double, 1> &cost, double unit,
                 std::uint64_t seed) {
  require(classes >= 2 && cost.shape(0) == label.shape(0), "two classes or more, and label and cost of every row");
  bool good = true;
  for (const std::int32_t c : label.span())
    good &= c >= 0 && c < classes;
  require(good, "label must hold classes");
  JointAscent state;
  state.classes = classes, state.unit = unit, state.random = Random(seed);
  state.label.assign(label.span().begin(), label.span().end());
  state.cost.assign(cost.span().begin(), cost.span().end());
  state.offset.assign(static_cast<std::size_t>(classes), 0.0);
  return state;
}

template <class Rows> void start(JointAscent &state, const Rows &x) {
  require(x.rows == static_cast<Index>(state.label.size()) && columns_are_inside(x),
          "X must have a row for each label, and indices within its columns");
  const nb::gil_scoped_release release;
  begin(x, state);
}

template <class Rows> double advance(JointAscent &state, const Rows &x) {
  require(x.rows == static_cast<Index>(state.order.size()) &&
              (x.columns + 1) * state.classes == static_cast<Index>(state.w.size()),
          "begin with these rows first");
  const nb::gil_scoped_release release;
  return epoch(x, state);
}

using Class = nb::class_<JointAscent>;

template <class T> void bind_dense(Class &c) {
  const auto view = [](const In<T, 2> &X) { return Dense<T>{X.data(), X.shape(0), X.shape(1)}; };
  c.def(
      "begin", [view](JointAscent &state, const In<T, 2> &X) { start(state, view(X)); }, nb::arg("X"),
      "Begin with these rows.");
  c.def(
      "epoch", [view](JointAscent &state, const In<T, 2> &X) { return advance(state, view(X)); }, nb::arg("X"),
      "Take every row that is not left out once: the largest violation.");
}

template <class T, class I> void bind_sparse(Class &c) {
  c.def(
      "begin_csr",
      [](JointAscent &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        start(state, rows.view);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), "begin with compressed sparse rows.");
  c.def(
      "epoch_csr",
      [](JointAscent &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return advance(state, rows.view);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), "epoch of compressed sparse rows.");
}

} // namespace

void bind_joint_ascent(nb::module_ &m) {
  auto c = Class(m, "JointAscent", "Block coordinate descent on the dual of the joint hinge loss of several classes.");
  c.def(
      "__init__",
      [](JointAscent *self, const In<std::int32_t, 1> &label, Index classes, const In<double, 1> &cost, double unit,
         std::uint64_t seed) { new (self) JointAscent(make(label, classes, cost, unit, seed)); },
      nb::arg("label"), nb::arg("classes"), nb::arg("cost"), nb::arg("unit"), nb::arg("seed"));
  c.def("take_all", &JointAscent::take_all, "Take the rows again that were left out.");
  c.def(
      "shift",
      [](JointAscent &state, const In<double, 1> &offset) {
        require(offset.shape(0) == state.classes, "offset must have one entry a class");
        state.offset.assign(offset.span().begin(), offset.span().end());
        state.take_all();
      },
      nb::arg("offset"), "Go on with these offsets of the classes.");
  c.def_prop_ro("share", [](const JointAscent &s) {
    return give<double, 2>(s.share, {static_cast<Index>(s.label.size()), s.classes});
  });
  c.def_prop_ro("w", [](const JointAscent &s) {
    return give<double, 2>(s.w, {static_cast<Index>(s.w.size()) / s.classes, s.classes});
  });
  c.def_prop_ro("complete", [](const JointAscent &s) { return s.active == static_cast<Index>(s.order.size()); });
  bind_dense<float>(c);
  bind_dense<double>(c);
  bind_sparse<float, std::int32_t>(c);
  bind_sparse<float, std::int64_t>(c);
  bind_sparse<double, std::int32_t>(c);
  bind_sparse<double, std::int64_t>(c);
}

} // namespace tenfold
