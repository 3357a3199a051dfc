// Loops of k-means against plain sums in float64: the nearest centre, its sums, steps with bounds, seeds, and
// rows one by one; dense and sparse rows, weights, rows far from zero, ties, and equal bits for any number of threads.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/kmeans_assign.hpp"
#include "tenfold/kmeans_assign_float64.hpp"
#include "tenfold/kmeans_plusplus.hpp"
#include "tenfold/lloyd_hamerly.hpp"
#include "tenfold/online_kmeans.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

template <class T> double square(const Matrix<T> &x, Index row, const double *centre) {
  double sum = 0.0;
  for (Index j = 0; j < x.p; ++j)
    sum += (x(row, j) - centre[j]) * (x(row, j) - centre[j]);
  return sum;
}
template <class T> std::vector<double> rows_of(const Matrix<T> &x, Index count) {
  return {x.values.begin(), x.values.begin() + count * x.p};
}
// Weights 0, 1, 2, 0, ...
std::vector<double> some_weights(Index n) {
  std::vector<double> weight(index(n));
  for (Index i = 0; i < n; ++i)
    weight[index(i)] = static_cast<double>(i % 3);
  return weight;
}

struct Plain {
  std::vector<std::int32_t> number;
  std::vector<double> distance, weight, sums;
  double energy = 0.0;
};
template <class T>
Plain plainly(const Matrix<T> &x, const std::vector<double> &w, const std::vector<double> &centres,
              const std::vector<double> &place) {
  const Index k = static_cast<Index>(centres.size()) / x.p;
  Plain out{{}, {}, std::vector<double>(index(k)), std::vector<double>(index(k * x.p)), 0.0};
  for (Index i = 0; i < x.n; ++i) {
    Index best = 0;
    for (Index c = 1; c < k; ++c)
      if (square(x, i, &centres[index(c * x.p)]) < square(x, i, &centres[index(best * x.p)]))
        best = c;
    out.number.push_back(static_cast<std::int32_t>(best));
    out.distance.push_back(square(x, i, &centres[index(best * x.p)]));
    out.weight[index(best)] += w[index(i)];
    out.energy += w[index(i)] * out.distance.back();
    for (Index j = 0; j < x.p; ++j)
      out.sums[index(best * x.p + j)] += w[index(i)] * (x(i, j) - place[index(j)]);
  }
  return out;
}

void same(const std::vector<double> &got, const std::vector<double> &expected, double allowed,
          const std::string &what) {
  check(got.size() == expected.size(), what + ", size");
  for (std::size_t i = 0; i < expected.size(); ++i)
    check_close(got[i], expected[i], allowed * (1.0 + std::abs(expected[i])), what);
}

template <class Rows, class T>
void test_assignment(const Rows &rows, const Matrix<T> &x, double size, std::string what) {
  const std::vector<double> w = some_weights(x.n), place(index(x.p), 0.5);
  for (const Index k : {1, 2, 15, 17, 70}) {
    const std::vector<double> centres = rows_of(x, k);
    const Plain plain = plainly(x, w, centres, place);
    const CentresFloat32 c = centres_for(rows, centres, k);
    std::vector<std::int32_t> number(index(x.n));
    std::vector<double> distance(index(x.n));
    nearest_centres(rows, c, 2, number, distance);
    check(number == plain.number, what + ", the nearest of " + std::to_string(k));
    same(distance, plain.distance, 1e-13 * size, what + ", squared distances");
    const Assignment one = kmeans_assign(rows, w, c, place, 1), three = kmeans_assign(rows, w, c, place, 3);
    same(one.weight, plain.weight, 0.0, what + ", weights");
    same(one.sums, plain.sums, 1e-12 * size, what + ", sums");
    check_close(one.energy, plain.energy, 1e-12 * size * (1.0 + plain.energy), what + ", energy");
    check(one.sums == three.sums && one.energy == three.energy, what + ", bits of threads");
    const Assignment judged = kmeans_assign_float64(rows, w, centres, k, place, 2);
    same(judged.weight, plain.weight, 0.0, what + ", weights in float64");
    same(judged.sums, plain.sums, 1e-12 * size, what + ", sums in float64");
    check_close(judged.energy, plain.energy, 1e-12 * size * (1.0 + plain.energy), what + ", energy in float64");
  }
}

