#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/sgd.hpp"
#include "tenfold/thread_pool.hpp"

#include <utility>

namespace tenfold {
namespace {

template <class Value, std::size_t N>
Value named(const std::pair<const char *, Value> (&names)[N], const std::string &name, const char *sentence) {
  for (const auto &[known, value] : names)
    if (name == known)
      return value;
  throw nb::value_error(sentence);
}

constexpr std::pair<const char *, SgdLoss> losses[] = {
    {"hinge", SgdLoss::hinge},
    {"perceptron", SgdLoss::perceptron},
    {"squared_hinge", SgdLoss::squared_hinge},
    {"log_loss", SgdLoss::log_loss},
    {"tanh", SgdLoss::tanh},
    {"modified_huber", SgdLoss::modified_huber},
    {"squared_error", SgdLoss::squared_error},
    {"huber", SgdLoss::huber},
    {"epsilon_insensitive", SgdLoss::epsilon_insensitive},
    {"squared_epsilon_insensitive", SgdLoss::squared_epsilon_insensitive},
};

constexpr std::pair<const char *, Schedule> schedules[] = {
    {"constant", Schedule::constant},     {"adaptive", Schedule::adaptive}, {"optimal", Schedule::optimal},
    {"invscaling", Schedule::invscaling}, {"pa1", Schedule::pa1},           {"pa2", Schedule::pa2},
};

auto weights_of(const SgdLearner &l) {
  std::vector<double> w(l.v.begin(), l.v.end());
  for (double &value : w)
    value *= l.scale;
  const auto p = static_cast<Index>(w.size());
  return std::make_tuple(give<double, 1>(std::move(w), {p}), l.b);
}

auto average_of(const SgdLearner &l) {
  const double inverse_count = l.averaged > 0.0 ? 1.0 / l.averaged : 0.0;
  std::vector<double> w(l.total.begin(), l.total.end());
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] = (w[j] + l.lag * l.v[j]) * inverse_count;
  const auto p = static_cast<Index>(w.size());
  return std::make_tuple(give<double, 1>(std::move(w), {p}), l.total_b * inverse_count);
}

using SgdLearners = nb::typed<nb::list, SgdLearner>;

template <class Rows>
void scan_all(const Rows &x, const In<double, 1> &y, const Maybe<double, 1> &weight, const Maybe<std::uint8_t, 1> &skip,
              const SgdLearners &learners, Index begin, Index end, int threads) {
  require(y.shape(0) == x.rows, "y must have one entry a row");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(!skip || skip->shape(0) == x.rows, "skip must have one entry a row");
  const int workers = checked_threads(threads);
  std::vector<SgdLearner *> all;
  for (const nb::handle one : learners) {
    auto &learner = nb::cast<SgdLearner &>(one);
    require(static_cast<Index>(learner.v.size()) == x.columns, "the learner's weights must be one a column");
    const Index last = learner.order.empty() ? x.rows : static_cast<Index>(learner.order.size());
    require(begin >= 0 && end >= begin && end <= last, "positions must be within the learner's order");
    require(learner.max_row < x.rows, "the learner's order must be of rows");
    all.push_back(&learner);
  }
  const nb::gil_scoped_release release;
  const auto weights = span_or_none(weight);
  const auto skipped = span_or_none(skip);
  if constexpr (std::is_same_v<Rows, Dense<typename Rows::Value>>)
    if (all.size() == 1 && all.front()->parameters.batch == 1 && !all.front()->order.empty() &&
        should_prefetch(x, workers)) {
      scan_prefetched(x, y.span(), weights, skipped, *all.front(), begin, end, workers);
      return;
    }
  parallel(static_cast<Index>(all.size()), workers, [&](Index item, int) {
    SgdLearner &learner = *all[static_cast<std::size_t>(item)];
    scan(x, y.span(), weights, skipped, learner.order, learner, begin, end);
  });
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "sgd_scan",
      [](const In<T, 2> &X, const In<double, 1> &y, const Maybe<double, 1> &weight, const Maybe<std::uint8_t, 1> &skip,
         const SgdLearners &learners, Index begin, Index end, int threads) {
        scan_all(Dense<T>{X.data(), X.shape(0), X.shape(1)}, y, weight, skip, learners, begin, end, threads);
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("skip").none(), nb::arg("learners"),
      nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
      "Each learner processes the samples at positions [begin, end) of its order.");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "sgd_scan_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 1> &y,
         const Maybe<double, 1> &weight, const Maybe<std::uint8_t, 1> &skip, const SgdLearners &learners, Index begin,
         Index end, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        scan_all(rows.view, y, weight, skip, learners, begin, end, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("y"), nb::arg("weight").none(),
      nb::arg("skip").none(), nb::arg("learners"), nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
      "sgd_scan for CSR.");
}

void construct(SgdLearner *to, const std::string &loss, double epsilon, bool penalised, double alpha, double l1,
               const std::string &schedule, double eta0, double power, bool intercept, double decay, bool one_class,
               Index average, Index batch, Index positive_class, double positive, double negative,
               const In<double, 1> &coef, double start, double t) {
  require(batch >= 1, "batch must be at least 1");
  require(average >= 0, "average must not be negative");
  require(alpha >= 0.0 && l1 >= 0.0 && l1 <= 1.0, "alpha must be at least 0 and l1 between 0 and 1");
  SgdParameters parameters;
  parameters.loss = named(losses, loss, "loss is not known");
  parameters.epsilon = epsilon;
  parameters.penalised = penalised;
  parameters.alpha = alpha;
  parameters.l1 = l1;
  parameters.schedule = named(schedules, schedule, "schedule is not known");
  require(parameters.schedule != Schedule::optimal || alpha > 0.0, "the schedule 'optimal' needs alpha > 0");
  parameters.eta0 = eta0;
  parameters.power = power;
  parameters.intercept = intercept;
  parameters.decay = decay;
  parameters.one_class = one_class;
  parameters.average = average;
  parameters.batch = batch;
  parameters.positive_class = positive_class;
  parameters.positive = positive;
  parameters.negative = negative;
  new (to) SgdLearner(parameters, coef.span(), start, t);
  if (average > 0)
    to->resume(std::vector<double>(to->v.size(), 0.0), 0.0, 0.0);
}

} // namespace

