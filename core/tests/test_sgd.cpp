// SGD: sparse rows equal dense rows with zeros, and prefetching threads give the bits of one thread.
#include "matrix.hpp"

#include "tenfold/sgd.hpp"

#include <numeric>

using namespace tenfold;
using namespace tenfold::test;

namespace {

template <class T> struct Data : Matrix<T> {
  Data(Index rows, Index columns, double density, unsigned seed)
      : Matrix<T>(rows, columns, density, seed), order(index(rows)) {
    std::mt19937_64 random(seed + 1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (Index i = 0; i < rows; ++i) {
      y.push_back(unit(random) < 0.5 ? -1.0 : 1.0);
      weight.push_back(unit(random) < 0.2 ? 0.0 : unit(random) + 0.1);
      skip.push_back(unit(random) < 0.1 ? 1 : 0);
    }
    std::iota(order.begin(), order.end(), 0);
  }

  std::vector<double> y, weight;
  std::vector<std::uint8_t> skip;
  std::vector<std::int32_t> order;
};

SgdParameters rule_of(double l1, Index average, Index batch = 1) {
  SgdParameters parameters;
  parameters.loss = SgdLoss::log_loss;
  parameters.penalised = true;
  parameters.alpha = 0.05;
  parameters.l1 = l1;
  parameters.schedule = Schedule::invscaling;
  parameters.eta0 = 0.1;
  parameters.average = average;
  parameters.batch = batch;
  return parameters;
}

SgdLearner learner(const SgdParameters &parameters, Index p) {
  SgdLearner l(parameters, std::vector<double>(index(p)), 0.0, 1.0);
  if (parameters.average > 0)
    l.resume(std::vector<double>(index(p)), 0.0, 0.0);
  return l;
}

double weight_of(const SgdLearner &l, std::size_t j) { return l.scale * l.v[j]; }

// Without an L1 penalty, whose truncation visits only the nonzeros of a sparse row.
template <class T> void sparse_is_dense(const std::string &isa) {
  for (const Index p : {1, 7, 8, 33, 100})
    for (const Index batch : {1, 5}) {
      const Data<T> data(61, p, 0.4, 3);
      SgdLearner a = learner(rule_of(0.0, 10, batch), p), b = a;
      for (int epoch = 0; epoch < 3; ++epoch) {
        a.begin();
        b.begin();
        scan(data.dense(), data.y, data.weight, data.skip, data.order, a, 0, data.n);
        scan(data.sparse(), data.y, data.weight, data.skip, data.order, b, 0, data.n);
      }
      const std::string what = isa + " sparse = dense, p " + std::to_string(p);
      for (std::size_t j = 0; j < index(p); ++j) {
        check_close(weight_of(b, j), weight_of(a, j), 1e-12, what);
        check_close(b.total[j] + b.lag * b.v[j], a.total[j] + a.lag * a.v[j], 1e-10, what + ", average");
      }
      check_close(b.objective, a.objective, 1e-9, what + ", objective");
      check_close(b.b, a.b, 1e-12, what + ", intercept");
      check(a.seen == b.seen && a.t == b.t, what + ", counts");
    }
}

template <class T> void turns_are_one_thread(int threads) {
  const Data<T> data(2000, 37, 1.0, 5);
  for (const double l1 : {0.0, 0.3}) {
    SgdLearner a = learner(rule_of(l1, 100), data.p);
    a.order = data.order;
    a.shuffle(11);
    SgdLearner b = a;
    for (const Index begin : {0, 1300}) {
      const Index end = begin == 0 ? 1300 : data.n;
      scan(data.dense(), data.y, data.weight, data.skip, a.order, a, begin, end);
      scan_prefetched(data.dense(), data.y, data.weight, data.skip, b, begin, end, threads);
    }
    check(a.v == b.v && a.scale == b.scale && a.b == b.b && a.total == b.total && a.t == b.t && a.seen == b.seen,
          "threads in turn, " + std::to_string(threads));
  }
}

void a_shuffle_keeps_every_row() {
  SgdLearner l = learner(rule_of(0.0, 0), 1);
  l.order.resize(1000);
  std::iota(l.order.begin(), l.order.end(), 0);
  l.shuffle(0); // a seed that the generator would never leave
  std::vector<std::int32_t> sorted = l.order;
  check(!std::is_sorted(sorted.begin(), sorted.end()), "a shuffle moves rows");
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    check(sorted[i] == static_cast<std::int32_t>(i), "a shuffle keeps every row");
}

void test_bad_index_raises() {
  Data<double> data(5, 4, 1.0, 1);
  data.indices[9] = 4;
  SgdLearner l = learner(rule_of(0.0, 0), 4);
  bool raised = false;
  try {
    scan(data.sparse(), data.y, {}, {}, {}, l, 0, data.n);
  } catch (const std::invalid_argument &) {
    raised = true;
  }
  check(raised, "an index that is no column");
}

void what_is_not_finite_stops() {
  Data<double> data(20, 3, 1.0, 1);
  data.values[30] = std::numeric_limits<double>::quiet_NaN();
  SgdLearner l = learner(rule_of(0.5, 1), 3);
  scan(data.dense(), data.y, {}, {}, {}, l, 0, data.n);
  check(!l.finite && !l.all_finite(), "a value that is not a number");
  check(l.seen == 10, "nothing is learned from it");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    sparse_is_dense<double>(isa);
    sparse_is_dense<float>(isa);
  });
  for (const int threads : {1, 2, 5}) {
    turns_are_one_thread<double>(threads);
    turns_are_one_thread<float>(threads);
  }
  a_shuffle_keeps_every_row();
  test_bad_index_raises();
  what_is_not_finite_stops();
  return result();
}
