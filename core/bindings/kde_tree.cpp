#include "bindings.hpp"

#include "tenfold/distances.hpp"
#include "tenfold/kde_tree.hpp"
#include "tenfold/poll.hpp"

namespace tenfold {
namespace {

constexpr Index queries_between_signals = 1 << 14;

template <class Term, Index fixed>
void sum_pieces(const KdTreeView &tree, Dense<double> q, Term term, const KdeTreeProblem &in, int threads,
                double *logs) {
  const KdeTree<Term, fixed> loop(tree, q, term, in);
  for (Index begin = 0; begin < q.rows; begin += queries_between_signals) {
    {
      const nb::gil_scoped_release release;
      loop.sum(Queries{begin, std::min(q.rows, begin + queries_between_signals), {}}, threads, logs);
    }
    poll();
  }
}

template <class Term>
void by_columns(const KdTreeView &tree, Dense<double> q, Term term, const KdeTreeProblem &in, int threads,
                double *logs) {
  switch (q.columns) {
  case 1:
    return sum_pieces<Term, 1>(tree, q, term, in, threads, logs);
  case 2:
    return sum_pieces<Term, 2>(tree, q, term, in, threads, logs);
  case 3:
    return sum_pieces<Term, 3>(tree, q, term, in, threads, logs);
  default:
    return sum_pieces<Term, 0>(tree, q, term, in, threads, logs);
  }
}

} // namespace

void bind_kde_tree(nb::module_ &m) {
  m.def(
      "kde_tree",
      [](const In<double, 2> &points, const In<double, 3> &boxes, Index leaf, const In<double, 2> &Q, int metric,
         double p, int finish, double exponent, int window, double bandwidth, double log_absolute, double relative,
         const Maybe<double, 1> &weight, const Maybe<double, 1> &below, int threads) {
        const KdTreeShape shape(points.shape(0), points.shape(1), leaf);
        require(boxes.shape(0) == shape.nodes() && boxes.shape(1) == 2 && boxes.shape(2) == shape.columns,
                "points and boxes must be those of one tree");
        require(Q.shape(1) == shape.columns, "rows and queries must have the same columns");
        require(weight.has_value() == below.has_value(), "give weight and the sums of it below each row, or neither");
        require(!weight || (weight->shape(0) == shape.rows && below->shape(0) == shape.rows + 1),
                "weight must have one entry a row, and below one more");
        require(finish >= Finish::identity && finish <= Finish::power, "finish must be 0, 1, 2 or 3");
        require(window >= 0 && window < static_cast<int>(KdeKernel::cut) && window != static_cast<int>(KdeKernel::box),
                "no such window of a density");
        require(bandwidth > 0.0 && relative >= 0.0, "the bandwidth must be positive, and no tolerance below zero");
        const KdTreeView tree{shape, {}, points.span(), boxes.span()};
        const KdeTreeProblem in{static_cast<KdeKernel>(window),
                                bandwidth,
                                log_absolute,
                                relative,
                                span_or_none(weight),
                                span_or_none(below),
                                {static_cast<Finish::Kind>(finish), exponent}};
        const Dense<double> q{Q.data(), Q.shape(0), Q.shape(1)};
        const int workers = checked_threads(threads);
        const Out<double, 1> logs({q.rows});
        double *out = logs.span().data();
        switch (static_cast<Metric>(metric)) {
        case Metric::squares:
          by_columns(tree, q, SquareTerm{}, in, workers, out);
          break;
        case Metric::city_block:
          by_columns(tree, q, SizeTerm{}, in, workers, out);
          break;
        case Metric::chessboard:
          by_columns(tree, q, LargestTerm{}, in, workers, out);
          break;
        case Metric::powers:
          by_columns(tree, q, PowerTerm{p}, in, workers, out);
          break;
        default:
          throw nb::value_error("no such metric");
        }
        return logs.give();
      },
      nb::arg("points"), nb::arg("boxes"), nb::arg("leaf"), nb::arg("Q"), nb::arg("metric"), nb::arg("p"),
      nb::arg("finish"), nb::arg("exponent"), nb::arg("window"), nb::arg("bandwidth"), nb::arg("log_absolute"),
      nb::arg("relative"), nb::arg("weight").none(), nb::arg("below").none(), nb::arg("threads"),
      "Logarithms of sums of windows about queries, off by at most exp(log_absolute) + relative times the sum.");
}

} // namespace tenfold