void bind_sgd(nb::module_ &m) {
  nb::class_<SgdLearner>(m, "SgdLearner", "The weights and the state of stochastic gradient descent.")
      .def("__init__", &construct, nb::arg("loss"), nb::arg("epsilon"), nb::arg("penalised"), nb::arg("alpha"),
           nb::arg("l1"), nb::arg("schedule"), nb::arg("eta0"), nb::arg("power"), nb::arg("intercept"),
           nb::arg("decay"), nb::arg("one_class"), nb::arg("average"), nb::arg("batch"), nb::arg("own"),
           nb::arg("positive"), nb::arg("negative"), nb::arg("coef"), nb::arg("start"), nb::arg("t"))
      .def(
          "resume",
          [](SgdLearner &l, const In<double, 1> &coef, double intercept, double count) {
            require(l.parameters.average > 0, "nothing is averaged");
            require(coef.shape(0) == static_cast<Index>(l.v.size()), "coef must have one entry a weight");
            l.resume(coef.span(), intercept, count);
          },
          nb::arg("coef"), nb::arg("intercept"), nb::arg("count"), "The average so far, of `count` iterates.")
      .def("begin", &SgdLearner::begin, "Begins an epoch.")
      .def(
          "set_order",
          [](SgdLearner &l, const In<std::int32_t, 1> &order) {
            bool good = true;
            l.max_row = -1;
            for (const std::int32_t row : order.span()) {
              good &= row >= 0;
              l.max_row = std::max<Index>(l.max_row, row);
            }
            require(good, "rows must not be negative");
            l.order.assign(order.span().begin(), order.span().end());
          },
          nb::arg("order"), "Sets the processing order of the rows.")
      .def("shuffle", &SgdLearner::shuffle, nb::arg("seed"), "Permutes the order.")
      .def("weights", &weights_of, "Weights (p,) and intercept.")
      .def("average", &average_of, "The averages of weights (p,) and intercept, zero before the first.")
      .def_prop_ro("length", [](const SgdLearner &l) { return l.order.size(); })
      .def_rw("eta", &SgdLearner::eta)
      .def_ro("t", &SgdLearner::t)
      .def_ro("averaged", &SgdLearner::averaged)
      .def_ro("objective", &SgdLearner::objective)
      .def_ro("loss", &SgdLearner::loss)
      .def_ro("seen", &SgdLearner::seen)
      .def("finite", &SgdLearner::all_finite, "Whether everything is finite.");
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
