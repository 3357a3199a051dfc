// Tiles of pairs: for queries q_i and stored samples x_j
//   values_ij = f(g(x_j, q_i)),   then a reduction over j,
// with g an inner product or a distance and f an elementwise function. A tile of a few queries and a few hundred
// samples stays in the first-level cache between g, f and the reduction; nothing of size queries x samples is stored
// unless the reduction writes it out. Three concepts:
//
// Pairs      g: samples(), tile_queries, tile_samples(), a Workspace, start(workspace, first, count) for the queries of
//            a tile, and fill(workspace, begin, count, out, stride) for their values with some samples. DirectPairs
//            takes any distance pair by pair, ProductPairs multiplies packed panels in float64 (gemm_panel.hpp);
//            EntryPairs and SinglePairs are in pair_blocks.hpp.
// Function   f: operator()(values, count) in place: PairFunction (isa_kernels.hpp), or IdentityFunction.
// Reduction  make() and start(state, query) prepare the state of a query, add(state, tile) takes a part of a row, and
//            finish(state, query) writes the result. BlockWriter and WeightedSums are here; top-k and radius in
//            topk.hpp, sums of density kernels in kde.hpp, the largest two in kmeans_assign_float64.hpp.
//
// A query is one item of one thread and its samples come in order, so bits do not depend on the threads.
// Loops that compare at once, without a tile, stay apart where they are faster: knn_brute.hpp, the float32 filter of
// knn_gemm.hpp and the nearest centre of nearest_centre_float32.hpp.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace tenfold {

// Queries begin, ..., end - 1, and the sample that each of them is (or -1), which does not count; empty: none is.
struct Queries {
  Index begin;
  Index end;
  std::span<const std::int64_t> own;

  Index self(Index query) const { return own.empty() ? -1 : own[static_cast<std::size_t>(query)]; }
};

// A part of the row of one query: values[j] belongs to sample first + j. A reduction may change values, and use
// scratch, which is as long.
struct TileRow {
  Index query, self, first, count;
  double *values, *scratch;
};

struct IdentityFunction {
  void operator()(double *, Index) const {}
};

// Any distance(sample, query), pair by pair.
template <class Distance> class DirectPairs {
public:
  static constexpr Index tile_queries = 8;
  struct Workspace {
    explicit Workspace(const DirectPairs &) {}
    Index first = 0, count = 0;
  };

  DirectPairs(const Distance &distance, Index samples) : distance_(distance), samples_(samples) {}

  Index samples() const { return samples_; }
  Index tile_samples() const { return 128; } // of 16 features in float64: 16 KiB
  void start(Workspace &work, Index first, Index count) const { work.first = first, work.count = count; }
  void fill(const Workspace &work, Index begin, Index count, double *out, Index stride) const {
    for (Index i = 0; i < work.count; ++i)
      for (Index j = 0; j < count; ++j)
        out[i * stride + j] = distance_(begin + j, work.first + i);
  }

private:
  const Distance &distance_;
  Index samples_;
};

enum class ProductBase : int {
  inner,  // x.q
  score,  // (x - c).(q - c) - ||x - c||^2 / 2: the larger, the nearer is x
  squares // ||x - q||^2
};

