// Second moments of each class, by columns and with a few vectors, without the whole of them: what the judge of classes
// asks.
//
// Given X (n x p), weights (or none), the class of each row, places (classes x p) and vectors (classes x q x p, or
// q x p for all), returns for every class c, with d = x - place_c,
//   weight_c = sum w,   sums_c = sum w d,   squares_c = sum w d^2,   products_cq = sum w (d . v_cq) d.
// Rows of weight zero are left out. The rows of a class are taken together, in pieces of a fixed length with sums of
// their own, which are merged in their order; tiles of them are packed for both products, as in many_vectors.hpp.
// Flops: 4 n p q; bytes: X once.
#pragma once

#include "tenfold/packed_gemm.hpp"
#include "tenfold/row_groups.hpp"

#include <span>
#include <vector>

namespace tenfold {

struct ClassProducts {
  std::vector<double> weight;   // (classes)
  std::vector<double> sums;     // (classes, columns)
  std::vector<double> squares;  // (classes, columns)
  std::vector<double> products; // (classes, vectors, columns)
};

// Some rows of one class, and what is summed of them.
struct ClassPiece {
  Index group;
  Range range; // of the selection
};

template <class T> class ClassTiles {
public:
  // What one worker needs.
  struct Worker {
    Scratch scratch;
    Buffer blocks;
  };

  ClassTiles(const Dense<T> &x, std::span<const double> weight, const Selection &selection, Index classes,
             std::span<const double> places, std::span<const double> vectors, Index count, bool shared)
      : x_(x), weight_(weight), list_(selection.list()), places_(places), count_(count), shared_(shared),
        rows_(std::clamp<Index>(32768 / std::max<Index>(1, x.columns) / 8 * 8, 8, packed_rows)),
        stride_((rows_ + 3) * kernels().panel), width_(in_panels(x.columns) * kernels().panel), unit_(width_),
        centres_(classes * width_) {
    std::fill_n(unit_.data(), x.columns, 1.0);
    for (Index c = 0; c < classes; ++c)
      std::copy_n(places.data() + c * x.columns, x.columns, centres_.data() + c * width_);
    for (Index c = 0; count > 0 && c < (shared ? 1 : classes); ++c)
      vectors_.emplace_back(vectors.data() + c * count * x.columns, count, x.columns);
  }

  Worker worker() const {
    const Index side = kernels().panel, panels = in_panels(x_.columns), few = in_panels(count_);
    return {Scratch(panels * stride_, rows_ * few * side, few * (packed_rows + 3) * side),
            Buffer(few * panels * side * side)};
  }

  // Sums, squares and products (count), each `step` apart; returns the sum of the weights.
  double add(const ClassPiece &piece, Index step, Worker &own, double *out) const {
    double total = 0.0;
    if (count_ > 0)
      std::fill_n(own.blocks.data(), in_panels(count_) * width_ * kernels().panel, 0.0);
    for (Index begin = piece.range.begin; begin < piece.range.end; begin += rows_)
      total += add_tile(piece, begin, std::min(rows_, piece.range.end - begin), step, own, out);
    const Index side = kernels().panel, panels = in_panels(x_.columns);
    for (Index k = 0; k < count_; ++k)
      for (Index j = 0; j < x_.columns; ++j)
        out[(k + 2) * step + j] = own.blocks[(k / side * panels + j / side) * side * side + k % side * side + j % side];
    return total;
  }

private:
  Index row(Index position) const { return list_ != nullptr ? list_[position] : position; }

  double add_tile(const ClassPiece &piece, Index begin, Index count, Index step, Worker &own, double *out) const {
    constexpr Index few = 8;
    const Index p = x_.columns, side = kernels().panel, out_step = in_panels(count_) * side;
    double w[packed_rows], total = 0.0;
    for (Index i = 0; i < count; ++i)
      total += w[i] = weight_.empty() ? 1.0 : weight_[static_cast<std::size_t>(row(begin + i))];
    if (count_ > 0) {
      kernels().dense<T>().pack(list_ != nullptr ? x_.data : x_.data + begin * p, p,
                                list_ != nullptr ? list_ + begin : nullptr, count, p, unit_.data(),
                                centres_.data() + piece.group * width_, nullptr, own.scratch.tile.data(), stride_);
      std::fill_n(own.scratch.sums.data(), count * out_step, 0.0);
    }
    for (Index i = 0; i < count; i += few) {
      const Index some = std::min(few, count - i);
      read_ahead(begin + rows_ + i, std::min(piece.range.end, begin + rows_ + i + few));
      for (Index k = i; k < i + some; ++k)
        kernels().dense<T>().add_squares(w[k], x_.data + row(begin + k) * p, places_.data() + piece.group * p, p, out,
                                         out + step);
      if (count_ > 0)
        vectors_[static_cast<std::size_t>(shared_ ? 0 : piece.group)].add_products(
            own.scratch.tile.data() + i * side, stride_, some, 0, p, own.scratch.sums.data() + i * out_step);
    }
    if (count_ > 0) {
      pack_right(own.scratch.sums.data(), out_step, count, count_, w, own.scratch.right.data());
      kernels().panel_cross(own.scratch.tile.data(), stride_, in_panels(p), own.scratch.right.data(),
                            (packed_rows + 3) * side, in_panels(count_), count, own.blocks.data());
    }
    return total;
  }

  // Rows of a class are not neighbours: the next ones are on their way while these are multiplied.
  void read_ahead(Index begin, Index end) const {
    if (list_ == nullptr)
      return;
    for (Index i = begin; i < end; ++i)
      for (Index j = 0; j < x_.columns; j += 64 / static_cast<Index>(sizeof(T)))
        __builtin_prefetch(x_.data + list_[i] * x_.columns + j, 0, 2);
  }

  Dense<T> x_;
  std::span<const double> weight_;
  const Index *list_;
  std::span<const double> places_;
  Index count_;
  bool shared_;
  Index rows_, stride_, width_;
  Buffer unit_, centres_;
  std::vector<PackedVectors> vectors_;
};

template <class T>
ClassProducts class_products(const Dense<T> &x, std::span<const double> weight, std::span<const std::int32_t> group,
                             Index classes, std::span<const double> places, std::span<const double> vectors,
                             Index count, bool shared, int threads) {
  constexpr Index piece = 2048;
  const Index p = x.columns, step = (p + lanes - 1) / lanes * lanes, stride = (count + 2) * step;
  const Selection selection = select_rows(x.rows, weight, group, classes);
  std::vector<ClassPiece> pieces;
  for (Index c = 0; c < classes; ++c) {
    const Index end = selection.starts[static_cast<std::size_t>(c) + 1];
    for (Index begin = selection.starts[static_cast<std::size_t>(c)]; begin < end; begin += piece)
      pieces.push_back({c, {begin, std::min(end, begin + piece)}});
  }
  const ClassTiles<T> tiles(x, weight, selection, classes, places, vectors, count, shared);
  const Index all = static_cast<Index>(pieces.size());
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(1, all)));
  std::vector<typename ClassTiles<T>::Worker> own;
  for (int w = 0; w < workers; ++w)
    own.push_back(tiles.worker());
  Buffer sums(all * stride);
  std::vector<double> totals(pieces.size());
  parallel(all, workers, [&](Index item, int worker) {
    totals[static_cast<std::size_t>(item)] =
        tiles.add(pieces[static_cast<std::size_t>(item)], step, own[static_cast<std::size_t>(worker)],
                  sums.data() + item * stride);
  });
  ClassProducts out;
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
