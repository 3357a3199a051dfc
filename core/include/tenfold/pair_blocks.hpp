// Blocks of kernels: K_ij = f(g(x_j, q_i)), written out; of k(X, X) the half above the diagonal is evaluated and
// mirrored. And sums of W_ij f(g(x_j, q_i)), or of its moments, over a block of weights W: gradients of kernels.
//
// Flops of a pair: 2 d for the product, and those of f (pair_functions.hpp); bytes: the 8 or 4 of K_ij, written once
// and brought to the cache once, as nothing of the size of K is kept beside it. At d = 50 and f an exponential both are
// near 100 flops and 16 bytes, so that one core is bound by neither alone; k(X, X) needs half of the flops.
//
// Pairs (pairwise.hpp): ProductPairs in float64, and here
// EntryPairs    sums or products over the features (pair_entries.hpp), in float64
// SinglePairs   products in float32 of samples about a centre, with twice the lanes. Of a squared distance at most
//               (d + 8) 2^-24 of ||x - c||^2 + ||q - c||^2 is rounding; below 2^-6 of that sum it is formed by
//               differences in float64.
//
// A tile of queries is one item of one thread, and items are added in their order: bits do not depend on the threads.
#pragma once

#include "tenfold/pairwise.hpp"

namespace tenfold {

template <class X, class Q> class EntryPairs {
public:
  using Value = double;
  static constexpr Index tile_queries = 32;
  struct Workspace {
    explicit Workspace(const EntryPairs &pairs) : queries(tile_queries * pairs.q_.columns) {}
    Buffer queries;
    Index count = 0;
  };

  EntryPairs(Dense<X> x, Dense<Q> q, PairEntries kind, int threads)
      : x_(x), q_(q), kind_(kind), side_(kernels().panel), panels_((x.rows + side_ - 1) / side_),
        stride_((x.columns + 3) * side_), packed_(panels_ * stride_) {
    parallel(panels_, x.rows * x.columns < 4096 ? 1 : threads, [&](Index panel, int) {
      for (Index j = panel * side_; j < std::min(x.rows, (panel + 1) * side_); ++j)
        for (Index c = 0; c < x.columns; ++c)
          packed_[panel * stride_ + c * side_ + j % side_] = static_cast<double>(x.data[j * x.columns + c]);
    });
  }

  Index samples() const { return x_.rows; }
  Index queries() const { return q_.rows; }
  Index tile_samples() const { return std::min(panels_, tile_panels) * side_; }
  void start(Workspace &work, Index first, Index count) const {
    work.count = count;
    std::copy_n(q_.data + first * q_.columns, count * q_.columns, work.queries.data());
  }
  void fill(const Workspace &work, Index begin, Index count, double *out, Index stride) const {
    kernels().pair_entries(kind_, work.queries.data(), q_.columns, work.count, q_.columns,
                           packed_.data() + begin / side_ * stride_, stride_, (count + side_ - 1) / side_, out, stride);
  }

private:
  static constexpr Index tile_panels = 16;

  Dense<X> x_;
  Dense<Q> q_;
  PairEntries kind_;
  Index side_, panels_, stride_;
  Buffer packed_;
};

using Singles = std::vector<float, CacheLineAllocator<float>>;

template <class X, class Q> class SinglePairs {
public:
  using Value = float;
  static constexpr Index tile_queries = 64;
  struct Workspace {
    explicit Workspace(const SinglePairs &pairs)
        : centred(static_cast<std::size_t>(tile_queries * pairs.q_.columns)), squares(tile_queries) {}
    Singles centred, squares;
    Index first = 0, count = 0;
  };

  // x and q must outlive this; the centre is copied.
  SinglePairs(Dense<X> x, Dense<Q> q, ProductBase base, std::span<const double> centre, int threads)
      : x_(x), q_(q), base_(base), side_(4 * kernels().singles), slabs_((x.rows + side_ - 1) / side_),
        centre_(centre.begin(), centre.end()), squares_(static_cast<std::size_t>(slabs_ * side_)),
        packed_(static_cast<std::size_t>(slabs_ * side_ * x.columns)) {
    parallel(slabs_, x.rows * x.columns < 4096 ? 1 : threads, [&](Index slab, int) {
      for (Index j = slab * side_; j < std::min(x.rows, (slab + 1) * side_); ++j)
        squares_[static_cast<std::size_t>(j)] = centre_row(
            x_.data + j * x_.columns, x_.columns, packed_.data() + slab * side_ * x.columns + j % side_, side_);
    });
  }

  Index samples() const { return x_.rows; }
  Index queries() const { return q_.rows; }
  Index tile_samples() const { return std::min(slabs_ * side_, std::max(side_, tile_values / tile_queries)); }
  void start(Workspace &work, Index first, Index count) const {
    work.first = first, work.count = count;
    for (Index i = 0; i < count; ++i)
      work.squares[static_cast<std::size_t>(i)] =
          centre_row(q_.data + (first + i) * q_.columns, q_.columns, work.centred.data() + i * q_.columns, 1);
  }
  void fill(const Workspace &work, Index begin, Index count, float *out, Index stride) const {
    const Index columns = x_.columns, groups = side_ / kernels().singles;
    for (Index j = 0; j < count; j += side_) {
      for (Index i = 0; i < work.count; ++i)
        std::fill_n(out + i * stride + j, side_, 0.0F);
      kernels().sgemm_tile(work.centred.data(), columns, 1, work.count, columns, packed_.data() + (begin + j) * columns,
                           side_, groups, out + j, stride);
    }
    if (base_ == ProductBase::inner)
      return;
    for (Index i = 0; i < work.count; ++i)
      form_squares(work, i, begin, count, out + i * stride);
  }

private:
  static constexpr Index tile_values = 1 << 14; // 64 KiB
  static constexpr float cancelled = 0x1p-6F;   // below this part of the squares a distance is formed by differences

  // Writes x - c, the next entry `step` further, and returns its squared length.
  template <class T> float centre_row(const T *x, Index columns, float *to, Index step) const {
    double square = 0.0;
    for (Index c = 0; c < columns; ++c) {
      const double value = static_cast<double>(x[c]) - centre_[static_cast<std::size_t>(c)];
      to[c * step] = static_cast<float>(value);
      square += value * value;
    }
    return static_cast<float>(square);
  }
  void form_squares(const Workspace &work, Index i, Index begin, Index count, float *out) const {
    const float *squares = squares_.data() + begin, own = work.squares[static_cast<std::size_t>(i)];
    if (!kernels().f32.form_squares(out, squares, own, count, cancelled))
      return;
    const Q *q = q_.data + (work.first + i) * q_.columns;
    for (Index j = 0; j < count; ++j)
      if (!(out[j] >= cancelled * (squares[j] + own))) {
        const X *x = x_.data + (begin + j) * x_.columns;
        double sum = 0.0;
        for (Index c = 0; c < x_.columns; ++c) {
          const double away = static_cast<double>(x[c]) - static_cast<double>(q[c]);
          sum += away * away;
        }
        out[j] = static_cast<float>(sum);
      }
  }

  Dense<X> x_;
  Dense<Q> q_;
  ProductBase base_;
  Index side_, slabs_;
  Weights centre_;
  Singles squares_, packed_;
};

// The type of the values of tiles.
template <class Pairs> struct ValueOf {
  using Type = double;
};
template <class X, class Q> struct ValueOf<SinglePairs<X, Q>> {
  using Type = float;
};

// A tile whose rows are a few cache lines longer than a power of two: they fall into different sets of the cache.
template <class Pairs> class PairTile {
public:
  using Value = typename ValueOf<Pairs>::Type;

  explicit PairTile(const Pairs &pairs)
      : stride_(pairs.tile_samples() + 16), values_(static_cast<std::size_t>(Pairs::tile_queries * stride_)),
        work_(pairs) {}
  Index stride() const { return stride_; }
  Value *row(Index i) { return values_.data() + i * stride_; }
  typename Pairs::Workspace &work() { return work_; }

private:
  Index stride_;
  std::vector<Value, CacheLineAllocator<Value>> values_;
  typename Pairs::Workspace work_;
};

// Columns from which the tile of queries that begins at `first` is evaluated; out is the whole block.
template <class Pairs, class T> class BlockOut {
public:
  BlockOut(const Pairs &pairs, T *out, bool symmetric) : n_(pairs.samples()), out_(out), symmetric_(symmetric) {}

  Index begin(Index first) const { return symmetric_ ? first : 0; }

  // Writes `some` columns from column b of rows first, ..., first + count - 1, and mirrors those beyond the diagonal.
  void write(PairTile<Pairs> &tile, Index first, Index count, Index b, Index some) const {
    if (symmetric_ && b == first)
      for (Index i = 0; i < count; ++i)
        for (Index j = 0; j < std::min(i, some); ++j)
          tile.row(i)[j] = tile.row(j)[i];
    for (Index i = 0; i < count; ++i) {
      T *to = out_ + (first + i) * n_ + b;
      const auto *from = tile.row(i);
      for (Index j = 0; j < some; ++j)
        to[j] = static_cast<T>(from[j]);
    }
    const Index mirrored = b == first ? std::min(count, some) : 0;
    if (!symmetric_ || mirrored == some)
      return;
    if constexpr (std::is_same_v<T, typename PairTile<Pairs>::Value>)
      kernels().template dense<T>().transpose_tile(tile.row(0) + mirrored, tile.stride(), count, some - mirrored,
                                                   out_ + (b + mirrored) * n_ + first, n_);
    else
      for (Index j = mirrored; j < some; ++j)
        for (Index i = 0; i < count; ++i)
          out_[(b + j) * n_ + first + i] = static_cast<T>(tile.row(i)[j]);
  }

private:
  Index n_;
  T *out_;
  bool symmetric_;
};

// All values of some queries, (queries x samples); symmetric: the queries are the samples, and `some` begins at a whole
// number of tiles.
template <class Pairs, class T>
void pair_block(const Pairs &pairs, const PairFunction &function, const Queries &some, bool symmetric, T *out,
                int threads) {
  constexpr Index together = Pairs::tile_queries;
  const Index n = pairs.samples(), items = (some.end - some.begin + together - 1) / together;
  const BlockOut<Pairs, T> block(pairs, out, symmetric);
  parallel(items, threads, [&](Index item, int) {
    PairTile<Pairs> tile(pairs);
    const Index first = some.begin + item * together, count = std::min(some.end - first, together);
    const Index width = pairs.tile_samples();
    pairs.start(tile.work(), first, count);
    for (Index b = block.begin(first); b < n; b += width) {
      const Index columns = std::min(width, n - b);
      pairs.fill(tile.work(), b, columns, tile.row(0), tile.stride());
      for (Index i = 0; i < count; ++i)
        function(tile.row(i), columns);
      block.write(tile, first, count, b, columns);
    }
  });
}

enum class PairMoment : int {
  zeroth,  // sum_ij W_ij f(v_ij)
  first,   // sum_ij W_ij f(v_ij) v_ij
  features // for each feature c: sum_ij W_ij f(v_ij) (x_jc - q_ic)^2
};

// Sums over a block of weights W (queries x samples, leading dimension w_step) of f at squared distances.
template <class X, class Q>
std::vector<double> pair_gradient(const ProductPairs<X, Q> &pairs, const PairFunction &function, PairMoment moment,
                                  const double *W, Index w_step, Index columns, int threads) {
  using Pairs = ProductPairs<X, Q>;
  constexpr Index together = Pairs::tile_queries;
  const Index n = pairs.samples(), m = pairs.queries(), items = (m + together - 1) / together;
  const Index size = moment == PairMoment::features ? columns : 1, step = (size + 7) / 8 * 8;
  Buffer sums(items * step);
  parallel(items, threads, [&](Index item, int) {
    PairTile<Pairs> tile(pairs), slope(pairs);
    const Index first = item * together, count = std::min(m - first, together), width = pairs.tile_samples();
    double *to = sums.data() + item * step;
    pairs.start(tile.work(), first, count);
    for (Index b = 0; b < n; b += width) {
      const Index some = std::min(width, n - b),
                  whole = (some + kernels().panel - 1) / kernels().panel * kernels().panel;
      pairs.fill(tile.work(), b, some, tile.row(0), tile.stride());
      for (Index i = 0; i < count; ++i) {
        double *v = tile.row(i), *f = slope.row(i);
        const double *w = W + (first + i) * w_step + b;
        std::copy_n(v, some, f);
        function(f, some);
        if (moment == PairMoment::zeroth)
          to[0] += kernels().f64.dot(f, w, some);
        else {
          for (Index j = 0; j < some; ++j)
            f[j] *= w[j];
          if (moment == PairMoment::first)
            to[0] += kernels().f64.dot(f, v, some);
        }
        std::fill(f + some, f + whole, 0.0);
      }
      if (moment == PairMoment::features)
        kernels().pair_moments(slope.row(0), slope.stride(), tile.work().centred.data(), columns, count, columns,
                               pairs.panels(b), pairs.stride(), whole / kernels().panel, to);
    }
  });
  std::vector<double> total(static_cast<std::size_t>(size));
  for (Index item = 0; item < items; ++item)
    for (Index c = 0; c < size; ++c)
      total[static_cast<std::size_t>(c)] += sums[item * step + c];
  return total;
}

} // namespace tenfold
