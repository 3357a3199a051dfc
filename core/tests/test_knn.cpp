// Searches and tiles of pairs against plain distances: gemm, trees, sparse rows, density kernels, products with kernel
// functions; equal rows, rows far from zero, and a query that is itself a row.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/distances.hpp"
#include "tenfold/kd_tree.hpp"
#include "tenfold/kde.hpp"
#include "tenfold/kde_tree.hpp"
#include "tenfold/knn_brute.hpp"
#include "tenfold/knn_csr.hpp"
#include "tenfold/knn_gemm.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

constexpr Index k = 5;

struct Answer {
  explicit Answer(Index queries) : distances(index(queries * k)), rows(index(queries * k)) {}
  TopKResults results() { return {k, {Finish::root, 1.0}, distances.data(), rows.data()}; }
  std::vector<double> distances;
  std::vector<std::int64_t> rows;
};

// The k nearest by plain sums, other than a row itself.
template <class T> Answer plainly(const Matrix<T> &x, const std::vector<double> &q, std::span<const std::int64_t> own) {
  const Index queries = static_cast<Index>(q.size()) / x.p;
  Answer answer(queries);
  for (Index i = 0; i < queries; ++i) {
    std::vector<Neighbour> all;
    for (Index j = 0; j < x.n; ++j) {
      double sum = 0.0;
      for (Index c = 0; c < x.p; ++c)
        sum += (x(j, c) - q[index(i * x.p + c)]) * (x(j, c) - q[index(i * x.p + c)]);
      if (own.empty() || own[index(i)] != j)
        all.push_back({sum, j});
    }
    std::sort(all.begin(), all.end());
    for (Index n = 0; n < k; ++n) {
      answer.distances[index(i * k + n)] = std::sqrt(all[index(n)].distance);
      answer.rows[index(i * k + n)] = all[index(n)].row;
    }
  }
  return answer;
}

void compare(const Answer &got, const Answer &expected, const std::string &what) {
  for (std::size_t i = 0; i < expected.distances.size(); ++i)
    check_close(got.distances[i], expected.distances[i], 1e-12 * (1.0 + expected.distances[i]), what);
}

template <class T> void test_searches(const std::string &isa, double mean) {
  for (const Index p : {1, 3, 4, 17, 33})
    for (const int threads : {1, 3}) {
      Matrix<T> x(203, p, 1.0, static_cast<unsigned>(p), mean);
      std::copy_n(x.values.begin(), p, x.values.begin() + 7 * p); // two rows at one place
      std::vector<double> q(x.values.begin(), x.values.begin() + 40 * p);
      std::vector<std::int64_t> own(40);
      for (std::size_t i = 0; i < own.size(); ++i)
        own[i] = i % 3 == 0 ? -1 : static_cast<std::int64_t>(i);
      const Queries queries{0, 40, own};
      const Answer expected = plainly(x, q, own);
      const Dense<double> sample{q.data(), 40, p};
      const std::string what = isa + " " + std::to_string(p) + " columns";

      Answer products(40), tree(40), direct(40);
      auto results = products.results();
      const GemmSearch<T> search(x.dense(), sample, threads);
      check(search.possible(), what + ", products are possible");
      search.search(queries, results, threads);
      compare(products, expected, what + ", products");

      const KdTree built = KdTreeBuilder<T>(x.dense(), 16).build(threads);
      const KdTreeView view{KdTreeShape(203, p, 16), built.order, built.points, built.boxes};
      auto in_tree = tree.results();
      KdTreeSearch<SquareTerm, 0, TopKResults>(view, sample, SquareTerm{}).search(queries, in_tree, threads);
      compare(tree, expected, what + ", tree");

      auto by_all = direct.results();
      const Entries<T, Powers> powers{x.dense(), sample, Powers{2.0}};
      pairwise(DirectPairs<Entries<T, Powers>>(powers, 203), IdentityFunction{}, queries, by_all, threads);
      compare(direct, expected, what + ", all pairs");

      Answer brute(40);
      auto by_brute = brute.results();
      knn_brute(powers, 203, queries, by_brute, threads);
      check(brute.rows == direct.rows && brute.distances == direct.distances, what + ", tiles and all pairs");
    }
}

