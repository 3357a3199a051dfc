// A tile of rows in packed panels, for the microkernel of core/src/isa/gram.hpp.
#pragma once

#include "tenfold/gram.hpp"

#include <array>

namespace tenfold {

// Packs the columns of X of rows begin ... begin + count, times root.
template <class T>
void pack_features(const Design<Dense<T>> &design, const GramShape &, Index begin, Index count, const double *root,
                   double *panels, Index stride) {
  const Index p = design.x.columns;
  const Index *rows = design.list != nullptr ? design.list + begin : nullptr;
  const T *x = design.list != nullptr ? design.x.data : design.x.data + begin * p;
  kernels().dense<T>().pack(x, p, rows, count, p, design.unit.data(), design.centre.data(), root, panels, stride);
}
template <class T, class I>
void pack_features(const Design<Sparse<T, I>> &design, const GramShape &shape, Index begin, Index count,
                   const double *root, double *panels, Index stride) {
  const Index side = shape.panel;
  for (Index block = 0; block * side < shape.features; ++block)
    std::fill_n(panels + block * stride, count * side, 0.0);
  for (Index i = 0; i < count; ++i) {
    const Index row = design.row(begin + i);
    const std::int64_t *ends = design.x.indptr.data() + row;
    for (Index k = ends[0]; k < ends[1]; ++k) {
      const Index j = static_cast<Index>(design.x.indices.data()[k]);
      require_columns(j >= 0 && j < shape.features);
      panels[j / side * stride + i * side + j % side] +=
          static_cast<double>(design.x.data.data()[k]) * design.unit[j] * root[i];
    }
  }
}

// Row addresses for software prefetch; returns the cache lines per row, 0 where prefetching is left to the hardware.
template <class T>
Index addresses(const Design<Dense<T>> &design, Index begin, Index count, std::array<const char *, gram_rows> &next) {
  if (count <= 0)
    return 0;
  for (Index i = 0; i < gram_rows; ++i) {
    const Index row = design.row(begin + std::min(i, count - 1));
    next[static_cast<std::size_t>(i)] = reinterpret_cast<const char *>(design.x.data + row * design.x.columns);
  }
  return design.x.columns * static_cast<Index>(sizeof(T)) / 64 + 1;
}
template <class T, class I>
Index addresses(const Design<Sparse<T, I>> &, Index, Index, std::array<const char *, gram_rows> &) {
  return 0;
}

class DenseTile {
public:
  explicit DenseTile(const GramShape &shape)
      : shape_(shape), stride_((gram_rows + 3) * shape.panel), panels_(shape.panels() * stride_) {}

  Index room() const { return gram_rows - filled_; }
  void clear() { filled_ = 0; }

  // Appends rows begin ... begin + count of the design, times root.
  template <class Rows> void pack(const Design<Rows> &design, Index begin, Index count, const double *root) {
    const Index side = shape_.panel, p = shape_.features, t = shape_.targets;
    double *to = panels_.data() + filled_ * side;
    pack_features(design, shape_, begin, count, root, to, stride_);
    double *constant = to + p / side * stride_ + p % side;
    for (Index i = 0; i < count; ++i)
      constant[i * side] = root[i];
    for (Index k = 0; k < t; ++k) {
      const Index j = p + 1 + k;
      const double unit = design.y_unit[static_cast<std::size_t>(k)],
                   centre = design.y_centre[static_cast<std::size_t>(k)];
      double *column = to + j / side * stride_ + j % side;
      for (Index i = 0; i < count; ++i)
        column[i * side] = (design.y[design.row(begin + i) * t + k] * unit - centre) * root[i];
    }
    filled_ += count;
  }

  void multiply(const Blocks &part, double *blocks) const {
    kernels().gram(panels_.data(), stride_, filled_, part.i0, part.i1, part.j0, part.j1, blocks, nullptr, 0);
  }

  // All blocks, while rows begin ... end are prefetched.
  template <class Rows> void multiply_all(const Design<Rows> &design, Index begin, Index end, double *blocks) const {
    std::array<const char *, gram_rows> next;
    Index lines = addresses(design, begin, std::min(gram_rows, end - begin), next);
    for_each_part(shape_, [&](const Blocks &part) {
      kernels().gram(panels_.data(), stride_, filled_, part.i0, part.i1, part.j0, part.j1, blocks, next.data(), lines);
      lines = 0;
    });
  }

  // Rectangles for the threads. Large ones read fewer panels and still fit L2; the partition does not change the bits.
  static std::vector<Blocks> parts(const GramShape &shape, int threads) {
    std::vector<Blocks> parts;
    for (const Index side : {24, 12}) {
      parts.clear();
      for_each_part(shape, [&](const Blocks &all) {
        for (Index j = all.j0; j < all.j1; j += side)
          for (Index i = all.i0; i < all.i1 && i < j + side; i += side)
            parts.push_back({i, std::min(i + side, all.i1), j, std::min(j + side, all.j1)});
      });
      if (static_cast<Index>(parts.size()) >= 4 * threads)
        break;
    }
    return parts;
  }

private:
  GramShape shape_;
  Index stride_; // padded by three rows: panels a power of two apart would conflict in cache sets
  Buffer panels_;
  Index filled_ = 0;
};

} // namespace tenfold
