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

constexpr std::pair<const char *, DeltaLoss> losses[] = {
    {"hinge", DeltaLoss::hinge},
    {"perceptron", DeltaLoss::perceptron},
    {"squared_hinge", DeltaLoss::squared_hinge},
    {"log_loss", DeltaLoss::log_loss},
    {"tanh", DeltaLoss::tanh},
    {"modified_huber", DeltaLoss::modified_huber},
    {"squared_error", DeltaLoss::squared_error},
    {"huber", DeltaLoss::huber},
    {"epsilon_insensitive", DeltaLoss::epsilon_insensitive},
    {"squared_epsilon_insensitive", DeltaLoss::squared_epsilon_insensitive},
};

constexpr std::pair<const char *, Schedule> schedules[] = {
    {"constant", Schedule::constant},     {"adaptive", Schedule::adaptive}, {"optimal", Schedule::optimal},
    {"invscaling", Schedule::invscaling}, {"pa1", Schedule::pa1},           {"pa2", Schedule::pa2},
};

auto weights_of(const Learner &l) {
  std::vector<double> w(l.v.begin(), l.v.end());
  for (double &value : w)
    value *= l.scale;
  const auto p = static_cast<Index>(w.size());
  return std::make_tuple(give<double, 1>(std::move(w), {p}), l.b);
}

auto average_of(const Learner &l) {
  const double share = l.averaged > 0.0 ? 1.0 / l.averaged : 0.0;
  std::vector<double> w(l.total.begin(), l.total.end());
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] = (w[j] + l.lag * l.v[j]) * share;
  const auto p = static_cast<Index>(w.size());
  return std::make_tuple(give<double, 1>(std::move(w), {p}), l.total_b * share);
}

using Learners = nb::typed<nb::list, Learner>;

template <class Rows>
void learn(const Rows &x, const In<double, 1> &y, const Maybe<double, 1> &weight, const Maybe<std::uint8_t, 1> &skip,
           const Learners &learners, Index begin, Index end, int threads) {
  require(y.shape(0) == x.rows, "y must have one entry a row");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(!skip || skip->shape(0) == x.rows, "skip must have one entry a row");
  const int workers = checked_threads(threads);
  std::vector<Learner *> all;
  for (const nb::handle one : learners) {
    auto &learner = nb::cast<Learner &>(one);
    require(static_cast<Index>(learner.v.size()) == x.columns, "the learner's weights must be one a column");
    const Index last = learner.order.empty() ? x.rows : static_cast<Index>(learner.order.size());
    require(begin >= 0 && end >= begin && end <= last, "positions must be within the learner's order");
    require(learner.top < x.rows, "the learner's order must be of rows");
    all.push_back(&learner);
  }
  const nb::gil_scoped_release release;
  const auto weights = span_or_none(weight);
  const auto skipped = span_or_none(skip);
  if constexpr (std::is_same_v<Rows, Dense<typename Rows::Value>>)
    if (all.size() == 1 && all.front()->rule.batch == 1 && !all.front()->order.empty() && turns_pay(x, workers)) {
      scan_in_turns(x, y.span(), weights, skipped, *all.front(), begin, end, workers);
      return;
    }
  parallel(static_cast<Index>(all.size()), workers, [&](Index item, int) {
    Learner &learner = *all[static_cast<std::size_t>(item)];
    scan(x, y.span(), weights, skipped, learner.order, learner, begin, end);
  });
}

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "learn",
      [](const In<T, 2> &X, const In<double, 1> &y, const Maybe<double, 1> &weight, const Maybe<std::uint8_t, 1> &skip,
         const Learners &learners, Index begin, Index end, int threads) {
        learn(Dense<T>{X.data(), X.shape(0), X.shape(1)}, y, weight, skip, learners, begin, end, threads);
      },
      nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("skip").none(), nb::arg("learners"),
      nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
      "Each learner takes the rows at positions [begin, end) of its order.");
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "learn_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const In<double, 1> &y,
         const Maybe<double, 1> &weight, const Maybe<std::uint8_t, 1> &skip, const Learners &learners, Index begin,
         Index end, int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        learn(rows.view, y, weight, skip, learners, begin, end, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("y"), nb::arg("weight").none(),
      nb::arg("skip").none(), nb::arg("learners"), nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
      "learn of compressed sparse rows.");
}

