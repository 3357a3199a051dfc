#include "bindings.hpp"

#include "tenfold/pairwise.hpp"
#include "tenfold/poll.hpp"

namespace tenfold {
namespace {

constexpr double FLOPS_BETWEEN_SIGNALS = 1e10; // a few seconds

// Calls reduce(queries) for pieces of the queries; after each Python may look for signals.
template <class Reduce> void in_pieces(Index queries, double flops_a_query, const Reduce &reduce) {
  const Index piece = static_cast<Index>(std::clamp(FLOPS_BETWEEN_SIGNALS / flops_a_query, 64.0, 1e9));
  for (Index begin = 0; begin < queries; begin += piece) {
    {
      const nb::gil_scoped_release release;
      reduce(Queries{begin, std::min(queries, begin + piece), {}});
    }
    poll();
  }
}

struct Kernel {
  int base, function;
  double gamma, offset, degree;

  ProductBase product() const {
    require(base == 0 || base == 1, "base must be 0, inner products, or 1, squared distances");
    return base == 0 ? ProductBase::inner : ProductBase::squares;
  }
  PairFunction elementwise() const {
    require(function >= PairFunction::identity && function <= PairFunction::tangent, "no such function of a pair");
    return {static_cast<PairFunction::Kind>(function), gamma, offset, degree};
  }
};

// Reduces the tiles of samples X and queries Q.
template <class T, class Reduction>
void reduce(const In<T, 2> &X, const In<double, 2> &Q, const Kernel &kernel, int threads, Reduction &reduction) {
  require(X.shape(1) == Q.shape(1) && X.shape(1) >= 1, "samples and queries must have the same features");
  const Dense<T> x{X.data(), X.shape(0), X.shape(1)};
  const Dense<double> q{Q.data(), Q.shape(0), Q.shape(1)};
  const ProductBase base = kernel.product();
  const PairFunction function = kernel.elementwise();
  const int workers = checked_threads(threads);
  std::optional<ProductPairs<T, double>> pairs;
  {
    const nb::gil_scoped_release release;
    const std::vector<double> origin(static_cast<std::size_t>(x.columns));
    pairs.emplace(x, q, base, base == ProductBase::inner ? origin : mean_of(x), workers);
  }
  in_pieces(q.rows, 2.0 * static_cast<double>(x.rows * (x.columns + 16)),
            [&](const Queries &some) { pairwise(*pairs, function, some, reduction, workers); });
}

template <class T> void bind_samples(nb::module_ &m) {
  m.def(
      "pairwise_block",
      [](const In<T, 2> &X, const In<double, 2> &Q, int base, int function, double gamma, double offset, double degree,
         int threads) {
        const Out<double, 2> out({Q.shape(0), X.shape(0)});
        BlockWriter writer{out.span().data(), X.shape(0)};
        reduce(X, Q, {base, function, gamma, offset, degree}, threads, writer);
        return out.give();
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("base"), nb::arg("function"), nb::arg("gamma"), nb::arg("offset"),
      nb::arg("degree"), nb::arg("threads"), "A function of all pairs of queries and samples: (queries, samples).");
  m.def(
      "pairwise_product",
      [](const In<T, 2> &X, const In<double, 2> &Q, const In<double, 2> &V, int base, int function, double gamma,
         double offset, double degree, int threads) {
        require(V.shape(1) == X.shape(0), "V must be (vectors, samples)");
        const Out<double, 2> out({Q.shape(0), V.shape(0)});
        WeightedSums sums{{V.data(), V.shape(0), V.shape(1)}, out.span().data()};
        reduce(X, Q, {base, function, gamma, offset, degree}, threads, sums);
        return out.give();
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("V"), nb::arg("base"), nb::arg("function"), nb::arg("gamma"),
      nb::arg("offset"), nb::arg("degree"), nb::arg("threads"),
      "Sums over the samples of a function of pairs times the vectors V (vectors, samples): (queries, vectors).");
}

} // namespace

void bind_pairwise(nb::module_ &m) {
  bind_samples<float>(m);
  bind_samples<double>(m);
}

} // namespace tenfold
