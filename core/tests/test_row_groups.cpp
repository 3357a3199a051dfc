// Selection of columns: the updated Cholesky factor, LARS paths by their optimality conditions, and best subsets by
// exhaustive search.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/best_subset_verify.hpp"
#include "tenfold/cholesky_update.hpp"
#include "tenfold/lars.hpp"
#include "tenfold/leaps_and_bounds.hpp"

#include <bit>

using namespace tenfold;
using namespace tenfold::test;

namespace {

using Numbers = std::vector<double>;

// X'X (p x p) and X'y (p) of n random samples.
struct Products {
  Products(Index n_, Index p_, unsigned seed)
      : n(n_), p(p_), X(normal(index(n * p), seed)), y(normal(index(n), seed + 1)) {
    for (Index i = 0; i < n; ++i) // columns that are alike
      for (Index j = 1; j < p; ++j)
        X[index(i * p + j)] += 0.5 * X[index(i * p)];
    G.resize(index(p * p)), c.resize(index(p));
    for (Index i = 0; i < n; ++i) {
      yy += y[index(i)] * y[index(i)];
      for (Index a = 0; a < p; ++a) {
        c[index(a)] += X[index(i * p + a)] * y[index(i)];
        for (Index b = 0; b < p; ++b)
          G[index(a * p + b)] += X[index(i * p + a)] * X[index(i * p + b)];
      }
    }
  }
  double product(Index a, Index b) const { return G[index(a * p + b)]; }

  Index n, p;
  Numbers X, y, G, c;
  double yy = 0.0;
};

// The solution of a symmetric positive definite system by Gaussian elimination.
Numbers eliminated(Numbers A, Numbers b) {
  const std::size_t k = b.size();
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t r = i + 1; r < k; ++r) {
      const double f = A[r * k + i] / A[i * k + i];
      for (std::size_t j = i; j < k; ++j)
        A[r * k + j] -= f * A[i * k + j];
      b[r] -= f * b[i];
    }
  for (std::size_t i = k; i-- > 0;) {
    for (std::size_t j = i + 1; j < k; ++j)
      b[i] -= A[i * k + j] * b[j];
    b[i] /= A[i * k + i];
  }
  return b;
}

// Least squares on a subset of the columns.
Numbers fitted(const Products &g, const std::vector<Index> &some) {
  Numbers A, b;
  for (const Index i : some) {
    b.push_back(g.c[index(i)]);
    for (const Index j : some)
      A.push_back(g.product(i, j));
  }
  return eliminated(A, b);
}

double left_by(const Products &g, const std::vector<Index> &some) {
  const Numbers w = fitted(g, some);
  double left = g.yy;
  for (std::size_t k = 0; k < some.size(); ++k)
    left -= w[k] * g.c[index(some[k])];
  return left;
}

void check_factor(const Cholesky &factor, const Products &g, const std::vector<Index> &inside,
                  const std::string &what) {
  check(factor.size() == static_cast<Index>(inside.size()), what + ": size");
  const Numbers expected = fitted(g, inside);
  Numbers x;
  for (const Index j : inside)
    x.push_back(g.c[index(j)]);
  factor.solve(x);
  for (std::size_t k = 0; k < x.size(); ++k)
    check_close(x[k], expected[k], 1e-10, what);
}

void test_cholesky() {
  const Products g(60, 9, 3);
  Cholesky factor;
  std::vector<Index> inside;
  const auto append = [&](Index j, double square) {
    Numbers products;
    for (const Index i : inside)
      products.push_back(g.product(i, j));
    return factor.append(products, square, 1e-9);
  };
  for (const Index j : {4, 0, 7, 2, 8, 1}) {
    const double before = inside.empty() ? g.product(j, j) : 0.0;
    const double pivot = append(j, g.product(j, j));
    check(pivot > 0.0 && (inside.empty() ? pivot == before : pivot < g.product(j, j)), "a pivot is what is left");
    inside.push_back(j);
    check_factor(factor, g, inside, "a factor that grows");
  }
  check(!(append(4, g.product(4, 4)) > 1e-9), "a column that is inside leaves nothing");
  check_factor(factor, g, inside, "a column that depends changes nothing");
  for (const Index place : {5, 0, 2, 1}) {
    factor.remove(place);
    inside.erase(inside.begin() + place);
    check_factor(factor, g, inside, "a factor that shrinks");
  }
  check(append(4, g.product(4, 4)) > 1e-9, "a column comes back");
}