void construct(Learner *to, const std::string &loss, double epsilon, bool penalised, double alpha, double l1,
               const std::string &schedule, double eta0, double power, bool intercept, double decay, bool one_class,
               Index average, Index batch, Index own, double positive, double negative, const In<double, 1> &coef,
               double start, double t) {
  require(batch >= 1, "batch must be at least 1");
  require(average >= 0, "average must not be negative");
  require(alpha >= 0.0 && l1 >= 0.0 && l1 <= 1.0, "alpha must be at least 0 and l1 between 0 and 1");
  DeltaRule rule;
  rule.loss = named(losses, loss, "loss is not known");
  rule.epsilon = epsilon;
  rule.penalised = penalised;
  rule.alpha = alpha;
  rule.l1 = l1;
  rule.schedule = named(schedules, schedule, "schedule is not known");
  require(rule.schedule != Schedule::optimal || alpha > 0.0, "the schedule 'optimal' needs alpha > 0");
  rule.eta0 = eta0;
  rule.power = power;
  rule.intercept = intercept;
  rule.decay = decay;
  rule.one_class = one_class;
  rule.average = average;
  rule.batch = batch;
  rule.own = own;
  rule.positive = positive;
  rule.negative = negative;
  new (to) Learner(rule, coef.span(), start, t);
  if (average > 0)
    to->resume(std::vector<double>(to->v.size(), 0.0), 0.0, 0.0);
}

} // namespace

void bind_sgd(nb::module_ &m) {
  nb::class_<Learner>(m, "Learner", "Weights on their way, and the rule by which rows move them.")
      .def("__init__", &construct, nb::arg("loss"), nb::arg("epsilon"), nb::arg("penalised"), nb::arg("alpha"),
           nb::arg("l1"), nb::arg("schedule"), nb::arg("eta0"), nb::arg("power"), nb::arg("intercept"),
           nb::arg("decay"), nb::arg("one_class"), nb::arg("average"), nb::arg("batch"), nb::arg("own"),
           nb::arg("positive"), nb::arg("negative"), nb::arg("coef"), nb::arg("start"), nb::arg("t"))
      .def(
          "resume",
          [](Learner &l, const In<double, 1> &coef, double intercept, double count) {
            require(l.rule.average > 0, "nothing is averaged");
            require(coef.shape(0) == static_cast<Index>(l.v.size()), "coef must have one entry a weight");
            l.resume(coef.span(), intercept, count);
          },
          nb::arg("coef"), nb::arg("intercept"), nb::arg("count"), "The average so far, of `count` iterates.")
      .def("begin", &Learner::begin, "Begins an epoch.")
      .def(
          "follow",
          [](Learner &l, const In<std::int32_t, 1> &order) {
            bool good = true;
            l.top = -1;
            for (const std::int32_t row : order.span()) {
              good &= row >= 0;
              l.top = std::max<Index>(l.top, row);
            }
            require(good, "rows must not be negative");
            l.order.assign(order.span().begin(), order.span().end());
          },
          nb::arg("order"), "The order in which rows are to be taken.")
      .def("shuffle", &Learner::shuffle, nb::arg("seed"), "Permutes the order.")
      .def("weights", &weights_of, "Weights (p,) and intercept.")
      .def("average", &average_of, "The averages of weights (p,) and intercept, zero before the first.")
      .def_prop_ro("length", [](const Learner &l) { return l.order.size(); })
      .def_rw("eta", &Learner::eta)
      .def_ro("t", &Learner::t)
      .def_ro("averaged", &Learner::averaged)
      .def_ro("objective", &Learner::objective)
      .def_ro("loss", &Learner::loss)
      .def_ro("seen", &Learner::seen)
      .def("finite", &Learner::all_finite, "Whether everything is finite.");
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