// Steps with bounds: after each, `again` has the bits of an assignment from nothing.
template <class Rows, class T> void test_steps(const Rows &rows, const Matrix<T> &x, const std::string &what) {
  const std::vector<double> w = some_weights(x.n), place(index(x.p), 0.25);
  for (const Index k : {2, 40, 130}) {
    LloydHamerly<Rows> one(rows, w), three(rows, w);
    std::vector<double> centres = rows_of(x, k);
    double first = 0.0;
    for (int step = 0; step < 12; ++step) {
      const Assignment got = one.step(centres, k, place, 1), other = three.step(centres, k, place, 3);
      const Assignment fresh = kmeans_assign(rows, w, centres_for(rows, centres, k), place, 2),
                       again = one.again(k, place, 2);
      check(again.sums == fresh.sums && again.weight == fresh.weight, what + ", the assignment of a step");
      same(got.sums, fresh.sums, 1e-9, what + ", sums of changes");
      check(got.sums == other.sums, what + ", bits of threads");
      if (step == 0)
        first = one.compared();
      for (Index c = 0; c < k; ++c)
        if (fresh.weight[index(c)] > 0.0)
          for (Index j = 0; j < x.p; ++j)
            centres[index(c * x.p + j)] = place[index(j)] + fresh.sums[index(c * x.p + j)] / fresh.weight[index(c)];
    }
    check(first > 0.0 && one.compared() < first, what + ", bounds save comparisons");
  }
}

// The same draws with plain sums.
template <class T>
std::vector<std::int64_t> plain_seeds(const Matrix<T> &x, const std::vector<double> &w, Index first,
                                      const std::vector<double> &draws, Index trials) {
  std::vector<std::int64_t> rows{first};
  std::vector<double> d(index(x.n));
  const auto centre = [&](Index row) {
    std::vector<double> values(index(x.p));
    for (Index j = 0; j < x.p; ++j)
      values[index(j)] = x(row, j);
    return values;
  };
  for (Index i = 0; i < x.n; ++i)
    d[index(i)] = square(x, i, centre(first).data());
  for (std::size_t begin = 0; begin < draws.size(); begin += index(trials)) {
    double total = 0.0, least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < x.n; ++i)
      total += w[index(i)] * d[index(i)];
    std::vector<double> kept;
    Index best = -1;
    for (std::size_t t = begin; t < begin + index(trials); ++t) {
      Index row = 0;
      for (double sum = w[0] * d[0]; sum < draws[t] * total && row + 1 < x.n;) {
        ++row;
        sum += w[index(row)] * d[index(row)];
      }
      std::vector<double> then(d);
      double left = 0.0;
      const std::vector<double> z = centre(row);
      for (Index i = 0; i < x.n; ++i) {
        then[index(i)] = std::min(then[index(i)], square(x, i, z.data()));
        left += w[index(i)] * then[index(i)];
      }
      if (left < least * (1.0 - 1e-9)) {
        least = left;
        best = row;
        kept = then;
      }
    }
    rows.push_back(best);
    d = kept;
  }
  return rows;
}

template <class Rows, class T>
void test_seeds(const Rows &rows, const Matrix<T> &x, Index k, Index trials, const std::string &what) {
  std::vector<double> w = some_weights(x.n), draws(index((k - 1) * trials));
  std::mt19937_64 random(static_cast<unsigned>(k + trials));
  for (double &draw : draws)
    draw = std::uniform_real_distribution<double>(0.0, 1.0)(random);
  const std::vector<std::int64_t> one = kmeans_plusplus(rows, w, 1, draws, trials, 1);
  check(one == kmeans_plusplus(rows, w, 1, draws, trials, 3), what + ", seeds do not depend on threads");
  check(one == plain_seeds(x, w, 1, draws, trials), what + ", seeds of plain sums");
  struct Interrupt {};
  bool stopped = k == 1;
  poll_hook = [] { throw Interrupt{}; };
  try {
    kmeans_plusplus(rows, w, 1, draws, trials, 1);
  } catch (const Interrupt &) {
    stopped = true;
  }
  poll_hook = nullptr;
  check(stopped, what + ", seeding can be stopped");
}

