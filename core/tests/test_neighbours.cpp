// Every search against all plain distances: products, trees, sparse rows, and sums of windows; rows at one place, rows
// far from zero, and a query that is itself a row.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/distances.hpp"
#include "tenfold/near_direct.hpp"
#include "tenfold/near_products.hpp"
#include "tenfold/near_sparse.hpp"
#include "tenfold/near_tree.hpp"
#include "tenfold/window_tree.hpp"
#include "tenfold/windows.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

constexpr Index k = 5;

struct Answer {
  explicit Answer(Index queries) : distances(index(queries * k)), rows(index(queries * k)) {}
  KeepNearest keep() { return {k, {Finish::root, 1.0}, distances.data(), rows.data()}; }
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
      const Dense<double> asked{q.data(), 40, p};
      const std::string what = isa + " " + std::to_string(p) + " columns";

      Answer products(40), tree(40), direct(40);
      auto keep = products.keep();
      const ProductSearch<T> search(x.dense(), asked, threads);
      check(search.possible(), what + ", products are possible");
      search.search(queries, keep, threads);
      compare(products, expected, what + ", products");

      const Tree built = TreeBuilder<T>(x.dense(), 16).build(threads);
      const TreeView view{TreeShape(203, p, 16), built.order, built.points, built.boxes};
      auto in_tree = tree.keep();
      TreeSearch<SquareTerm, 0, KeepNearest>(view, asked, SquareTerm{}).search(queries, in_tree, threads);
      compare(tree, expected, what + ", tree");

      auto by_all = direct.keep();
      near_direct(Entries<T, Powers>{x.dense(), asked, Powers{2.0}}, 203, queries, by_all, threads);
      compare(direct, expected, what + ", all pairs");
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
  Answer found(90);
  auto keep = found.keep();
  SparseSearch<SparseSquares, std::int32_t>(view, columns, view).search({0, 90, {}}, keep, 2);
  compare(found, plainly(x, x.values, {}), isa + " sparse rows");
}

void test_windows(const std::string &isa) {
  const Matrix<double> x(300, 2, 1.0, 4);
  const std::vector<double> q{0.1, 0.2, 60.0, 0.0}, bandwidth{0.5, 2.0}, weight = normal(300, 5, 9.0);
  const WindowSums in{Window::gaussian, bandwidth, weight, weight, 1, {Finish::root, 1.0}};
  std::vector<double> logs(4), means(4);
  const Entries<double, Powers> distance{x.dense(), {q.data(), 2, 2}, Powers{2.0}};
  window_sums(distance, 300, {0, 2, {}}, in, 2, logs.data(), means.data());
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
      check_close(logs[i * 2 + b], static_cast<double>(std::log(sum)), 1e-10, isa + " logarithm of a sum of windows");
      check_close(means[i * 2 + b], static_cast<double>(target / sum), 1e-10, isa + " mean in a window");
    }
}

// By a tree: within what is allowed of the sums of all rows, and exact where nothing is.
void test_windows_of_a_tree(const std::string &isa) {
  constexpr Index n = 700, leaf = 16;
  const Matrix<double> x(n, 2, 1.0, 7);
  const std::vector<double> q = normal(40, 8), bandwidth{0.3};
  const Tree tree = TreeBuilder<double>(x.dense(), leaf).build(2);
  const TreeView view{TreeShape(n, 2, leaf), tree.order, tree.points, tree.boxes};
  const Entries<double, Powers> distance{x.dense(), {q.data(), 20, 2}, Powers{2.0}};
  for (const Window window :
       {Window::gaussian, Window::exponential, Window::open_box, Window::epanechnikov, Window::linear, Window::cosine})
    for (const double relative : {0.0, 1e-3, 0.3}) {
      const WindowSums all{window, bandwidth, {}, {}, 0, {Finish::root, 1.0}};
      std::vector<double> expected(20), found(20), again(20), none;
      window_sums(distance, n, {0, 20, {}}, all, 1, expected.data(), none.data());
      const double nothing = -std::numeric_limits<double>::infinity();
      const TreeWindows in{window, bandwidth[0], nothing, relative, {}, {}, {Finish::root, 1.0}};
      const WindowTree<SquareTerm, 2> loop(view, {q.data(), 20, 2}, {}, in);
      loop.sum({0, 20, {}}, 2, found.data());
      loop.sum({0, 20, {}}, 1, again.data());
      check(found == again, isa + " windows of a tree have the same bits");
      for (std::size_t i = 0; i < 20; ++i)
        check_close(std::exp(found[i]), std::exp(expected[i]), (relative + 1e-11) * std::exp(expected[i]),
                    isa + " windows of a tree");
    }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const double mean : {0.0, 1e4}) {
      test_searches<double>(isa, mean);
      test_searches<float>(isa, mean);
    }
    test_sparse(isa);
    test_windows(isa);
    test_windows_of_a_tree(isa);
  });
  return result();
}
