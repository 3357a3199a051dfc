#include "bindings.hpp"

#include "tenfold/pair_blocks.hpp"
#include "tenfold/poll.hpp"

namespace tenfold {
namespace {

constexpr double FLOPS_BETWEEN_SIGNALS = 1e10; // a few seconds

// Calls reduce(queries) for pieces of the queries, whole tiles; after each Python may look for signals.
template <class Reduce> void in_pieces(Index queries, double flops_a_query, const Reduce &reduce) {
  const Index piece = static_cast<Index>(std::clamp(FLOPS_BETWEEN_SIGNALS / flops_a_query, 64.0, 1e9)) / 64 * 64;
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
  double gamma, offset, degree, scale, shift;

  bool is_product() const { return base <= 1; }
  ProductBase product() const { return base == 0 ? ProductBase::inner : ProductBase::squares; }
  PairEntries entries() const {
    return base == 2 ? PairEntries::distances : base == 3 ? PairEntries::subsets : PairEntries::chi2;
  }
  PairFunction elementwise() const {
    require(base >= 0 && base <= 4, "base must be 0, inner products, 1, squared distances, or 2, 3, 4");
    require(function >= 0 && function < PairFunction::kinds, "no such function of a pair");
    return {static_cast<PairFunction::Kind>(function), gamma, offset, degree, scale, shift};
  }
};

template <class T> Dense<T> view(const In<T, 2> &X) { return {X.data(), X.shape(0), X.shape(1)}; }

// The centre of squared distances, zero for inner products.
template <class T> std::vector<double> centre_of(const Dense<T> &x, ProductBase base) {
  return base == ProductBase::inner ? std::vector<double>(static_cast<std::size_t>(x.columns)) : mean_of(x);
}

// Calls work(pairs, function, pieces) with the samples X packed for the queries Q; pieces(reduce) as in_pieces.
template <class T, class Q, class Work>
void with_pairs(const In<T, 2> &X, const In<Q, 2> &queries, const Kernel &kernel, int threads, const Work &work) {
  require(X.shape(1) == queries.shape(1) && X.shape(1) >= 1, "samples and queries must have the same features");
  const Dense<T> x = view(X);
  const Dense<Q> q = view(queries);
  const PairFunction function = kernel.elementwise();
  const double flops = 2.0 * static_cast<double>(x.rows * (x.columns + 16));
  const auto pieces = [&](const auto &reduce) { in_pieces(q.rows, flops, reduce); };
  const auto run = [&]<class Pairs>(const auto &...rest) {
    std::optional<Pairs> pairs;
    {
      const nb::gil_scoped_release release;
      pairs.emplace(x, q, rest..., threads);
    }
    work(*pairs, function, pieces);
  };
  if (kernel.is_product())
    run.template operator()<ProductPairs<T, Q>>(kernel.product(), centre_of(x, kernel.product()));
  else
    run.template operator()<EntryPairs<T, Q>>(kernel.entries());
}

template <class T, class Value>
Given<Value> block(const In<T, 2> &X, const Maybe<T, 2> &Q, const Kernel &kernel, bool singles, int threads) {
  const In<T, 2> &queries = Q ? *Q : X;
  const bool symmetric = !Q;
  const int workers = checked_threads(threads);
  const Out<Value, 2> out({queries.shape(0), X.shape(0)});
  const auto write = [&](const auto &pairs, const PairFunction &function, const auto &pieces) {
    pieces([&](const Queries &some) { pair_block(pairs, function, some, symmetric, out.span().data(), workers); });
  };
  if (!singles || !kernel.is_product()) {
    with_pairs(X, queries, kernel, workers, write);
    return out.give();
  }
  require(X.shape(1) == queries.shape(1) && X.shape(1) >= 1, "samples and queries must have the same features");
  const PairFunction function = kernel.elementwise();
  std::optional<SinglePairs<T, T>> pairs;
  {
    const nb::gil_scoped_release release;
    pairs.emplace(view(X), view(queries), kernel.product(), centre_of(view(X), kernel.product()), workers);
  }
  const double flops = static_cast<double>(X.shape(0) * (X.shape(1) + 16));
  write(*pairs, function, [&](const auto &reduce) { in_pieces(queries.shape(0), flops, reduce); });
  return out.give();
}

template <class T, class... Args> void bind_block(nb::module_ &m, const Args &...kernel) {
  m.def(
      "pairwise_block",
      [](const In<T, 2> &X, const Maybe<T, 2> &Q, int base, int function, double gamma, double offset, double degree,
         double scale, double shift, int threads) {
        return block<T, double>(X, Q, {base, function, gamma, offset, degree, scale, shift}, false, threads);
      },
      nb::arg("X"), nb::arg("Q").none(), kernel..., nb::arg("threads"),
      "A function of all pairs of queries and samples: (queries, samples); Q None: of samples and samples, symmetric.");
  m.def(
      "pairwise_block_float32",
      [](const In<T, 2> &X, const Maybe<T, 2> &Q, int base, int function, double gamma, double offset, double degree,
         double scale, double shift, int threads) {
        return block<T, float>(X, Q, {base, function, gamma, offset, degree, scale, shift}, true, threads);
      },
      nb::arg("X"), nb::arg("Q").none(), kernel..., nb::arg("threads"),
      "As pairwise_block, by products in float32 and rounded to it.");
}

template <class T> void bind_samples(nb::module_ &m) {
  const auto bind = [&m](const auto &...kernel) {
    bind_block<T>(m, kernel...);
    m.def(
        "pairwise_product",
        [](const In<T, 2> &X, const In<double, 2> &Q, const In<double, 2> &V, int base, int function, double gamma,
           double offset, double degree, double scale, double shift, int threads) {
          require(V.shape(1) == X.shape(0), "V must be (vectors, samples)");
          const Out<double, 2> out({Q.shape(0), V.shape(0)});
          WeightedSums sums{view(V), out.span().data()};
          const int workers = checked_threads(threads);
          with_pairs(X, Q, {base, function, gamma, offset, degree, scale, shift}, workers,
                     [&](const auto &pairs, const PairFunction &f, const auto &pieces) {
                       pieces([&](const Queries &some) { pairwise(pairs, f, some, sums, workers); });
                     });
          return out.give();
        },
        nb::arg("X"), nb::arg("Q"), nb::arg("V"), kernel..., nb::arg("threads"),
        "Sums over the samples of a function of pairs times the vectors V (vectors, samples): (queries, vectors).");
  };
  bind(nb::arg("base"), nb::arg("function"), nb::arg("gamma"), nb::arg("offset"), nb::arg("degree"), nb::arg("scale"),
       nb::arg("shift"));
}

void bind_gradient(nb::module_ &m) {
  m.def(
      "pairwise_gradient",
      [](const In<double, 2> &X, const In<double, 2> &Q, const In<double, 2> &W, int moment, int function, double gamma,
         double offset, double degree, double scale, double shift, int threads) {
        require(X.shape(1) == Q.shape(1) && X.shape(1) >= 1, "samples and queries must have the same features");
        require(W.shape(0) == Q.shape(0) && W.shape(1) == X.shape(0), "W must be (queries, samples)");
        require(moment >= 0 && moment <= 2, "moment must be 0, 1 or 2");
        const PairFunction f = Kernel{1, function, gamma, offset, degree, scale, shift}.elementwise();
        const int workers = checked_threads(threads);
        std::vector<double> sums;
        {
          const nb::gil_scoped_release release;
          const ProductPairs<double, double> pairs(view(X), view(Q), ProductBase::squares, mean_of(view(X)), workers);
          sums = pair_gradient(pairs, f, static_cast<PairMoment>(moment), W.data(), W.shape(1), X.shape(1), workers);
        }
        const Index size = static_cast<Index>(sums.size());
        return give(std::move(sums), Shape<1>{size});
      },
      nb::arg("X"), nb::arg("Q"), nb::arg("W"), nb::arg("moment"), nb::arg("function"), nb::arg("gamma"),
      nb::arg("offset"), nb::arg("degree"), nb::arg("scale"), nb::arg("shift"), nb::arg("threads"),
      "Sums of W (queries, samples) times a function of squared distances: times 1, the square, or the square of each "
      "feature's difference.");
}

} // namespace

void bind_pairwise(nb::module_ &m) {
  bind_samples<float>(m);
  bind_samples<double>(m);
  bind_gradient(m);
}

} // namespace tenfold
