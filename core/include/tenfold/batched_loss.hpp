// Value and gradient of the loss of many models on the same samples, each with weights of its own, in one pass: the
// folds and the penalties of a cross-validation.
//
// Given X (n x p), y (n), weights (or none), groups (n), share (groups x M), coef (M x K x p), intercept (M x K) and a
// shift of X (or none), with margins z_ik = (x_i - shift) . coef_mk + intercept_mk and weights w_i = weight_i share_gm,
// g the group of row i, returns for each model m
//   value = sum w loss(y, z)    slope_k = sum w dloss/dz_k    gradient_k = sum w dloss/dz_k (x - shift)     (order 1)
// The loss is logistic for K = 1, with y of -1 and +1, and the softmax for more, with y a class number.
// A tile of rows is multiplied with all models while it is in cache: margins and gradient are products of matrices.
// Dense rows come group by group, and are read only for the models that give them weight.
// Flops: 4 n p M K and n M K exponentials, n the rows with weight; bytes: X once.
#pragma once

#include "tenfold/packed_rhs.hpp"
#include "tenfold/row_groups.hpp"
#include "tenfold/tile_products.hpp"

#include <span>
#include <type_traits>
#include <vector>

namespace tenfold {

struct ModelSums {
  std::vector<double> value;    // (M)
  std::vector<double> slope;    // (M, K)
  std::vector<double> gradient; // (M, K, p), empty for order 0
};

// Empty weight: ones; empty shift: zeros; empty list: all rows in their order.
template <class Rows> struct BatchedLoss {
  const Rows &x;
  std::span<const double> y;
  std::span<const double> weight;
  std::span<const std::int32_t> group;
  std::span<const double> share;
  std::span<const double> coef;
  std::span<const double> intercept;
  std::span<const double> shift;
  Index models;
  Index classes;
  std::span<const Index> list = {};

  Index rows() const { return list.empty() ? x.rows : static_cast<Index>(list.size()); }
  Index row(Index i) const { return list.empty() ? i : list[static_cast<std::size_t>(i)]; }

  // Inside, targets are classes and, side by side in each, models; padded to whole vectors.
  Index side() const { return (models + lanes - 1) / lanes * lanes; }
  Index targets() const { return classes * side(); }
  Index target(Index model, Index k) const { return k * side() + model; }
};

struct ModelTile {
  ModelTile(Index rows, Index columns, Index targets, Index side)
      : x(rows * columns), z(rows * targets), u(rows * targets), factor(side) {}