// Rows about places of their own, in turn.
Matrix<double> apart(Index n, Index p, Index places, double distance) {
  Matrix<double> x(n, p, 1.0, 5);
  const std::vector<double> where = normal(index(places * p), 6);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < p; ++j)
      x.values[index(i * p + j)] += distance * where[index(i * 7 % places * p + j)];
  return x;
}

void test_equal_rows(const std::string &isa) {
  Matrix<double> x(64, 3, 1.0, 9);
  for (Index i = 0; i < 64; ++i) // four different rows
    std::copy_n(x.values.begin() + i % 4 * 3, 3, x.values.begin() + i * 3);
  const std::vector<double> draws = {0.5, 0.2, 0.999, 0.0, 0.7, 0.3, 0.9, 0.1};
  const auto rows = kmeans_plusplus(x.dense(), {}, 0, draws, 2, 1);
  std::vector<std::int64_t> kinds;
  for (std::size_t i = 0; i < 4; ++i)
    kinds.push_back(rows[i] % 4);
  std::sort(kinds.begin(), kinds.end());
  check(kinds == std::vector<std::int64_t>{0, 1, 2, 3},
        isa + ", a copy of a centre is not drawn while others are left");
  check(rows.size() == 5, isa + ", more centres than different rows");
}

void test_online(const std::string &isa) {
  const Matrix<double> x(50, 4, 0.5, 3);
  const std::vector<double> w = some_weights(50);
  std::vector<double> centres = rows_of(x, 3), counts(3), sparse = centres, seen(3), plain = centres, n(3);
  online_kmeans(x.dense(), w, centres, counts);
  online_kmeans(x.sparse(), w, sparse, seen);
  for (Index i = 0; i < x.n; ++i) {
    if (w[index(i)] == 0.0)
      continue;
    Index best = 0;
    for (Index c = 1; c < 3; ++c)
      if (square(x, i, &plain[index(c * 4)]) < square(x, i, &plain[index(best * 4)]))
        best = c;
    n[index(best)] += w[index(i)];
    for (Index j = 0; j < 4; ++j)
      plain[index(best * 4 + j)] += w[index(i)] / n[index(best)] * (x(i, j) - plain[index(best * 4 + j)]);
  }
  same(centres, plain, 1e-12, isa + ", rows one by one");
  same(sparse, plain, 1e-12, isa + ", sparse rows one by one");
  same(counts, n, 0.0, isa + ", counts");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const Index p : {1, 3, 16, 33}) {
      const std::string what = isa + " " + std::to_string(p) + " columns";
      const Matrix<double> x(300, p, 1.0, static_cast<unsigned>(p)), far(300, p, 1.0, static_cast<unsigned>(p), 1e4);
      const Matrix<float> single(300, p, 1.0, static_cast<unsigned>(p));
      test_assignment(x.dense(), x, 1.0, what);
      test_assignment(far.dense(), far, 1.0, what + ", far from zero");
      test_assignment(single.dense(), single, 1.0, what + ", float32");
      test_steps(x.dense(), x, what);
      test_steps(single.dense(), single, what + ", float32");
      test_seeds(x.dense(), x, 20, 3, what);
      test_seeds(far.dense(), far, 5, 13, what + ", far from zero");
    }
    const Matrix<double> holes(300, 12, 0.3, 8), groups = apart(2000, 5, 40, 30.0);
    test_assignment(holes.sparse(), holes, 100.0, isa + ", sparse");
    test_steps(holes.sparse(), holes, isa + ", sparse");
    test_seeds(holes.sparse(), holes, 12, 3, isa + ", sparse");
    test_steps(groups.dense(), groups, isa + ", groups");
    test_seeds(groups.dense(), groups, 60, 6, isa + ", groups that are apart");
    test_equal_rows(isa);
    test_online(isa);
  });
  return result();
}
