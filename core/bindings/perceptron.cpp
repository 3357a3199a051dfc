#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/perceptron.hpp"
#include "tenfold/permutation.hpp"
#include "tenfold/poll.hpp"

namespace tenfold {
namespace {

// Multiply-adds between two polls for signals.
constexpr double work_between_polls = 1 << 26;

template <class To, int N> void copy(const In<double, N> &array, To &to) {
  to.assign(array.span().begin(), array.span().end());
}

PerceptronState make_state(const In<double, 2> &coef, const In<double, 1> &intercept, double eta,
                           const std::string &words) {
  const Index t = coef.shape(0);
  require(t >= 1 && intercept.shape(0) == t, "coef must be (targets, columns), intercept (targets)");
  const auto has = [&](const char *word) { return words.find(word) != std::string::npos; };
  PerceptronState state;
  state.targets = t, state.columns = coef.shape(1), state.eta = eta;
  state.rule = {has("joint"), has("positive"), has("intercept"), has("normalise"), has("batch")};
  require(!state.rule.joint || t >= 2, "a joint problem needs at least two targets");
  copy(coef, state.coef), copy(intercept, state.intercept);
  const std::size_t targets = static_cast<std::size_t>(t);
  state.active.assign(targets, 1), state.mistakes.assign(targets, 0), state.loss.assign(targets, 0.0);
  state.z.assign(targets, 0.0);
  state.begin_pass();
  return state;
}

void average(PerceptronState &state, const In<double, 2> &sums, const In<double, 1> &sum_intercept, double seen) {
  require(sums.shape(0) == state.targets && sums.shape(1) == state.columns && sum_intercept.shape(0) == state.targets,
          "sums must have the shapes of the weights");
  copy(sums, state.sums), copy(sum_intercept, state.sum_intercept);
  state.seen = seen;
}

template <class Rows>
auto scan(PerceptronState &state, const Rows &x, const In<std::int64_t, 1> &order, const In<std::int32_t, 1> &label,
          const Maybe<double, 1> &weight, bool counted, bool keep, int threads, Index target) {
  require(target < state.targets && (target < 0 || !state.rule.joint), "target must be one of those that learn apart");
  require(x.columns == state.columns, "X must have the columns of coef");
  require(label.shape(0) == x.rows && (!weight || weight->shape(0) == x.rows),
          "label and weight must have one entry a row");
  bool good = true;
  for (const std::int64_t i : order.span())
    good &= i >= 0 && i < x.rows;
  const std::int32_t classes = static_cast<std::int32_t>(state.targets == 1 ? 2 : state.targets);
  for (const std::int32_t c : label.span())
    good &= c >= 0 && c < classes;
  require(good, "order must hold rows and label classes");
  const Out<std::int32_t, 1> counts({counted ? x.rows : 0});
  std::fill(counts.span().begin(), counts.span().end(), 0);
  PerceptronUpdates updates;
  updates.keep = keep, updates.counts = counts.span();
  if (keep)
    updates.reserve(order.span().size() * static_cast<std::size_t>(state.rule.joint ? 1 : state.targets));
  PerceptronScan<Rows> pass(x, label.span(), span_or_none(weight), state, updates, target);
  const double width = static_cast<double>(std::max<Index>(1, state.targets * state.columns));
  const std::size_t piece = static_cast<std::size_t>(work_between_polls / width) + 1;
  const int workers = checked_threads(threads);
  const std::span<const std::int64_t> all = order.span();
  for (std::size_t begin = 0; begin < all.size(); begin += piece) {
    {
      const nb::gil_scoped_release release;
      const std::span<const std::int64_t> part = all.subspan(begin, std::min(piece, all.size() - begin));
      if constexpr (std::is_same_v<Rows, Dense<typename Rows::Value>>) {
        if (should_prefetch(x, workers))
          pass.process_prefetched(part, workers);
        else
          pass(part);
      } else
        pass(part);
    }
    poll();
  }
  const Index kept = static_cast<Index>(updates.rows.size());
  return std::make_tuple(counts.give(), give<std::int64_t, 1>(std::move(updates.rows), {kept}),
                         give<std::int32_t, 1>(std::move(updates.others), {kept}),
                         give<double, 1>(std::move(updates.times), {kept}),
                         give<double, 1>(std::move(updates.steps), {kept}));
}

using Class = nb::class_<PerceptronState>;

template <class T> void bind_dense(Class &c) {
  c.def(
      "scan",
      [](PerceptronState &state, const In<T, 2> &X, const In<std::int64_t, 1> &order, const In<std::int32_t, 1> &label,
         const Maybe<double, 1> &weight, bool counts, bool keep, int threads, Index target) {
        const Dense<T> rows{X.data(), X.shape(0), X.shape(1)};
        return scan(state, rows, order, label, weight, counts, keep, threads, target);
      },
      nb::arg("X"), nb::arg("order"), nb::arg("label"), nb::arg("weight").none(), nb::arg("counts"), nb::arg("keep"),
      nb::arg("threads"), nb::arg("target") = -1,
      "One scan over the rows of X in this order, for all targets or one: (counts, rows, others, times, steps) of "
      "the logged updates.");
}

template <class T, class I> void bind_sparse(Class &c) {
  c.def(
      "scan_csr",
      [](PerceptronState &state, const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p,
         const In<std::int64_t, 1> &order, const In<std::int32_t, 1> &label, const Maybe<double, 1> &weight,
         bool counts, bool keep, int threads, Index target) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return scan(state, rows.view, order, label, weight, counts, keep, threads, target);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("order"), nb::arg("label"),
      nb::arg("weight").none(), nb::arg("counts"), nb::arg("keep"), nb::arg("threads"), nb::arg("target") = -1,
      "scan for CSR.");
}

auto matrix(const PerceptronState &s, const Weights &values) {
  return give<double, 2>({values.begin(), values.end()}, {values.empty() ? 0 : s.targets, s.columns});
}
auto vector(const std::vector<double> &values) { return give<double, 1>(values, {static_cast<Index>(values.size())}); }

} // namespace

void bind_perceptron(nb::module_ &m) {
  auto c = Class(m, "Perceptron", "The state of the perceptron.");
  c.def(
      "__init__",
      [](PerceptronState *self, const In<double, 2> &coef, const In<double, 1> &intercept, double eta,
         const std::string &rule) { new (self) PerceptronState(make_state(coef, intercept, eta, rule)); },
      nb::arg("coef"), nb::arg("intercept"), nb::arg("eta"), nb::arg("rule"),
      "rule: words among joint, positive, intercept, normalise, batch.");
  c.def("average", &average, nb::arg("sums"), nb::arg("sum_intercept"), nb::arg("seen"),
        "Accumulates the sums of the averaged weights, starting from these.");
  c.def("begin_pass", &PerceptronState::begin_pass, "Resets the mistakes and the loss.");
  c.def(
      "deactivate", [](PerceptronState &s, Index target) { s.active.at(static_cast<std::size_t>(target)) = 0; },
      nb::arg("target"), "Stops training a target.");
  c.def(
      "skip", [](PerceptronState &s, double rows) { s.seen += rows; }, nb::arg("rows"),
      "Counts samples that were seen without a mistake.");
  c.def_prop_ro("coef", [](const PerceptronState &s) { return matrix(s, s.coef); });
  c.def_prop_ro("intercept", [](const PerceptronState &s) { return vector(s.intercept); });
  c.def_prop_ro("sums", [](const PerceptronState &s) { return matrix(s, s.sums); });
  c.def_prop_ro("sum_intercept", [](const PerceptronState &s) { return vector(s.sum_intercept); });
  c.def_prop_ro("mistakes", [](const PerceptronState &s) { return give<std::int64_t, 1>(s.mistakes, {s.targets}); });
  c.def_prop_ro("loss", [](const PerceptronState &s) { return vector(s.loss); });
  c.def_ro("seen", &PerceptronState::seen);
  c.def_ro("finite", &PerceptronState::finite);
  bind_dense<float>(c);
  bind_dense<double>(c);
  bind_sparse<float, std::int32_t>(c);
  bind_sparse<float, std::int64_t>(c);
  bind_sparse<double, std::int32_t>(c);
  bind_sparse<double, std::int64_t>(c);
  m.def(
      "permutation",
      [](Index count, std::uint64_t seed) {
        require(count >= 0, "count must not be negative");
        const Out<std::int64_t, 1> order({count});
        permutation(seed, order.span());
        return order.give();
      },
      nb::arg("count"), nb::arg("seed"), "A random permutation of count rows.");
  m.def(
      "reshuffle",
      [](const In<std::int64_t, 1> &order, std::uint32_t seed) {
        const Out<std::int64_t, 1> next({order.shape(0)});
        std::copy(order.span().begin(), order.span().end(), next.span().begin());
        reshuffle(seed, next.span());
        return next.give();
      },
      nb::arg("order"), nb::arg("seed"), "A shuffled copy, as scikit-learn shuffles with this seed.");
}

} // namespace tenfold
