// The perceptron against its recursion, in both storages and with every rule.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/perceptron.hpp"
#include "tenfold/permutation.hpp"

#include <numeric>

using namespace tenfold;
using namespace tenfold::test;

namespace {

struct Given {
  std::vector<std::int32_t> label;
  std::vector<double> weight;
  std::vector<std::int64_t> order;
};

PerceptronState state_of(Index targets, Index p, const PerceptronRule &rule) {
  PerceptronState s;
  s.targets = targets, s.columns = p, s.rule = rule, s.eta = 0.5;
  s.active.assign(index(targets), 1);
  s.coef.assign(index(targets * p), 0.0), s.intercept.assign(index(targets), 0.0);
  s.sums = s.coef, s.sum_intercept = s.intercept;
  s.mistakes.assign(index(targets), 0);
  s.loss.assign(index(targets), 0.0), s.z = s.loss;
  return s;
}

// The result of two passes by the definition; the mean is over the weights after each sample.
struct Slow {
  std::vector<double> w, b, mean;
  std::int64_t mistakes = 0;
};

template <class T> Slow slowly(const Matrix<T> &x, const Given &g, Index targets, const PerceptronRule &rule) {
  Slow s{std::vector<double>(index(targets * x.p)), std::vector<double>(index(targets)), {}, 0};
  s.mean.assign(s.w.size(), 0.0);
  std::vector<double> read = s.w, read_b = s.b;
  for (int pass = 0; pass < 2; ++pass) {
    s.mistakes = 0;
    if (rule.batch)
      read = s.w, read_b = s.b;
    for (const std::int64_t row : g.order) {
      const Index i = static_cast<Index>(row), c = g.label[index(i)];
      if (!rule.batch)
        read = s.w, read_b = s.b;
      std::vector<double> z(read_b);
      double square = rule.intercept ? 1.0 : 0.0;
      for (Index j = 0; j < x.p; ++j) {
        square += x(i, j) * x(i, j);
        for (Index k = 0; k < targets; ++k)
          z[index(k)] += x(i, j) * read[index(k * x.p + j)];
      }
      const double a = 0.5 * g.weight[index(i)] / (rule.normalise ? std::sqrt(square) : 1.0);
      const auto move = [&](Index k, double step) {
        for (Index j = 0; j < x.p; ++j)
          s.w[index(k * x.p + j)] += step * x(i, j);
        s.b[index(k)] += rule.intercept ? step : 0.0;
      };
      if (rule.joint) {
        Index rival = c == 0 ? 1 : 0;
        for (Index k = 0; k < targets; ++k)
          rival = k != c && z[index(k)] >= z[index(rival)] ? k : rival;
        const double margin = z[index(c)] - z[index(rival)];
        if (!(margin > 0.0 || (rule.positive && c > rival && margin == 0.0)))
          ++s.mistakes, move(c, a), move(rival, -a);
      } else
        for (Index k = 0; k < targets; ++k) {
          const double y = (targets == 1 ? c == 1 : c == k) ? 1.0 : -1.0, margin = y * z[index(k)];
          if (!(margin > 0.0 || (rule.positive && y > 0.0 && margin == 0.0)))
            ++s.mistakes, move(k, a * y);
        }
      for (std::size_t e = 0; e < s.w.size(); ++e)
        s.mean[e] += s.w[e] / (2.0 * static_cast<double>(g.order.size()));
    }
  }
  return s;
}

template <class Rows>
void compare(const Rows &rows, const Given &g, Index targets, const PerceptronRule &rule, const Slow &expected,
             const std::string &what) {
  PerceptronState state = state_of(targets, rows.columns, rule);
  std::vector<std::int32_t> counts(index(rows.rows));
  PerceptronUpdates updates;
  updates.keep = true, updates.counts = counts;
  for (int pass = 0; pass < 2; ++pass) {
    state.begin_pass();
    PerceptronScan<Rows> scan(rows, g.label, g.weight, state, updates);
    const std::size_t half = g.order.size() / 2; // in two pieces
    scan(std::span(g.order).first(half));
    scan(std::span(g.order).subspan(half));
  }
  check(state.finite && state.seen == 2.0 * static_cast<double>(g.order.size()), what + ": rows seen");
  check(std::accumulate(state.mistakes.begin(), state.mistakes.end(), std::int64_t{0}) == expected.mistakes,
        what + ": mistakes of the last pass");
  for (std::size_t e = 0; e < expected.w.size(); ++e) {
    check_close(state.coef[e], expected.w[e], 1e-10, what + ": weights");
    check_close(state.coef[e] - state.sums[e] / state.seen, expected.mean[e], 1e-10, what + ": mean");
  }
  for (std::size_t k = 0; k < expected.b.size(); ++k)
    check_close(state.intercept[k], expected.b[k], 1e-10, what + ": intercept");
  std::vector<std::int32_t> again(counts.size());
  for (const std::int64_t row : updates.rows)
    ++again[static_cast<std::size_t>(row)];
  check(again == counts, what + ": updates that are kept are those that are counted");
}

template <class T> void test_rules(const std::string &isa) {
  for (const Index p : {1, 9, 100})
    for (const Index targets : {1, 3})
      for (int bits = 0; bits < 32; ++bits) {
        if (p == 1 && (bits & 8) != 0)
          continue; // rows of length one are all alike, and scores are ties but for rounding
        const PerceptronRule rule{targets > 1 && (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                                  (bits & 16) != 0};
        const Matrix<T> x(60, p, 0.5, 11);
        Given g;
        for (Index i = 0; i < x.n; ++i) {
          g.label.push_back(static_cast<std::int32_t>((i * i + 1) % (targets == 1 ? 2 : 3)));
          g.weight.push_back(0.25 * static_cast<double>(1 + i % 4));
        }
        g.order.resize(index(x.n));
        permutation(7, g.order);
        const Slow expected = slowly(x, g, targets, rule);
        const std::string what = isa + " p " + std::to_string(p) + " rule " + std::to_string(bits);
        compare(x.dense(), g, targets, rule, expected, what + " dense");
        compare(x.sparse(), g, targets, rule, expected, what + " sparse");
      }
}

template <class T> void test_turns() {
  const Matrix<T> x(3000, 37, 1.0, 13);
  std::vector<std::int32_t> label;
  for (Index i = 0; i < x.n; ++i)
    label.push_back(x(i, 0) + 0.5 * x(i, 3) + 0.7 * x(i, 36) > 0.1 ? 1 : 0);
  std::vector<std::int64_t> order(index(x.n));
  permutation(5, order);
  const Dense<T> rows = x.dense();
  PerceptronState expected = state_of(1, x.p, {});
  PerceptronUpdates updates, again;
  updates.keep = again.keep = true;
  PerceptronScan<Dense<T>>(rows, label, {}, expected, updates)(order);
  for (const int threads : {1, 2, 5})
    for (int repetition = 0; repetition < 20; ++repetition) {
      PerceptronState state = state_of(1, x.p, {});
      again.rows.clear();
      PerceptronScan<Dense<T>>(rows, label, {}, state, again).process_prefetched(order, threads);
      check(state.coef == expected.coef && state.intercept == expected.intercept && state.sums == expected.sums &&
                state.loss == expected.loss && state.seen == expected.seen && again.rows == updates.rows,
            "threads in turn, " + std::to_string(threads));
    }
}

// Targets one after the other, each with an order of its own, learn what they learn together where the orders are
// equal.
void test_one_target_at_a_time() {
  Matrix<double> x(40, 3, 1.0, 5);
  std::vector<std::int32_t> label(40);
  for (std::size_t i = 0; i < label.size(); ++i)
    label[i] = static_cast<std::int32_t>(i % 3);
  std::vector<std::int64_t> order(40), other(40);
  std::iota(order.begin(), order.end(), 0);
  other = order;
  reshuffle(7, std::span(other));
  PerceptronState all = state_of(3, 3, {}), single = state_of(3, 3, {}), mixed = state_of(3, 3, {});
  PerceptronUpdates updates;
  const Dense<double> rows = x.dense();
  PerceptronScan<Dense<double>>(rows, label, {}, all, updates)(order);
  for (const Index k : {2, 0, 1})
    PerceptronScan<Dense<double>>(rows, label, {}, single, updates, k)(order);
  check(all.coef == single.coef && all.intercept == single.intercept && all.mistakes == single.mistakes &&
            all.loss == single.loss,
        "targets one at a time");
  for (const Index k : {0, 1, 2})
    PerceptronScan<Dense<double>>(rows, label, {}, mixed, updates, k)(k == 1 ? other : order);
  check(mixed.coef[0] == all.coef[0] && mixed.coef[8] == all.coef[8] && mixed.coef[4] != all.coef[4],
        "one target has an order of its own");
}

void test_not_finite() {
  Matrix<double> x(10, 3, 1.0, 1);
  x.values[14] = std::numeric_limits<double>::infinity();
  const std::vector<std::int32_t> label(10, 1);
  std::vector<std::int64_t> order(10);
  std::iota(order.begin(), order.end(), 0);
  PerceptronState state = state_of(1, 3, {});
  PerceptronUpdates updates;
  const Dense<double> rows = x.dense();
  PerceptronScan<Dense<double>>(rows, label, {}, state, updates)(order);
  check(!state.finite, "a value that is not finite is noticed");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    test_rules<double>(isa);
    test_rules<float>(isa);
  });
  test_turns<double>();
  test_turns<float>();
  test_one_target_at_a_time();
  test_not_finite();
  return result();
}
