#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/distances.hpp"
#include "tenfold/kd_tree.hpp"
#include "tenfold/kde.hpp"
#include "tenfold/knn_brute.hpp"
#include "tenfold/knn_csr.hpp"
#include "tenfold/knn_gemm.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/row_access.hpp"

namespace tenfold {
namespace {

constexpr double steps_between_signals = 1e10;

// Options of every search: the k nearest samples of each query or, with k = 0, all within limits (reduced); own is the
// sample that a query is itself, or -1; finish is how a reduced distance becomes a distance.
struct SearchOptions {
  Index k;
  Maybe<double, 1> limits;
  bool by_distance;
  int finish;
  double exponent;
  Maybe<std::int64_t, 1> own;
  int threads;

  void check(Index rows, Index queries) const {
    require(k >= 0 && k <= rows, "k must be at least 0 and at most the number of rows");
    require((k == 0) == limits.has_value(), "give k or limits");
    require(!limits || limits->shape(0) == queries, "limits must have one entry a query");
    require(!own || own->shape(0) == queries, "own must have one entry a query");
    require(finish >= Finish::identity && finish <= Finish::power, "finish must be 0, 1, 2 or 3");
    checked_threads(threads);
    if (own && k > 0) {
      Index others = rows;
      for (const std::int64_t self : own->span())
        others = std::min(others, rows - (self >= 0 ? 1 : 0));
      require(k <= others, "k must be at most the number of other rows");
    }
  }
  Finish distance() const { return {static_cast<Finish::Kind>(finish), exponent}; }
};

// Calls search(queries, results) for pieces of the queries; after each Python may look for signals.
template <class Search, class Results>
void in_pieces(Index count, double steps_a_query, const SearchOptions &options, const Search &search,
               Results &results) {
  const Index piece = static_cast<Index>(std::clamp(steps_between_signals / steps_a_query, 64.0, 1e9));
  for (Index begin = 0; begin < count; begin += piece) {
    {
      const nb::gil_scoped_release release;
      search(Queries{begin, std::min(count, begin + piece), span_or_none(options.own)}, results);
    }
    poll();
  }
}

// (distances, rows) of the k nearest, or (offsets, distances, rows) of those within limits.
using Answer = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

template <class Search>
Answer answer(Index count, double steps_a_query, const SearchOptions &options, const Search &search) {
  if (options.k > 0) {
    const Out<double, 2> distances({count, options.k});
    const Out<std::int64_t, 2> rows({count, options.k});
    TopKResults results{options.k, options.distance(), distances.span().data(), rows.span().data()};
    in_pieces(count, steps_a_query, options, search, results);
    return nb::make_tuple(distances.give(), rows.give());
  }
  RadiusResults results{options.limits->span(), options.by_distance,
                        std::vector<std::vector<Neighbour>>(std::size_t(count))};
  in_pieces(count, steps_a_query, options, search, results);
  const Out<std::int64_t, 1> offsets({count + 1});
  offsets.span()[0] = 0;
  for (std::size_t q = 0; q < results.lists.size(); ++q)
    offsets.span()[q + 1] = offsets.span()[q] + static_cast<std::int64_t>(results.lists[q].size());
  const Out<double, 1> distances({offsets.span().back()});
  const Out<std::int64_t, 1> rows({offsets.span().back()});
  const Finish distance = options.distance();
  std::size_t at = 0;
  for (const auto &list : results.lists)
    for (const Neighbour &one : list) {
      distances.span()[at] = distance(one.distance);
      rows.span()[at++] = one.row;
    }
  return nb::make_tuple(offsets.give(), distances.give(), rows.give());
}

template <class T> Dense<T> dense(const In<T, 2> &x) { return {x.data(), x.shape(0), x.shape(1)}; }

template <class Distance>
Answer directly(const Distance &distance, Index rows, Index queries, Index width, SearchOptions &options) {
  options.check(rows, queries);
  return answer(queries, static_cast<double>(rows * (width + 1)), options,
                [&](const Queries &some, auto &results) { knn_brute(distance, rows, some, results, options.threads); });
}

template <class T> Answer by_products(const In<T, 2> &X, const In<double, 2> &Q, SearchOptions &options) {
  const Dense<T> x = dense(X);
  const Dense<double> q = dense(Q);
  require(x.columns == q.columns && x.columns >= 1, "rows and queries must have the same columns");
  options.check(x.rows, q.rows);
  std::optional<GemmSearch<T>> search;
  if (GemmSearch<T>::fits(x.columns)) {
    const nb::gil_scoped_release release;
    search.emplace(x, q, options.threads);
  }
  if (!search || !search->possible()) {
    const Compiled<T> loop{kernels().dense<T>().square_distance};
    return directly(Entries<T, Compiled<T>>{x, q, loop}, x.rows, q.rows, x.columns, options);
  }
  return answer(q.rows, static_cast<double>(x.rows * x.columns), options,
                [&](const Queries &some, auto &results) { search->search(some, results, options.threads); });
}

// Calls run(term) with the loop of a metric.
template <class T, class Run> auto with_term(int metric, double p, Index columns, const Run &run) {
  const auto &on = kernels().dense<T>();
  switch (static_cast<Metric>(metric)) {
  case Metric::squares:
    return run(Compiled<T>{on.square_distance});
  case Metric::city_block:
    return run(Compiled<T>{on.city_block});
  case Metric::chessboard:
    return run(Compiled<T>{on.chessboard});
  case Metric::powers:
    return run(Powers{p});
  default:
    break;
  }
  if constexpr (std::is_same_v<T, double>) {
    switch (static_cast<Metric>(metric)) {
    case Metric::hamming:
      return run(Hamming{});
    case Metric::canberra:
      return run(Canberra{});
    case Metric::bray_curtis:
      return run(BrayCurtis{});
    case Metric::haversine:
      require(columns == 2, "the haversine distance is for two columns");
      return run(Haversine{});
    case Metric::known:
      return run(Known{});
    default:
      break;
    }
  }
  throw nb::value_error("no such metric");
}

template <class T>
Answer by_entries(const In<T, 2> &X, const In<double, 2> &Q, int metric, double p, SearchOptions &options) {
  const Dense<T> x = dense(X);
  const Dense<double> q = dense(Q);
  require(x.columns == q.columns && x.columns >= 1, "rows and queries must have the same columns");
  return with_term<T>(metric, p, x.columns, [&](auto term) {
    return directly(Entries<T, decltype(term)>{x, q, term}, x.rows, q.rows, x.columns, options);
  });
}

// Squared Euclidean distances of a density are products: kernel sums of 10k samples about 2k queries take 0.75 times as
// long as with direct distances at one feature, 0.6 times at 2 to 16, 0.4 times at 64.
auto sum_kernels(const In<double, 2> &X, const In<double, 2> &Q, int metric, double p, const SearchOptions &options,
                 const KdeProblem &in) {
  const Dense<double> x = dense(X), q = dense(Q);
  const Index wide = static_cast<Index>(in.bandwidth.size());
  const Out<double, 2> logs({q.rows, wide});
  const Out<double, 3> means({q.rows, wide, in.count});
  KdeReduction reduction(in, logs.span().data(), means.span().data());
  const auto run = [&](const auto &pairs) {
    const auto search = [&](const Queries &some, KdeReduction &sums) {
      pairwise(pairs, IdentityFunction{}, some, sums, options.threads);
    };
    in_pieces(q.rows, static_cast<double>(x.rows * (x.columns + 8 * wide)), options, search, reduction);
  };
  if (static_cast<Metric>(metric) == Metric::squares) {
    std::optional<ProductPairs<double, double>> pairs;
    {
      const nb::gil_scoped_release release;
      pairs.emplace(x, q, ProductBase::squares, mean_of(x), options.threads);
    }
    run(*pairs);
  } else {
    with_term<double>(metric, p, x.columns, [&](auto term) {
      const Entries<double, decltype(term)> distance{x, q, term};
      run(DirectPairs<decltype(distance)>(distance, x.rows));
    });
  }
  return std::make_tuple(logs.give(), means.give());
}

void bind_kde(nb::module_ &m) {
  m.def(
      "kde_sums",
      [](const In<double, 2> &X, const In<double, 2> &Q, int metric, double p, int finish, double exponent, int window,
         const In<double, 1> &bandwidth, const Maybe<double, 1> &weight, const In<double, 2> &targets,
         const Maybe<std::int64_t, 1> &own, int threads) {
        require(X.shape(1) == Q.shape(1) && X.shape(1) >= 1, "rows and queries must have the same columns");
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        require(targets.shape(0) == X.shape(0), "targets must have as many rows as X");
        require(!own || own->shape(0) == Q.shape(0), "own must have one entry a query");
        require(window >= 0 && window <= static_cast<int>(KdeKernel::cut), "no such window");
        require(finish >= Finish::identity && finish <= Finish::power, "finish must be 0, 1, 2 or 3");
        const SearchOptions options{0, std::nullopt, false, finish, exponent, own, checked_threads(threads)};
        const KdeProblem in{static_cast<KdeKernel>(window),
                            bandwidth.span(),
                            span_or_none(weight),
                            targets.span(),
                            targets.shape(1),
                            options.distance()};
        return sum_kernels(X, Q, metric, p, options, in);
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("metric"), nb::arg("p"), nb::arg("finish"), nb::arg("exponent"),
      nb::arg("window"), nb::arg("bandwidth"), nb::arg("weight").none(), nb::arg("targets"), nb::arg("own").none(),
      nb::arg("threads"), "Logarithms of sums of density kernels about queries, and means of targets: (logs, means).");
}

template <class Term> Answer by_tree(const KdTreeView &tree, Dense<double> q, Term term, SearchOptions &options) {
  const auto run = [&]<Index fixed>(const Queries &some, auto &results) {
    using Results = std::remove_reference_t<decltype(results)>;
    KdTreeSearch<Term, fixed, Results>(tree, q, term).search(some, results, options.threads);
  };
  return answer(q.rows, 1e4 * static_cast<double>(q.columns), options, [&](const Queries &some, auto &results) {
    switch (q.columns) {
    case 1:
      return run.template operator()<1>(some, results);
    case 2:
      return run.template operator()<2>(some, results);
    case 3:
      return run.template operator()<3>(some, results);
    default:
      return run.template operator()<0>(some, results);
    }
  });
}

template <class T> void bind_rows(nb::module_ &m) {
  m.def(
      "knn_gemm",
      [](const In<T, 2> &X, const In<double, 2> &Q, Index k, const Maybe<double, 1> &limits, bool by_distance,
         int finish, double exponent, const Maybe<std::int64_t, 1> &own, int threads) {
        SearchOptions options{k, limits, by_distance, finish, exponent, own, threads};
        return by_products(X, Q, options);
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("k"), nb::arg("limits").none(), nb::arg("by_distance"), nb::arg("finish"),
      nb::arg("exponent"), nb::arg("own").none(), nb::arg("threads"),
      "Euclidean neighbours by products in float32, and float64 distances of the candidates.");
  m.def(
      "knn_brute",
      [](const In<T, 2> &X, const In<double, 2> &Q, int metric, double p, Index k, const Maybe<double, 1> &limits,
         bool by_distance, int finish, double exponent, const Maybe<std::int64_t, 1> &own, int threads) {
        SearchOptions options{k, limits, by_distance, finish, exponent, own, threads};
        return by_entries(X, Q, metric, p, options);
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("metric"), nb::arg("p"), nb::arg("k"), nb::arg("limits").none(),
      nb::arg("by_distance"), nb::arg("finish"), nb::arg("exponent"), nb::arg("own").none(), nb::arg("threads"),
      "Neighbours by the distances of all pairs.");
  m.def(
      "kd_tree",
      [](const In<T, 2> &X, Index leaf, int threads) {
        require(leaf >= 1 && X.shape(0) >= 1 && X.shape(1) >= 1, "a tree needs rows, columns and leaves");
        KdTree tree;
        {
          const nb::gil_scoped_release release;
          tree = KdTreeBuilder<T>(dense(X), leaf).build(checked_threads(threads));
        }
        const Index n = X.shape(0), d = X.shape(1), nodes = KdTreeShape(n, d, leaf).nodes();
        return std::make_tuple(give<std::int64_t, 1>(std::move(tree.order), {n}),
                               give<double, 2>(std::move(tree.points), {n, d}),
                               give<double, 3>(std::move(tree.boxes), {nodes, 2, d}));
      },
      nb::arg("X"), nb::arg("leaf"), nb::arg("threads"), "A k-d tree of the rows: (order, points, boxes).");
}

void bind_tree(nb::module_ &m) {
  m.def(
      "knn_kd_tree",
      [](const In<std::int64_t, 1> &order, const In<double, 2> &points, const In<double, 3> &boxes, Index leaf,
         const In<double, 2> &Q, int metric, double p, Index k, const Maybe<double, 1> &limits, bool by_distance,
         int finish, double exponent, const Maybe<std::int64_t, 1> &own, int threads) {
        const KdTreeShape shape(points.shape(0), points.shape(1), leaf);
        require(order.shape(0) == shape.rows && boxes.shape(0) == shape.nodes() && boxes.shape(1) == 2 &&
                    boxes.shape(2) == shape.columns,
                "order, points and boxes must be those of one tree");
        require(Q.shape(1) == shape.columns, "rows and queries must have the same columns");
        const KdTreeView tree{shape, order.span(), points.span(), boxes.span()};
        SearchOptions options{k, limits, by_distance, finish, exponent, own, threads};
        options.check(shape.rows, Q.shape(0));
        switch (static_cast<Metric>(metric)) {
        case Metric::squares:
          return by_tree(tree, dense(Q), SquareTerm{}, options);
        case Metric::city_block:
          return by_tree(tree, dense(Q), SizeTerm{}, options);
        case Metric::chessboard:
          return by_tree(tree, dense(Q), LargestTerm{}, options);
        case Metric::powers:
          return by_tree(tree, dense(Q), PowerTerm{p}, options);
        default:
          throw nb::value_error("no such metric");
        }
      },
      nb::arg("order"), nb::arg("points"), nb::arg("boxes"), nb::arg("leaf"), nb::arg("Q"), nb::arg("metric"),
      nb::arg("p"), nb::arg("k"), nb::arg("limits").none(), nb::arg("by_distance"), nb::arg("finish"),
      nb::arg("exponent"), nb::arg("own").none(), nb::arg("threads"), "Neighbours by a k-d tree.");
}

void bind_sets(nb::module_ &m) {
  m.def(
      "knn_sets",
      [](const In<std::uint64_t, 2> &X, const In<std::uint64_t, 2> &Q, Index columns, int metric, Index k,
         const Maybe<double, 1> &limits, bool by_distance, const Maybe<std::int64_t, 1> &own, int threads) {
        require(X.shape(1) == Q.shape(1) && columns >= 1 && columns <= 64 * X.shape(1),
                "rows and queries must have the same words, and columns must fit in them");
        require(metric >= 0 && metric <= static_cast<int>(SetMetric::yule), "no such metric");
        SearchOptions options{k, limits, by_distance, Finish::identity, 1.0, own, threads};
        const Sets sets{dense(X), dense(Q), columns, static_cast<SetMetric>(metric)};
        return directly(sets, X.shape(0), Q.shape(0), X.shape(1), options);
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("columns"), nb::arg("metric"), nb::arg("k"), nb::arg("limits").none(),
      nb::arg("by_distance"), nb::arg("own").none(), nb::arg("threads"), "Neighbours of sets, given as bits.");
  m.def(
      "knn_table",
      [](const In<double, 2> &D, Index k, const Maybe<double, 1> &limits, bool by_distance,
         const Maybe<std::int64_t, 1> &own, int threads) {
        SearchOptions options{k, limits, by_distance, Finish::identity, 1.0, own, threads};
        return directly(Table{dense(D)}, D.shape(1), D.shape(0), 1, options);
      },
      nb::arg("D"), nb::arg("k"), nb::arg("limits").none(), nb::arg("by_distance"), nb::arg("own").none(),
      nb::arg("threads"), "Neighbours from distances (queries x rows).");
}

template <class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "knn_csr",
      [](const In<double, 1> &data, const In<I, 1> &indices, const Pointers &indptr, const In<double, 1> &c_data,
         const In<I, 1> &c_indices, const Pointers &c_indptr, const In<double, 1> &q_data, const In<I, 1> &q_indices,
         const Pointers &q_indptr, Index columns, int metric, Index k, const Maybe<double, 1> &limits, bool by_distance,
         int finish, const Maybe<std::int64_t, 1> &own, int threads) {
        const Compressed<double, I> x(data, indices, indptr, columns), q(q_data, q_indices, q_indptr, columns);
        const Compressed<double, I> by_column(c_data, c_indices, c_indptr, x.view.rows);
        require(by_column.view.rows == columns, "the columns must be those of the rows");
        require(indices_in_range(x.view) && indices_in_range(q.view) && indices_in_range(by_column.view),
                "an index of the sparse rows is not a column");
        SearchOptions options{k, limits, by_distance, finish, 1.0, own, threads};
        options.check(x.view.rows, q.view.rows);
        const auto run = [&]<class Term>() {
          const CsrSearch<Term, I> search(x.view, by_column.view, q.view);
          return answer(q.view.rows, static_cast<double>(8 * x.view.rows), options,
                        [&](const Queries &some, auto &results) { search.search(some, results, options.threads); });
        };
        return static_cast<Metric>(metric) == Metric::city_block ? run.template operator()<SparseSizes>()
                                                                 : run.template operator()<SparseSquares>();
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("c_data"), nb::arg("c_indices"),
      nb::arg("c_indptr"), nb::arg("q_data"), nb::arg("q_indices"), nb::arg("q_indptr"), nb::arg("columns"),
      nb::arg("metric"), nb::arg("k"), nb::arg("limits").none(), nb::arg("by_distance"), nb::arg("finish"),
      nb::arg("own").none(), nb::arg("threads"),
      "Neighbours among sparse rows, which are given by rows and by columns.");
}

} // namespace

void bind_knn(nb::module_ &m) {
  bind_rows<float>(m);
  bind_rows<double>(m);
  bind_tree(m);
  bind_kde(m);
  bind_sets(m);
  bind_sparse<std::int32_t>(m);
  bind_sparse<std::int64_t>(m);
}

} // namespace tenfold