// Products in float64 of dense samples, packed once in panels about a centre c, and queries. Of a squared distance
// formed by ||x - c||^2 + ||q - c||^2 - 2 (x - c).(q - c) at most (d + 8) 2^-53 of the sum of the squares is rounding;
// where it is below 2^-8 of that sum it is formed again by differences, so that every squared distance has a relative
// error of at most (d + 8) 2^-45, and that of equal points is zero.
// Flops: 2 d a pair. Memory: the samples once more in float64.
template <class X, class Q> class ProductPairs {
public:
  static constexpr Index tile_queries = 32;
  struct Workspace {
    explicit Workspace(const ProductPairs &pairs) : centred(tile_queries * pairs.q_.columns), squares(tile_queries) {}
    Buffer centred, squares; // (tile_queries, d), and squared lengths
    Index first = 0, count = 0;
  };

  // x and q must outlive this; the centre is copied.
  ProductPairs(Dense<X> x, Dense<Q> q, ProductBase base, std::span<const double> centre, int threads)
      : x_(x), q_(q), base_(base), side_(kernels().panel), panels_((x.rows + side_ - 1) / side_),
        stride_((x.columns + 3) * side_), centre_(centre.begin(), centre.end()), squares_(x.rows),
        packed_(panels_ * stride_) {
    parallel(panels_, x.rows * x.columns < 4096 ? 1 : threads, [&](Index panel, int) {
      for (Index j = panel * side_; j < std::min(x.rows, (panel + 1) * side_); ++j) {
        double *to = packed_.data() + panel * stride_ + j % side_;
        double square = 0.0;
        for (Index c = 0; c < x.columns; ++c) {
          const double value = static_cast<double>(x.data[j * x.columns + c]) - centre_[static_cast<std::size_t>(c)];
          to[c * side_] = value;
          square += value * value;
        }
        squares_[j] = square;
      }
    });
  }

  Index samples() const { return x_.rows; }
  Index queries() const { return q_.rows; }
  Index tile_samples() const { return std::min(panels_, tile_panels) * side_; }
  // the packed samples about the centre, from a sample that begins a panel
  const double *panels(Index begin) const { return packed_.data() + begin / side_ * stride_; }
  Index stride() const { return stride_; }
  // ||x_j - c||^2
  double square(Index sample) const { return squares_[sample]; }

  void start(Workspace &work, Index first, Index count) const {
    work.first = first, work.count = count;
    for (Index i = 0; i < count; ++i) {
      double *to = work.centred.data() + i * q_.columns;
      kernels().dense<Q>().centre_row(q_.data + (first + i) * q_.columns, centre_.data(), q_.columns, to);
      work.squares[i] = kernels().f64.squared_norm(to, q_.columns);
    }
  }
  void fill(const Workspace &work, Index begin, Index count, double *out, Index stride) const {
    const Index panel = begin / side_, some = (count + side_ - 1) / side_;
    kernels().gemm_panel(work.centred.data(), q_.columns, work.count, q_.columns, packed_.data() + panel * stride_,
                         stride_, some, false, out, stride);
    if (base_ == ProductBase::inner)
      return;
    for (Index i = 0; i < work.count; ++i) {
      if (base_ == ProductBase::score)
        subtract_half(begin, count, out + i * stride);
      else
        form_squares(work, i, begin, count, out + i * stride);
    }
  }

private:
  static constexpr Index tile_panels = 16;    // with 8 lanes and 32 queries a tile of 32 KiB
  static constexpr double cancelled = 0x1p-8; // below this part of the squares a distance is formed by differences

  void subtract_half(Index begin, Index count, double *out) const {
    const double *squares = squares_.data() + begin;
    for (Index j = 0; j < count; ++j)
      out[j] -= 0.5 * squares[j];
  }
  void form_squares(const Workspace &work, Index i, Index begin, Index count, double *out) const {
    const double *squares = squares_.data() + begin, own = work.squares[i];
    if (kernels().f64.form_squares(out, squares, own, count, cancelled)) // NaN, too: something overflowed
      for (Index j = 0; j < count; ++j)
        if (!(out[j] >= cancelled * (squares[j] + own)))
          out[j] = difference(begin + j, work.first + i);
  }
  double difference(Index sample, Index query) const {
    const X *x = x_.data + sample * x_.columns;
    const Q *q = q_.data + query * x_.columns;
    if constexpr (std::is_same_v<Q, double>)
      return kernels().dense<X>().square_distance(x, q, x_.columns);
    else if constexpr (std::is_same_v<X, double>)
      return kernels().dense<Q>().square_distance(q, x, x_.columns);
    double sum = 0.0;
    for (Index c = 0; c < x_.columns; ++c)
      sum += (static_cast<double>(x[c]) - static_cast<double>(q[c])) *
             (static_cast<double>(x[c]) - static_cast<double>(q[c]));
    return sum;
  }

  Dense<X> x_;
  Dense<Q> q_;
  ProductBase base_;
  Index side_, panels_, stride_;
  Weights centre_;
  Buffer squares_, packed_;
};