  Buffer x, z, u, factor;
};

// The two products of a tile with all targets side by side.
template <class Rows> class ModelProducts;

template <class T> class ModelProducts<Dense<T>> {
public:
  ModelProducts(const BatchedLoss<Dense<T>> &in, const double *coef, const Blas &blas)
      : in_(in), blas_(blas), zero_(in.x.columns), factor_(coef, true, in.x.columns, in.targets()) {}

  // rows of a tile that stays in the second-level cache with its margins
  Index rows() const { return std::clamp<Index>(4096 / (in_.x.columns + in_.targets()) / 8 * 8, 16, 128); }
  Index columns() const { return in_.x.columns; }

  void forward(Index begin, Index count, ModelTile &tile) const {
    const Index p = in_.x.columns;
    const double *shift = in_.shift.empty() ? zero_.data() : in_.shift.data();
    for (Index i = 0; i < count; ++i)
      kernels().dense<T>().centre_row(in_.x.data + in_.row(begin + i) * p, shift, p, tile.x.data() + i * p);
    factor_.multiply(blas_, tile.x.data(), p, count, tile.z.data());
  }
  void backward(Index, Index count, const ModelTile &tile, double *g) const {
    const Index t = in_.targets();
    kernels().f64.matvec_t(tile.x.data(), count, in_.x.columns, tile.u.data(), t, t, 1, nullptr, g);
  }

private:
  const BatchedLoss<Dense<T>> &in_;
  const Blas &blas_;
  Buffer zero_;
  PackedRhs factor_;
};

template <class T, class I> class ModelProducts<Sparse<T, I>> {
public:
  ModelProducts(const BatchedLoss<Sparse<T, I>> &in, const double *coef, const Blas &)
      : in_(in), zero_(in.targets()),
        coef_(transpose_coef(in.x, {coef, static_cast<std::size_t>(in.targets() * in.x.columns)}, in.targets(), 1)) {}

  Index rows() const { return std::clamp<Index>(8192 / in_.targets() / 8 * 8, 16, 128); }
  Index columns() const { return 0; }

  void forward(Index begin, Index count, ModelTile &tile) const {
    const Index t = in_.targets();
    matvec_tile(in_.x, begin, count, coef_.data(), t, nullptr, zero_.data(), tile.z.data(), t, 1);
  }
  void backward(Index begin, Index count, const ModelTile &tile, double *g) const {
    const Index t = in_.targets();
    matvec_t_tile(in_.x, begin, count, tile.u.data(), t, t, 1, nullptr, g);
  }

private:
  const BatchedLoss<Sparse<T, I>> &in_;
  Buffer zero_;
  TransposedCoef coef_;
};

// Values (M, ...) or (M, K, ...) of `length` numbers each as targets inside, and back.
template <class Rows>
void to_targets(const BatchedLoss<Rows> &in, std::span<const double> from, Index length, double *to) {
  for (Index m = 0; m < in.models; ++m)
    for (Index k = 0; k < in.classes; ++k)
      std::copy_n(from.data() + (m * in.classes + k) * length, length, to + in.target(m, k) * length);
}
template <class Rows> std::vector<double> from_targets(const BatchedLoss<Rows> &in, const double *from, Index length) {
  std::vector<double> to(static_cast<std::size_t>(in.models * in.classes * length));
  for (Index m = 0; m < in.models; ++m)
    for (Index k = 0; k < in.classes; ++k)
      std::copy_n(from + in.target(m, k) * length, length, to.data() + (m * in.classes + k) * length);
  return to;
}

inline void check_groups(std::span<const std::int32_t> group, Index groups) {
  bool good = true;
  for (const std::int32_t g : group)
    good &= g >= 0 && g < groups;
  if (!good)
    throw std::invalid_argument("group numbers must be at least 0 and below the number of groups");
}

// The sums of all models over the rows of the list.
template <class Rows>
ModelSums loss_side_by_side(const BatchedLoss<Rows> &in, int order, const Blas &blas, int threads) {
  const Index n = in.rows(), p = in.x.columns, side = in.side(), t = in.targets(), M = in.models;
  const Index groups = static_cast<Index>(in.share.size()) / M;
  Buffer coef(t * p), intercept(t), share(groups * side);
  to_targets(in, in.coef, p, coef.data());
  to_targets(in, in.intercept, 1, intercept.data());
  for (Index g = 0; g < groups; ++g)
    std::copy_n(in.share.data() + g * M, M, share.data() + g * side);
  // a product of as many factors as a tile has rows, of at most as much as there are classes, is a number
  const bool plain = in.weight.empty() && in.classes <= 256 &&
                     std::all_of(in.share.begin(), in.share.end(), [](double s) { return s == 0.0 || s == 1.0; });
  const ModelProducts<Rows> products(in, coef.data(), blas);
  const ModelLoss loss = in.classes == 1 ? kernels().model_logistic : kernels().model_softmax;

  // Of each slot: value (side), slope (t), gradient (t p).
  const Index gradient_at = side + t, stride = gradient_at + (order >= 1 ? t * p : 0);
  const Index tile_length = products.rows();
  const double work = (2.0 * row_work(in.x) + 16.0) * static_cast<double>(t) / 4.0;
  const Index slots = partition_count(n, work, order == 0 ? max_partitions : max_partitions_for(in.x));
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, slots));
  std::vector<ModelTile> tiles;
  for (int w = 0; w < workers; ++w)
    tiles.emplace_back(tile_length, products.columns(), t, side);
  Buffer sums(slots * stride);
  parallel(slots, workers, [&](Index slot, int worker) {
    ModelTile &tile = tiles[static_cast<std::size_t>(worker)];
    double *own = sums.data() + slot * stride;
    const Range range = partition_range(n, slots, slot);
    for (Index begin = range.begin; begin < range.end; begin += tile_length) {
      const Index count = std::min(tile_length, range.end - begin);
      products.forward(begin, count, tile);
      if (plain)
        std::fill_n(tile.factor.data(), side, 1.0);
      for (Index i = 0; i < count; ++i) {
        const auto row = static_cast<std::size_t>(in.row(begin + i));
        loss(in.y[row], tile.z.data() + i * t, intercept.data(), share.data() + in.group[row] * side,
             in.weight.empty() ? 1.0 : in.weight[row], side, in.classes, own, plain ? tile.factor.data() : nullptr,
             own + side, tile.u.data() + i * t);
      }
      if (plain) {
        for (Index m = 0; m < side; ++m)
          tile.factor[m] -= 1.0;
        kernels().f64.log1p(tile.factor.data(), tile.factor.data(), side);
        for (Index m = 0; m < side; ++m)
          own[m] += tile.factor[m];
      }
      if (order >= 1)
        products.backward(begin, count, tile, own + gradient_at);
    }
  });
  merge_partitions(sums.data(), slots, stride, stride, threads);
  ModelSums out;
  out.value.assign(sums.data(), sums.data() + M);
  out.slope = from_targets(in, sums.data() + side, 1);
  if (order >= 1)
    out.gradient = from_targets(in, to_targets_major(in.x, sums.data() + gradient_at, t).data(), p);
  return out;
}