void test_sparse(const std::string &isa) {
  const Matrix<double> x(90, 20, 0.2, 1);
  // columns: the entries of x in the order of columns
  std::vector<double> data;
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> starts{0};
  for (Index j = 0; j < 20; ++j) {
    for (Index i = 0; i < 90; ++i)
      if (x(i, j) != 0.0) {
        data.push_back(x(i, j));
        rows.push_back(static_cast<std::int32_t>(i));
      }
    starts.push_back(static_cast<std::int64_t>(data.size()));
  }
  const Sparse<double, std::int32_t> columns{data, rows, starts, 20, 90}, view = x.sparse();
  Answer got(90);
  auto results = got.results();
  CsrSearch<SparseSquares, std::int32_t>(view, columns, view).search({0, 90, {}}, results, 2);
  compare(got, plainly(x, x.values, {}), isa + " sparse rows");
}

void test_kde(const std::string &isa) {
  const Matrix<double> x(300, 2, 1.0, 4);
  const std::vector<double> q{0.1, 0.2, 60.0, 0.0}, bandwidth{0.5, 2.0}, weight = normal(300, 5, 9.0);
  const KdeProblem in{KdeKernel::gaussian, bandwidth, weight, weight, 1, {Finish::root, 1.0}};
  std::vector<double> logs(4), means(4);
  const Entries<double, Powers> distance{x.dense(), {q.data(), 2, 2}, Powers{2.0}};
  KdeReduction sums(in, logs.data(), means.data());
  using Plain = Entries<double, Powers>;
  pairwise(DirectPairs<Plain>(distance, 300), IdentityFunction{}, {0, 2, {}}, sums, 2);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t b = 0; b < 2; ++b) {
      long double sum = 0.0L, target = 0.0L;
      for (Index j = 0; j < 300; ++j) {
        const long double term =
            weight[index(j)] * std::exp(-0.5L * static_cast<long double>(distance(j, static_cast<Index>(i))) /
                                        (bandwidth[b] * bandwidth[b]));
        sum += term;
        target += term * weight[index(j)];
      }
      check_close(logs[i * 2 + b], static_cast<double>(std::log(sum)), 1e-10, isa + " logarithm of a sum of kernels");
      check_close(means[i * 2 + b], static_cast<double>(target / sum), 1e-10, isa + " local mean");
    }
}

// By a tree: within what is allowed of the sums of all rows, and exact where nothing is.
void test_kde_tree(const std::string &isa) {
  constexpr Index n = 700, leaf = 16;
  const Matrix<double> x(n, 2, 1.0, 7);
  const std::vector<double> q = normal(40, 8), bandwidth{0.3};
  const KdTree tree = KdTreeBuilder<double>(x.dense(), leaf).build(2);
  const KdTreeView view{KdTreeShape(n, 2, leaf), tree.order, tree.points, tree.boxes};
  const Entries<double, Powers> distance{x.dense(), {q.data(), 20, 2}, Powers{2.0}};
  for (const KdeKernel kernel : {KdeKernel::gaussian, KdeKernel::exponential, KdeKernel::open_box,
                                 KdeKernel::epanechnikov, KdeKernel::linear, KdeKernel::cosine})
    for (const double relative : {0.0, 1e-3, 0.3}) {
      const KdeProblem all{kernel, bandwidth, {}, {}, 0, {Finish::root, 1.0}};
      std::vector<double> expected(20), got(20), again(20), none;
      KdeReduction sums(all, expected.data(), none.data());
      using Plain = Entries<double, Powers>;
      pairwise(DirectPairs<Plain>(distance, n), IdentityFunction{}, {0, 20, {}}, sums, 1);
      const double nothing = -std::numeric_limits<double>::infinity();
      const KdeTreeProblem in{kernel, bandwidth[0], nothing, relative, {}, {}, {Finish::root, 1.0}};
      const KdeTree<SquareTerm, 2> loop(view, {q.data(), 20, 2}, {}, in);
      loop.sum({0, 20, {}}, 2, got.data());
      loop.sum({0, 20, {}}, 1, again.data());
      check(got == again, isa + " kernel sums of a tree have the same bits");
      for (std::size_t i = 0; i < 20; ++i)
        check_close(std::exp(got[i]), std::exp(expected[i]), (relative + 1e-11) * std::exp(expected[i]),
                    isa + " kernel sums of a tree");
    }
}

