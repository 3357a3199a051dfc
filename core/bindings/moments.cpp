#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/moments.hpp"

namespace tenfold {
namespace {

using Groups = Maybe<std::int32_t, 1>;

template <class Rows>
auto fold(const Rows &x, const In<double, 2> &Y, const Maybe<double, 1> &weight, const Groups &group, Index groups,
          int threads) {
  require(Y.shape(0) == x.rows, "Y must have as many rows as X");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(!group || group->shape(0) == x.rows, "group must have one entry a row");
  require(groups >= 1 && (group || groups == 1), "groups must be at least 1, and 1 where no group is given");
  const int workers = checked_threads(threads);
  const Index p = x.columns, t = Y.shape(1), c = p + t;
  // An empty weight array means no weights, which is the same for no rows.
  Moments m;
  {
    const nb::gil_scoped_release release;
    m = moments(x, Y.span(), t, span_or_none(weight), span_or_none(group), groups, workers);
  }
  return std::make_tuple(
      give<std::int64_t, 1>(std::move(m.count), {groups}), give<double, 1>(std::move(m.weight), {groups}),
      give<double, 1>(std::move(m.shift), {c}), give<double, 2>(std::move(m.offset), {groups, c}),
      give<std::int32_t, 1>(std::move(m.exponent), {c}), give<double, 3>(std::move(m.XX), {groups, p, p}),
      give<double, 3>(std::move(m.XY), {groups, p, t}), give<double, 2>(std::move(m.yy), {groups, t}));
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "moments",
      [](const In<T, 2> &X, const In<double, 2> &Y, const Maybe<double, 1> &weight, const Groups &group, Index groups,
         int threads) { return fold(Dense<T>{X.data(), X.shape(0), X.shape(1)}, Y, weight, group, groups, threads); },
      nb::arg("X"), nb::arg("Y"), nb::arg("weight").none(), nb::arg("group").none(), nb::arg("groups"),
      nb::arg("threads"),
      "Centred second moments of the columns of X and Y by groups: (count, weight, shift, offset, exponent, XX, XY, "
      "yy).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "moments_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &Y,
         const Maybe<double, 1> &weight, const Groups &group, Index groups, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return fold(rows.view, Y, weight, group, groups, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("Y"), nb::arg("weight").none(),
      nb::arg("group").none(), nb::arg("groups"), nb::arg("threads"),
      "moments of compressed sparse rows; the shift of the columns of X is zero.");
}

} // namespace

void bind_moments(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