// Rows of length `length` of some models, and back into the sums of all.
inline std::vector<double> of_some(std::span<const double> from, const std::vector<Index> &some, Index length) {
  std::vector<double> to;
  for (const Index m : some)
    to.insert(to.end(), from.begin() + m * length, from.begin() + (m + 1) * length);
  return to;
}
inline void add_to(std::vector<double> &to, const std::vector<double> &from, const std::vector<Index> &some) {
  const std::size_t length = from.size() / some.size();
  for (std::size_t k = 0; k < some.size(); ++k)
    for (std::size_t j = 0; j < length; ++j)
      to[static_cast<std::size_t>(some[k]) * length + j] += from[k * length + j];
}

template <class Rows> ModelSums batched_loss(const BatchedLoss<Rows> &in, int order, const Blas &blas, int threads) {
  const Index M = in.models, K = in.classes, p = in.x.columns, groups = static_cast<Index>(in.share.size()) / M;
  check_weights(in.weight);
  check_weights(in.share);
  check_groups(in.group, groups);
  if constexpr (std::is_same_v<Rows, Dense<typename Rows::Value>>) {
    if (std::find(in.share.begin(), in.share.end(), 0.0) != in.share.end()) {
      const RowGroups rows = group_rows(in.x.rows, in.weight, in.group, groups);
      const auto zeros = [](Index size) { return std::vector<double>(static_cast<std::size_t>(size)); };
      ModelSums out{zeros(M), zeros(M * K), zeros(order >= 1 ? M * K * p : 0)};
      for (Index g = 0; g < groups; ++g) {
        const Index first = rows.starts[static_cast<std::size_t>(g)],
                    last = rows.starts[static_cast<std::size_t>(g) + 1];
        std::vector<Index> some;
        for (Index m = 0; m < M; ++m)
          if (in.share[static_cast<std::size_t>(g * M + m)] > 0.0)
            some.push_back(m);
        if (first == last || some.empty())
          continue;
        std::vector<double> share;
        for (Index h = 0; h < groups; ++h)
          for (const Index m : some)
            share.push_back(in.share[static_cast<std::size_t>(h * M + m)]);
        const std::vector<double> coef = of_some(in.coef, some, K * p), intercept = of_some(in.intercept, some, K);
        BatchedLoss<Rows> part{
            in.x,      in.y, in.weight, in.group, share, coef, intercept, in.shift, static_cast<Index>(some.size()),
            in.classes};
        if (rows.list() != nullptr)
          part.list = std::span<const Index>(rows.rows).subspan(static_cast<std::size_t>(first),
                                                                static_cast<std::size_t>(last - first));
        const ModelSums sums = loss_side_by_side(part, order, blas, threads);
        add_to(out.value, sums.value, some);
        add_to(out.slope, sums.slope, some);
        if (order >= 1)
          add_to(out.gradient, sums.gradient, some);
      }
      return out;
    }
  }
  return loss_side_by_side(in, order, blas, threads);
}

} // namespace tenfold
