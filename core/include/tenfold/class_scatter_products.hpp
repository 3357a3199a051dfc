// Second moments of each class, by columns and times a few vectors, without forming covariances: for the judge of
// classifiers.
//
// Given X (n x p), weights (or none), the class of each sample, centres (classes x p) and vectors (classes x q x p, or
// q x p for all), returns for every class c, with d = x - centre_c,
//   weight_c = sum w,   sums_c = sum w d,   squares_c = sum w d^2,   products_cq = sum w (d . v_cq) d.
// Samples of weight zero are skipped. The rows of a class are processed together, in pieces of fixed length whose
// partial sums are reduced in order; tiles are packed for both products, as in packed_gemm.hpp. Flops: 4 n p q; bytes:
// X once.
#pragma once

#include "tenfold/packed_gemm.hpp"
#include "tenfold/row_groups.hpp"

#include <span>
#include <vector>

namespace tenfold {

struct ClassScatterProducts {
  std::vector<double> weight;   // (classes)
  std::vector<double> sums;     // (classes, columns)
  std::vector<double> squares;  // (classes, columns)
  std::vector<double> products; // (classes, vectors, columns)
};

// A range of rows of one class, with partial sums of its own.
struct ClassPiece {
  Index group;
  Range range; // of the selection
};

template <class T> class ClassTiles {
public:
  // Work space of one thread.
  struct Worker {
    Scratch scratch;
    Buffer blocks;
  };

  ClassTiles(const Dense<T> &x, std::span<const double> weight, const RowGroups &selection, Index classes,
             std::span<const double> centres, std::span<const double> vectors, Index count, bool shared)
      : x_(x), weight_(weight), list_(selection.list()), centres_(centres), count_(count), shared_(shared),
        rows_(std::clamp<Index>(32768 / std::max<Index>(1, x.columns) / 8 * 8, 8, packed_tile_rows)),
        stride_((rows_ + 3) * kernels().panel), width_(count_panels(x.columns) * kernels().panel), unit_(width_),
        padded_centres_(classes * width_) {
    std::fill_n(unit_.data(), x.columns, 1.0);
    for (Index c = 0; c < classes; ++c)
      std::copy_n(centres.data() + c * x.columns, x.columns, padded_centres_.data() + c * width_);
    for (Index c = 0; count > 0 && c < (shared ? 1 : classes); ++c)
      vectors_.emplace_back(vectors.data() + c * count * x.columns, count, x.columns);
  }

  Worker worker() const {
    const Index panel = kernels().panel, panels = count_panels(x_.columns), block_rows = count_panels(count_);
    return {Scratch(panels * stride_, rows_ * block_rows * panel, block_rows * (packed_tile_rows + 3) * panel),
            Buffer(block_rows * panels * panel * panel)};
  }

  // Adds sums, squares and products (count), each `step` apart; returns the sum of the weights.
  double add(const ClassPiece &piece, Index step, Worker &local, double *out) const {
    double total = 0.0;
    if (count_ > 0)
      std::fill_n(local.blocks.data(), count_panels(count_) * width_ * kernels().panel, 0.0);
    for (Index begin = piece.range.begin; begin < piece.range.end; begin += rows_)
      total += add_tile(piece, begin, std::min(rows_, piece.range.end - begin), step, local, out);
    const Index panel = kernels().panel, panels = count_panels(x_.columns);
    for (Index k = 0; k < count_; ++k)
      for (Index j = 0; j < x_.columns; ++j)
        out[(k + 2) * step + j] =
            local.blocks[(k / panel * panels + j / panel) * panel * panel + k % panel * panel + j % panel];
    return total;
  }

private:
  Index row(Index position) const { return list_ != nullptr ? list_[position] : position; }

  double add_tile(const ClassPiece &piece, Index begin, Index count, Index step, Worker &local, double *out) const {
    constexpr Index block_rows = 8;
    const Index p = x_.columns, panel = kernels().panel, out_step = count_panels(count_) * panel;
    double w[packed_tile_rows], total = 0.0;
    for (Index i = 0; i < count; ++i)
      total += w[i] = weight_.empty() ? 1.0 : weight_[static_cast<std::size_t>(row(begin + i))];
    if (count_ > 0) {
      kernels().dense<T>().pack(
          list_ != nullptr ? x_.data : x_.data + begin * p, p, list_ != nullptr ? list_ + begin : nullptr, count, p,
          unit_.data(), padded_centres_.data() + piece.group * width_, nullptr, local.scratch.tile.data(), stride_);
      std::fill_n(local.scratch.sums.data(), count * out_step, 0.0);
    }
    for (Index i = 0; i < count; i += block_rows) {
      const Index some = std::min(block_rows, count - i);
      prefetch_rows(begin + rows_ + i, std::min(piece.range.end, begin + rows_ + i + block_rows));
      for (Index k = i; k < i + some; ++k)
        kernels().dense<T>().add_centred_moments(w[k], x_.data + row(begin + k) * p, centres_.data() + piece.group * p,
                                                 p, out, out + step);
      if (count_ > 0)
        vectors_[static_cast<std::size_t>(shared_ ? 0 : piece.group)].add_products(
            local.scratch.tile.data() + i * panel, stride_, some, 0, p, local.scratch.sums.data() + i * out_step);
    }
    if (count_ > 0) {
      pack_rhs(local.scratch.sums.data(), out_step, count, count_, w, local.scratch.right.data());
      kernels().panel_cross(local.scratch.tile.data(), stride_, count_panels(p), local.scratch.right.data(),
                            (packed_tile_rows + 3) * panel, count_panels(count_), count, local.blocks.data());
    }
    return total;
  }

  // Prefetches the next rows: those of a class are scattered in memory.
  void prefetch_rows(Index begin, Index end) const {
    if (list_ == nullptr)
      return;
    for (Index i = begin; i < end; ++i)
      for (Index j = 0; j < x_.columns; j += 64 / static_cast<Index>(sizeof(T)))
        __builtin_prefetch(x_.data + list_[i] * x_.columns + j, 0, 2);
  }

  Dense<T> x_;
  std::span<const double> weight_;
  const Index *list_;
  std::span<const double> centres_;
  Index count_;
  bool shared_;
  Index rows_, stride_, width_;
  Buffer unit_, padded_centres_;
  std::vector<PackedVectors> vectors_;
};

template <class T>
ClassScatterProducts class_scatter_products(const Dense<T> &x, std::span<const double> weight,
                                            std::span<const std::int32_t> group, Index classes,
                                            std::span<const double> centres, std::span<const double> vectors,
                                            Index count, bool shared, int threads) {
  constexpr Index piece = 2048;
  const Index p = x.columns, step = (p + lanes - 1) / lanes * lanes, stride = (count + 2) * step;
  const RowGroups selection = group_rows(x.rows, weight, group, classes);
  std::vector<ClassPiece> pieces;
  for (Index c = 0; c < classes; ++c) {
    const Index end = selection.starts[static_cast<std::size_t>(c) + 1];
    for (Index begin = selection.starts[static_cast<std::size_t>(c)]; begin < end; begin += piece)
      pieces.push_back({c, {begin, std::min(end, begin + piece)}});
  }
  const ClassTiles<T> tiles(x, weight, selection, classes, centres, vectors, count, shared);
  const Index all = static_cast<Index>(pieces.size());
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(1, all)));
  std::vector<typename ClassTiles<T>::Worker> local;
  for (int w = 0; w < workers; ++w)
    local.push_back(tiles.worker());
  Buffer sums(all * stride);
  std::vector<double> totals(pieces.size());
  parallel(all, workers, [&](Index item, int worker) {
    totals[static_cast<std::size_t>(item)] =
        tiles.add(pieces[static_cast<std::size_t>(item)], step, local[static_cast<std::size_t>(worker)],
                  sums.data() + item * stride);
  });
  ClassScatterProducts out;
  out.weight.resize(static_cast<std::size_t>(classes));
  out.sums.resize(static_cast<std::size_t>(classes * p));
  out.squares.resize(static_cast<std::size_t>(classes * p));
  out.products.resize(static_cast<std::size_t>(classes * count * p));
  for (Index item = 0; item < all; ++item) {
    const Index c = pieces[static_cast<std::size_t>(item)].group;
    const double *from = sums.data() + item * stride;
    out.weight[static_cast<std::size_t>(c)] += totals[static_cast<std::size_t>(item)];
    const auto add = [&](const double *part, double *to) {
      for (Index j = 0; j < p; ++j)
        to[j] += part[j];
    };
    add(from, out.sums.data() + c * p);
    add(from + step, out.squares.data() + c * p);
    for (Index k = 0; k < count; ++k)
      add(from + (k + 2) * step, out.products.data() + (c * count + k) * p);
  }
  return out;
}

} // namespace tenfold