// The conditions of every knot: active columns have correlations of one size C, all others at most that; and for the
// Lasso the signs of weights are those of correlations.
void check_knots(const Products &g, const Lars &path, const LarsOptions &options, const std::string &what) {
  for (std::size_t knot = 0; knot < path.max_correlations().size(); ++knot) {
    const double *w = path.weights().data() + knot * index(g.p), C = path.max_correlations()[knot];
    double largest = 0.0;
    for (Index j = 0; j < g.p; ++j) {
      double r = g.c[index(j)];
      for (Index k = 0; k < g.p; ++k)
        r -= g.product(j, k) * w[k];
      const double size = options.positive ? r : std::abs(r);
      largest = std::max(largest, size);
      check(size <= C + 1e-9, what + ": no correlation is larger");
      if (w[j] != 0.0)
        check_close(size, C, 1e-9, what + ": an active column");
      if (w[j] != 0.0 && (options.lasso || options.positive))
        check(w[j] * r > -1e-9, what + ": a weight has the sign of its correlation");
    }
    check_close(largest, C, 1e-9, what + ": the size is reached");
    check(knot == 0 || C <= path.max_correlations()[knot - 1], what + ": the largest correlation decreases");
  }
}

void test_lars() {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u})
    for (const bool lasso : {false, true})
      for (const bool positive : {false, true}) {
        const Products g(40, 12, seed);
        Numbers squares;
        for (Index j = 0; j < g.p; ++j)
          squares.push_back(g.product(j, j));
        const LarsOptions options{lasso || positive, positive, 0.0, 200, 1e-12};
        Lars path(g.c, squares, g.yy, options);
        for (Index j = path.advance(); j >= 0; j = path.advance())
          path.set_gram_row(j, std::span(g.G).subspan(index(j * g.p), index(g.p)));
        const std::string what = std::string(lasso ? "lasso" : "least angles") + (positive ? ", positive" : "");
        check_knots(g, path, options, what);
        if (positive)
          continue;
        std::vector<Index> all;
        for (Index j = 0; j < g.p; ++j)
          all.push_back(j);
        const Numbers expected = fitted(g, all);
        const double *end = path.weights().data() + path.weights().size() - index(g.p);
        for (Index j = 0; j < g.p; ++j)
          check_close(end[j], expected[index(j)], 1e-9, what + ": the end is least squares");
      }
}

// R and Q'y of the columns, from X'X = R'R.
void triangle(const Products &g, Numbers &R, Numbers &z, double &rest) {
  R.assign(index(g.p * g.p), 0.0), z.assign(index(g.p), 0.0);
  rest = g.yy;
  for (Index i = 0; i < g.p; ++i) {
    for (Index j = i; j < g.p; ++j) {
      double sum = g.product(i, j);
      for (Index k = 0; k < i; ++k)
        sum -= R[index(k * g.p + i)] * R[index(k * g.p + j)];
      R[index(i * g.p + j)] = i == j ? std::sqrt(sum) : sum / R[index(i * g.p + i)];
    }
    double sum = g.c[index(i)];
    for (Index k = 0; k < i; ++k)
      sum -= R[index(k * g.p + i)] * z[index(k)];
    z[index(i)] = sum / R[index(i * g.p + i)];
    rest -= z[index(i)] * z[index(i)];
  }
}

void test_leaps_and_bounds() {
  for (const unsigned seed : {1u, 2u, 3u}) {
    const Products g(30, 8, seed);
    Numbers R, z, best(index(g.p + 1), 1e300);
    double rest = 0.0;
    triangle(g, R, z, rest);
    std::vector<std::uint64_t> which(index(g.p + 1));
    for (std::uint64_t bits = 0; bits < (1u << g.p); ++bits) {
      std::vector<Index> some;
      for (Index j = 0; j < g.p; ++j)
        if (bits >> j & 1u)
          some.push_back(j);
      if (const double left = left_by(g, some); left < best[some.size()])
        best[some.size()] = left, which[some.size()] = bits;
    }
    const std::function<bool()> should_continue = [] { return true; };
    const std::int64_t most = 1000000;
    const BestSubsets best_subsets = LeapsAndBounds(R, z, rest, g.p, should_continue).run();
    check(best_subsets.complete, "the search is complete");
    for (std::size_t k = 0; k < best.size(); ++k) {
      check(best_subsets.columns[k] == which[k], "the best " + std::to_string(k) + " columns");
      check_close(best_subsets.rss[k], best[k], 1e-10, "their sum of squares");
      const Index size = static_cast<Index>(k);
      check_close(SubsetVerifier(R, z, rest, size, best[k] + 1.0, most).run().smallest, best[k], 1e-10,
                  "proof, best_subsets");
      const double below = best[k] - 1e-6;
      check(SubsetVerifier(R, z, rest, size, below, most).run().smallest == below, "proof, none is better");
    }
  }
}

} // namespace

int main() {
  test_cholesky();
  test_lars();
  test_leaps_and_bounds();
  return result();
}