// The mean of the samples.
template <class T> std::vector<double> mean_of(const Dense<T> &x) {
  std::vector<double> mean(static_cast<std::size_t>(x.columns));
  for (Index i = 0; i < x.rows; ++i)
    kernels().dense<T>().axpy(1.0 / static_cast<double>(x.rows), x.data + i * x.columns, x.columns, mean.data());
  return mean;
}

// What one worker has: a tile, and as much as one of its rows again.
template <class Pairs> struct TileBuffers {
  explicit TileBuffers(const Pairs &pairs)
      : values(Pairs::tile_queries * pairs.tile_samples()), scratch(pairs.tile_samples()), work(pairs) {}
  Buffer values, scratch;
  typename Pairs::Workspace work;
};

// At most tile_queries queries, one tile of samples after the other.
template <class Pairs, class Function, class Reduction, class State>
void reduce_tiles(const Pairs &pairs, const Function &function, const Queries &queries, Reduction &reduction,
                  TileBuffers<Pairs> &buffers, std::vector<State> &states) {
  const Index count = queries.end - queries.begin, stride = pairs.tile_samples(), samples = pairs.samples();
  while (static_cast<Index>(states.size()) < count)
    states.push_back(reduction.make());
  const auto state = [&](Index i) -> State & { return states[static_cast<std::size_t>(i)]; };
  for (Index i = 0; i < count; ++i)
    reduction.start(state(i), queries.begin + i);
  pairs.start(buffers.work, queries.begin, count);
  for (Index begin = 0; begin < samples; begin += stride) {
    const Index some = std::min(stride, samples - begin);
    pairs.fill(buffers.work, begin, some, buffers.values.data(), stride);
    for (Index i = 0; i < count; ++i) {
      double *values = buffers.values.data() + i * stride;
      function(values, some);
      const Index query = queries.begin + i;
      reduction.add(state(i), TileRow{query, queries.self(query), begin, some, values, buffers.scratch.data()});
    }
  }
  for (Index i = 0; i < count; ++i)
    reduction.finish(state(i), queries.begin + i);
}

template <class Pairs, class Function, class Reduction>
void pairwise(const Pairs &pairs, const Function &function, const Queries &queries, Reduction &reduction, int threads) {
  using State = std::remove_cvref_t<decltype(reduction.make())>;
  constexpr Index together = Pairs::tile_queries;
  const Index items = (queries.end - queries.begin + together - 1) / together;
  parallel(items, threads, [&](Index item, int) {
    TileBuffers<Pairs> buffers(pairs);
    std::vector<State> states;
    const Index first = queries.begin + item * together;
    const Queries some{first, std::min(queries.end, first + together), queries.own};
    reduce_tiles(pairs, function, some, reduction, buffers, states);
  });
}

// All values, (queries x samples).
struct BlockWriter {
  struct State {};
  double *out;
  Index samples;

  State make() const { return {}; }
  void start(State &, Index) const {}
  void add(State &, const TileRow &row) const {
    std::copy_n(row.values, row.count, out + row.query * samples + row.first);
  }
  void finish(State &, Index) const {}
};

// sum_j values_ij v_jt, (queries x targets), with v given as targets x samples.
struct WeightedSums {
  using State = std::vector<double>;
  Dense<double> vectors;
  double *out;

  State make() const { return State(static_cast<std::size_t>(vectors.rows)); }
  void start(State &sums, Index) const { std::fill(sums.begin(), sums.end(), 0.0); }
  void add(State &sums, const TileRow &row) const {
    for (Index t = 0; t < vectors.rows; ++t)
      sums[static_cast<std::size_t>(t)] +=
          kernels().f64.dot(row.values, vectors.data + t * vectors.columns + row.first, row.count);
  }
  void finish(State &sums, Index query) const { std::copy(sums.begin(), sums.end(), out + query * vectors.rows); }
};

} // namespace tenfold
