#include "bindings.hpp"

#include "tenfold/contingency.hpp"

namespace tenfold {
namespace {

template <class T> Dense<T> rows_of(const In<T, 2> &X) { return {X.data(), X.shape(0), X.shape(1)}; }

// The categories of column j are rows starts_j ... starts_j+1 of a table.
template <class T> Index checked_starts(const In<T, 2> &X, const In<std::int64_t, 1> &starts) {
  require(starts.shape(0) == X.shape(1) + 1, "starts must have one entry more than X has columns");
  const auto values = starts.span();
  require(values.front() == 0 && std::is_sorted(values.begin(), values.end()), "starts must begin at 0 and not fall");
  return static_cast<Index>(values.back());
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "category_ranges",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, int threads) {
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        const int workers = checked_threads(threads);
        CategoryRanges result;
        {
          const nb::gil_scoped_release release;
          result = category_ranges(rows_of(X), span_or_none(weight), workers);
        }
        return std::make_tuple(give<double, 1>(std::move(result.low), {X.shape(1)}),
                               give<double, 1>(std::move(result.high), {X.shape(1)}), result.finite);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("threads"),
      "The least and the largest value of each column, NaN left out, and whether none is infinite below: (low, high, "
      "finite).");
  m.def(
      "category_counts",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<std::int32_t, 1> &group, Index classes,
         const In<std::int64_t, 1> &starts, int threads) {
        const Index total = checked_starts(X, starts);
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        require(group.shape(0) == X.shape(0), "group must have one entry a row");
        require(classes >= 1, "there must be a class");
        const int workers = checked_threads(threads);
        ClassSums result;
        {
          const nb::gil_scoped_release release;
          result = category_counts(rows_of(X), span_or_none(weight), group.span(), classes, starts.span(), workers);
        }
        return std::make_tuple(give<double, 1>(std::move(result.weight), {classes}),
                               give<double, 2>(std::move(result.sums), {total, classes}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("group"), nb::arg("classes"), nb::arg("starts"),
      nb::arg("threads"),
      "Weights of the classes, and of each category of each column in them, (weight, (categories, classes)).");
  m.def(
      "category_scores",
      [](const In<T, 2> &X, const In<double, 2> &table, const In<double, 1> &intercept,
         const In<std::int64_t, 1> &starts, int threads) {
        require(checked_starts(X, starts) == table.shape(0), "starts must end with the number of categories");
        require(table.shape(1) == intercept.shape(0), "table must have one column a class");
        const int workers = checked_threads(threads);
        const Out<double, 2> z({X.shape(0), intercept.shape(0)});
        Index unknown = -1;
        {
          const nb::gil_scoped_release release;
          unknown = category_scores(rows_of(X), table.span(), intercept.span(), starts.span(), workers, z.span());
        }
        return std::make_tuple(z.give(), unknown);
      },
      nb::arg("X"), nb::arg("table"), nb::arg("intercept"), nb::arg("starts"), nb::arg("threads"),
      "intercept + the sums of the table rows of each sample's categories, (n, classes); and the flat index in X of an "
      "unknown category, or -1.");
}

} // namespace

void bind_contingency(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
}

} // namespace tenfold
