#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/kmeans_assign.hpp"
#include "tenfold/kmeans_assign_float64.hpp"
#include "tenfold/kmeans_plusplus.hpp"
#include "tenfold/lloyd_hamerly.hpp"
#include "tenfold/lloyd_steps.hpp"
#include "tenfold/online_kmeans.hpp"

namespace tenfold {
namespace {

template <class Rows> auto nearest_of_rows(const Rows &x, const In<double, 2> &centres, int threads) {
  require(centres.shape(1) == x.columns && centres.shape(0) >= 1,
          "centres must be (k, columns of X), with k above zero");
  const int workers = checked_threads(threads);
  const Out<std::int32_t, 1> number({x.rows});
  const Out<double, 1> square({x.rows});
  {
    const nb::gil_scoped_release release;
    nearest_centres(x, centres_for(x, centres.span(), centres.shape(0)), workers, number.span(), square.span());
  }
  return std::make_tuple(number.give(), square.give());
}

template <class Rows>
auto assign_rows(const Rows &x, const Maybe<double, 1> &weight, const In<double, 2> &centres,
                 const In<double, 1> &place, int threads, bool float64) {
  const Index k = centres.shape(0), p = x.columns;
  require(centres.shape(1) == p && k >= 1, "centres must be (k, columns of X), with k above zero");
  require(place.shape(0) == p, "place must have one entry a column of X");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  const int workers = checked_threads(threads);
  Assignment result;
  {
    const nb::gil_scoped_release release;
    result = float64 ? kmeans_assign_float64(x, span_or_none(weight), centres.span(), k, place.span(), workers)
                     : kmeans_assign(x, span_or_none(weight), centres_for(x, centres.span(), k), place.span(), workers);
  }
  return std::make_tuple(give<double, 1>(std::move(result.weight), {k}),
                         give<double, 2>(std::move(result.sums), {k, p}), result.energy);
}

template <class Rows>
auto seed_rows(const Rows &x, const Maybe<double, 1> &weight, Index first, const In<double, 2> &draws, int threads) {
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(first >= 0 && first < x.rows, "first must be the number of a row");
  require(draws.shape(1) >= 1, "there must be a draw a step");
  require(indices_in_range(x), "an index of the sparse rows is not a column");
  const int workers = checked_threads(threads);
  std::vector<std::int64_t> rows;
  {
    const nb::gil_scoped_release release;
    rows = kmeans_plusplus(x, span_or_none(weight), first, draws.span(), draws.shape(1), workers);
  }
  const auto count = static_cast<Index>(rows.size());
  return give<std::int64_t, 1>(std::move(rows), {count});
}

template <class Rows>
auto online_rows(const Rows &x, const Maybe<double, 1> &weight, const In<double, 2> &centres,
                 const In<double, 1> &counts) {
  const Index k = centres.shape(0), p = x.columns;
  require(centres.shape(1) == p && k >= 1, "centres must be (k, columns of X), with k above zero");
  require(counts.shape(0) == k, "counts must have one entry a centre");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(indices_in_range(x), "an index of the sparse rows is not a column");
  const Out<double, 2> moved({k, p});
  const Out<double, 1> seen({k});
  std::copy(centres.span().begin(), centres.span().end(), moved.span().begin());
  std::copy(counts.span().begin(), counts.span().end(), seen.span().begin());
  {
    const nb::gil_scoped_release release;
    online_kmeans(x, span_or_none(weight), moved.span(), seen.span());
  }
  return std::make_tuple(moved.give(), seen.give());
}

// Steps of Lloyd's algorithm on samples of some storage, which it keeps alive.
struct Steps {
  virtual ~Steps() = default;
  virtual Index columns() const = 0;
  virtual Assignment step(std::span<const double> centres, Index k, std::span<const double> place, int threads) = 0;
  virtual Assignment again(std::span<const double> place, int threads) const = 0;
  virtual Index centres() const = 0;
  virtual double compared() const = 0;
};

template <class Rows> struct StepsOf : Steps {
  StepsOf(const Rows &rows, const Maybe<double, 1> &weights) : weight(weights), lloyd(rows, span_or_none(weights)) {
    require(!weight || weight->shape(0) == rows.rows, "weight must have one entry a row");
  }
  Assignment step(std::span<const double> centres, Index k, std::span<const double> place, int threads) override {
    return lloyd.step(centres, k, place, threads);
  }
  Assignment again(std::span<const double> place, int threads) const override {
    return lloyd.again(lloyd.centres(), place, threads);
  }
  Index centres() const override { return lloyd.centres(); }
  double compared() const override { return lloyd.compared(); }
  Maybe<double, 1> weight;
  LloydHamerly<Rows> lloyd;
};

template <class T> struct DenseSteps final : StepsOf<Dense<T>> {
  DenseSteps(const In<T, 2> &x, const Maybe<double, 1> &weights)
      : StepsOf<Dense<T>>({x.data(), x.shape(0), x.shape(1)}, weights), X(x) {}
  Index columns() const override { return X.shape(1); }
  In<T, 2> X;
};

template <class T, class I> struct Kept {
  Kept(const In<T, 1> &values, const In<I, 1> &columns, const Pointers &starts, Index p)
      : data(values), indices(columns), indptr(starts), rows(values, columns, starts, p) {}
  In<T, 1> data;
  In<I, 1> indices;
  Pointers indptr;
  Compressed<T, I> rows;
};
template <class T, class I> struct SparseSteps final : Kept<T, I>, StepsOf<Sparse<T, I>> {
  SparseSteps(const In<T, 1> &values, const In<I, 1> &indices_of, const Pointers &starts, Index p,
              const Maybe<double, 1> &weights)
      : Kept<T, I>(values, indices_of, starts, p), StepsOf<Sparse<T, I>>(this->rows.view, weights) {}
  Index columns() const override { return this->rows.view.columns; }
};

struct AnySteps {
  std::unique_ptr<Steps> steps;
};
using StepsClass = nb::class_<AnySteps>;

auto take_step(AnySteps &self, const In<double, 2> &centres, const In<double, 1> &place, int threads) {
  const Index k = centres.shape(0), p = self.steps->columns();
  require(centres.shape(1) == p && k >= 1, "centres must be (k, columns of X), with k above zero");
  require(place.shape(0) == p, "place must have one entry a column of X");
  const int workers = checked_threads(threads);
  Assignment result;
  {
    const nb::gil_scoped_release release;
    result = self.steps->step(centres.span(), k, place.span(), workers);
  }
  return std::make_tuple(give<double, 1>(std::move(result.weight), {k}),
                         give<double, 2>(std::move(result.sums), {k, p}));
}

auto take_steps(AnySteps &self, const In<double, 2> &centres, const In<double, 1> &place, double scatter, double shift,
                double decrease, Index limit, int threads) {
  const Index k = centres.shape(0), p = self.steps->columns();
  require(centres.shape(1) == p && k >= 1, "centres must be (k, columns of X), with k above zero");
  require(place.shape(0) == p, "place must have one entry a column of X");
  const int workers = checked_threads(threads);
  LloydPath path;
  {
    const nb::gil_scoped_release release;
    const auto assign = [&](std::span<const double> at) { return self.steps->step(at, k, place.span(), workers); };
    path = lloyd_steps(assign, centres.span(), k, place.span(), {scatter, shift, decrease, limit});
  }
  const auto count = static_cast<Index>(path.energy.size());
  return std::make_tuple(
      give<double, 3>(std::move(path.centres), {count, k, p}), give<double, 2>(std::move(path.weight), {count, k}),
      give<double, 1>(std::move(path.energy), {count}), give<double, 1>(std::move(path.measure), {count}));
}

auto sum_again(AnySteps &self, const In<double, 1> &place, int threads) {
  const Index k = self.steps->centres(), p = self.steps->columns();
  require(k >= 1, "there must have been a step");
  require(place.shape(0) == p, "place must have one entry a column of X");
  const int workers = checked_threads(threads);
  Assignment result;
  {
    const nb::gil_scoped_release release;
    result = self.steps->again(place.span(), workers);
  }
  return std::make_tuple(give<double, 1>(std::move(result.weight), {k}),
                         give<double, 2>(std::move(result.sums), {k, p}));
}

template <class T> void bind_dense_steps(StepsClass &c) {
  c.def(
      "__init__",
      [](AnySteps *to, const In<T, 2> &X, const Maybe<double, 1> &weight) {
        new (to) AnySteps{std::make_unique<DenseSteps<T>>(X, weight)};
      },
      nb::arg("X"), nb::arg("weight").none());
}
template <class T, class I> void bind_sparse_steps(StepsClass &c) {
  c.def(
      "__init__",
      [](AnySteps *to, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p,
         const Maybe<double, 1> &weight) {
        new (to) AnySteps{std::make_unique<SparseSteps<T, I>>(data, indices, indptr, p, weight)};
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight").none());
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "online_kmeans",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 2> &centres, const In<double, 1> &counts) {
        return online_rows(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight, centres, counts);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("centres"), nb::arg("counts"),
      "CentresFloat32 and counts after each row has moved its nearest centre towards itself: (centres, counts).");
  m.def(
      "nearest_centres",
      [](const In<T, 2> &X, const In<double, 2> &centres, int threads) {
        return nearest_of_rows(Dense<T>{X.data(), X.shape(0), X.shape(1)}, centres, threads);
      },
      nb::arg("X"), nb::arg("centres"), nb::arg("threads"),
      "The number of each sample's nearest centre, and its squared distance: (number, square).");
  m.def(
      "kmeans_assign",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 2> &centres, const In<double, 1> &place,
         int threads, bool float64) {
        return assign_rows(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight, centres, place, threads, float64);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("centres"), nb::arg("place"), nb::arg("threads"),
      nb::arg("float64") = false,
      "Weights of the samples nearest to each centre, their sums about place, and the energy: (weight, sums, energy); "
      "float64: by products in float64 alone.");
  m.def(
      "kmeans_plusplus",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, Index first, const In<double, 2> &draws, int threads) {
        return seed_rows(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight, first, draws, threads);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("first"), nb::arg("draws"), nb::arg("threads"),
      "Samples of greedy k-means++ from the first one on: a step takes a row of draws (k - 1, trials), uniform in [0, "
      "1).");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "online_kmeans_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const Maybe<double, 1> &weight,
         const In<double, 2> &centres, const In<double, 1> &counts) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return online_rows(rows.view, weight, centres, counts);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight").none(),
      nb::arg("centres"), nb::arg("counts"), "online_kmeans of compressed sparse rows.");
  m.def(
      "nearest_centres_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 2> &centres,
         int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return nearest_of_rows(rows.view, centres, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("centres"), nb::arg("threads"),
      "nearest of compressed sparse rows.");
  m.def(
      "kmeans_assign_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const Maybe<double, 1> &weight,
         const In<double, 2> &centres, const In<double, 1> &place, int threads, bool float64) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return assign_rows(rows.view, weight, centres, place, threads, float64);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight").none(),
      nb::arg("centres"), nb::arg("place"), nb::arg("threads"), nb::arg("float64") = false,
      "kmeans_assign of compressed sparse rows.");
  m.def(
      "kmeans_plusplus_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const Maybe<double, 1> &weight,
         Index first, const In<double, 2> &draws, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return seed_rows(rows.view, weight, first, draws, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight").none(), nb::arg("first"),
      nb::arg("draws"), nb::arg("threads"), "kmeans_plusplus of compressed sparse rows.");
}

} // namespace

void bind_kmeans(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
  StepsClass c(m, "LloydHamerly", "Steps of Lloyd's algorithm on the same samples, with Hamerly's bounds.");
  bind_dense_steps<float>(c);
  bind_dense_steps<double>(c);
  bind_sparse_steps<float, std::int32_t>(c);
  bind_sparse_steps<float, std::int64_t>(c);
  bind_sparse_steps<double, std::int32_t>(c);
  bind_sparse_steps<double, std::int64_t>(c);
  c.def("step", &take_step, nb::arg("centres"), nb::arg("place"), nb::arg("threads"),
        "Weights of the samples nearest to each centre, and their sums about place: (weight, sums).");
  c.def("steps", &take_steps, nb::arg("centres"), nb::arg("place"), nb::arg("scatter"), nb::arg("shift"),
        nb::arg("decrease"), nb::arg("limit"), nb::arg("threads"),
        "Up to limit steps, until one has converged or leaves a centre without samples: centres, weights, energy and "
        "measure after each, (centres, weight, energy, measure).");
  c.def("sum_again", &sum_again, nb::arg("place"), nb::arg("threads"),
        "The sums of the last step over all samples: the bits of kmeans_assign.");
  c.def_prop_ro(
      "compared", [](const AnySteps &self) { return self.steps->compared(); },
      "Samples that were compared with all centres in the last step; a part of the centres counts as a part of a "
      "sample.");
}

} // namespace tenfold