// Tiles of products against plain sums in long double: blocks and products K v, for samples near and far from zero.
template <class T> void test_pairs(const std::string &isa, double mean) {
  for (const Index p : {1, 5, 40}) {
    Matrix<T> x(150, p, 1.0, static_cast<unsigned>(p), mean);
    std::copy_n(x.values.begin(), p, x.values.begin() + 7 * p); // two rows at one place
    const std::vector<double> q(x.values.begin(), x.values.begin() + 37 * p), v = normal(2 * 150, 3);
    const Dense<double> queries{q.data(), 37, p};
    for (const ProductBase base : {ProductBase::inner, ProductBase::squares}) {
      const bool is_inner = base == ProductBase::inner;
      const PairFunction function{is_inner ? PairFunction::power : PairFunction::exponential, is_inner ? 1e-3 : 0.1,
                                  1.0, 3.0};
      const std::vector<double> zero(index(p));
      const ProductPairs<T, double> pairs(x.dense(), queries, base, is_inner ? zero : mean_of(x.dense()), 2);
      std::vector<double> block(37 * 150), sums(37 * 2), again(37 * 2);
      BlockWriter writer{block.data(), 150};
      pairwise(pairs, function, {0, 37, {}}, writer, 3);
      WeightedSums reduction{{v.data(), 2, 150}, sums.data()}, other{{v.data(), 2, 150}, again.data()};
      pairwise(pairs, function, {0, 37, {}}, reduction, 3);
      pairwise(pairs, function, {0, 37, {}}, other, 1);
      check(sums == again, isa + " products K v have the same bits for all threads");
      for (Index i = 0; i < 37; ++i) {
        long double total[2] = {}, size[2] = {};
        for (Index j = 0; j < 150; ++j) {
          long double value = 0.0L;
          for (Index c = 0; c < p; ++c) {
            const long double a = static_cast<long double>(x(j, c)), b = q[index(i * p + c)];
            value += is_inner ? a * b : (a - b) * (a - b);
          }
          value = is_inner ? std::pow(1e-3L * value + 1.0L, 3.0L) : std::exp(-0.1L * value);
          const double allowed = 1e-12 * std::fabs(static_cast<double>(value)) + (is_inner ? 1e-12 : 0.0);
          check_close(block[index(i * 150 + j)], static_cast<double>(value), allowed * (is_inner ? 10.0 : 1.0),
                      isa + " block of a kernel");
          for (std::size_t t = 0; t < 2; ++t) {
            total[t] += value * static_cast<long double>(v[t * 150 + index(j)]);
            size[t] += std::fabs(value * static_cast<long double>(v[t * 150 + index(j)]));
          }
        }
        for (std::size_t t = 0; t < 2; ++t)
          check_close(sums[index(i) * 2 + t], static_cast<double>(total[t]), 2e-11 * static_cast<double>(size[t]),
                      isa + " product K v");
      }
      if (!is_inner)
        check(block[index(3 * 150 + 3)] == 1.0 && block[index(7 * 150)] == 1.0, isa + " kernel of equal points");
    }
  }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const double mean : {0.0, 1e4}) {
      test_searches<double>(isa, mean);
      test_searches<float>(isa, mean);
    }
    for (const double mean : {0.0, 30.0}) {
      test_pairs<double>(isa, mean);
      test_pairs<float>(isa, mean);
    }
    test_sparse(isa);
    test_kde(isa);
    test_kde_tree(isa);
  });
  return result();
}
