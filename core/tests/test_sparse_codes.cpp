// The Lasso of many rows: correlations at the minimum balance the penalty, whatever the start, the dependence of atoms,
// the instruction set and the threads; non-negative least squares; pursuits; atoms in the unit ball.
#include "check.hpp"

#include "tenfold/nnls_rows.hpp"
#include "tenfold/sparse_codes.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

constexpr Index n = 150, p = 9;

struct Problem {
  Index k;
  std::vector<double> D, X, A, C;
};

// Atoms, the last one the sum of the first two, and their products.
Problem make(Index k) {
  Problem one{k, normal(at(k * p), 1), normal(at(n * p), 2), std::vector<double>(at(k * k)),
              std::vector<double>(at(n * k))};
  for (Index j = 0; j < p; ++j)
    one.D[at((k - 1) * p + j)] = one.D[at(j)] + one.D[at(p + j)];
  for (Index r = 0; r < k; ++r)
    for (Index j = 0; j < p; ++j) {
      for (Index s = 0; s < k; ++s)
        one.A[at(r * k + s)] += one.D[at(r * p + j)] * one.D[at(s * p + j)];
      for (Index i = 0; i < n; ++i)
        one.C[at(i * k + r)] += one.D[at(r * p + j)] * one.X[at(i * p + j)];
    }
  return one;
}

void check_balance(const Problem &one, const std::vector<double> &W, double alpha, bool positive,
                   const std::string &words) {
  for (Index i = 0; i < n; ++i)
    for (Index r = 0; r < one.k; ++r) {
      double rest = one.C[at(i * one.k + r)];
      for (Index s = 0; s < one.k; ++s)
        rest -= one.A[at(r * one.k + s)] * W[at(i * one.k + s)];
      const double w = W[at(i * one.k + r)];
      if (w != 0.0)
        check_close(rest, w > 0.0 ? alpha : -alpha, 1e-9, words + ": the correlation of a weight");
      else
        check((positive ? rest : std::abs(rest)) <= alpha + 1e-9, words + ": a weight that is zero is held back");
      check(!positive || w >= 0.0, words + ": weights are not negative");
    }
}

void test_lasso(Index k, const std::string &isa) {
  const Problem one = make(k);
  for (const double alpha : {2.0, 0.1, 1e-4})
    for (const bool positive : {false, true})
      for (const Index sweeps : {Index{0}, Index{8}}) {
        std::vector<double> W(at(n * k)), warm = normal(at(n * k), 3);
        lasso_codes(one.A, one.C, W, k, {alpha, positive}, sweeps, 1);
        check_balance(one, W, alpha, positive, isa);
        std::vector<double> threaded(at(n * k));
        lasso_codes(one.A, one.C, threaded, k, {alpha, positive}, sweeps, 3);
        check(W == threaded, isa + ": codes have the same bits for all threads");
        lasso_codes(one.A, one.C, warm, k, {alpha, positive}, sweeps, 1);
        check_balance(one, warm, alpha, positive, isa + ", from a start");
      }
  std::vector<double> W(at(n * k));
  solve_nnls(one.A, one.C, W, k, 4, 2);
  check_balance(one, W, 0.0, true, isa + ", without a penalty");
}

void test_pursuit_and_atoms(const std::string &isa) {
  const Problem one = make(6);
  std::vector<double> W(at(n * 6)), D = one.D;
  pursuit_codes(one.A, one.C, W, 6, 3, 2);
  for (Index i = 0; i < n; ++i) {
    Index used = 0;
    for (Index r = 0; r < 6; ++r)
      if (const double w = W[at(i * 6 + r)]; w != 0.0) {
        ++used;
        double rest = one.C[at(i * 6 + r)];
        for (Index s = 0; s < 6; ++s)
          rest -= one.A[at(r * 6 + s)] * W[at(i * 6 + s)];
        check_close(rest, 0.0, 1e-9, isa + ": least squares on the atoms of a pursuit");
      }
    check(used == 3, isa + ": as many atoms as asked for");
  }
  std::vector<double> A(36), B(at(6 * p));
  for (Index i = 0; i < n; ++i)
    for (Index r = 0; r < 6; ++r) {
      for (Index s = 0; s < 6; ++s)
        A[at(r * 6 + s)] += W[at(i * 6 + r)] * W[at(i * 6 + s)];
      for (Index j = 0; j < p; ++j)
        B[at(r * p + j)] += W[at(i * 6 + r)] * one.X[at(i * p + j)];
    }
  update_atoms(A, B, D, 6, p, true, 4);
  for (Index r = 0; r < 6; ++r) {
    double square = 0.0;
    for (Index j = 0; j < p; ++j) {
      check(D[at(r * p + j)] >= 0.0, isa + ": atoms are not negative");
      square += D[at(r * p + j)] * D[at(r * p + j)];
    }
    check(square <= 1.0 + 1e-12, isa + ": atoms are in the unit ball");
  }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const Index k : {3, 6, 20})
      test_lasso(k, isa);
    test_pursuit_and_atoms(isa);
  });
  return result();
}
