// Within-class second moments along a few vectors, for the judge of linear discriminants.
//
// Given X (n x p), weights (or none), the class of each sample, centres (classes x p) and vectors v (q x p), returns,
// with d = x - centre_c and z = v'd of each vector,
//   weight_c = sum w,   sums_c = sum w d,   squares_c = sum w d^2,   forms = sum over all samples of w z z'   (q x q).
// Samples of weight zero are skipped; the others are summed in order. No p x q accumulators.
// Flops: 2 n p q + n q^2; bytes: X once.
#pragma once

#include "tenfold/gram.hpp"
#include "tenfold/packed_gemm.hpp"
#include "tenfold/within_scatter_tile.hpp"

namespace tenfold {

struct WithinQuadraticForms {
  std::vector<double> weight;  // (classes)
  std::vector<double> sums;    // (classes, columns)
  std::vector<double> squares; // (classes, columns)
  std::vector<double> forms;   // (vectors, vectors)
};

template <class T>
WithinQuadraticForms within_quadratic_forms(const Dense<T> &x, std::span<const double> weight,
                                            std::span<const std::int32_t> group, Index classes,
                                            std::span<const double> centres, std::span<const double> vectors,
                                            Index count, int threads) {
  const Index p = x.columns, side = kernels().panel, few = count_panels(count), width = few * side;
  const GramShape shape{count, 0, side}; // without the column of ones, which may need a panel more
  const Index size = shape.block(0, few);
  const CentredRows<T> rows(x, weight, group, classes, centres);
  const PackedVectors packed(vectors.data(), count, p);
  // a tile short enough to stay in L1 for all its uses
  const Index length = std::clamp<Index>(4096 / std::max<Index>(1, rows.step()) / 8 * 8, 8, packed_tile_rows);
  const Index of_classes = classes * rows.step(), z_stride = (packed_tile_rows + 3) * side;
  const Index stride = (size + 2 * of_classes + classes + lanes - 1) / lanes * lanes;
  const Index most = std::clamp<Index>(x.rows / std::max(Index{256}, 4 * classes), 1, max_partitions);
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(count + 4), most);
  Buffer sums(partitions * stride);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *blocks = sums.data() + partition * stride, *first = blocks + size, *second = first + of_classes,
           *weights = second + of_classes;
    CentredTile tile(rows.panels(), length);
    Buffer z(packed_tile_rows * width), rooted(few * z_stride);
    for (Index begin = range.begin; begin < range.end;) {
      begin = tile.take(rows, begin, range.end);
      tile.pack(rows, false);
      tile.add(rows, false, weights, first, second);
      if (count == 0)
        continue;
      std::fill_n(z.data(), tile.count() * width, 0.0);
      packed.add_products(tile.values(), tile.stride(), tile.count(), 0, p, z.data());
      for (Index i = 0; i < tile.count(); ++i)
        for (Index j = 0; j < few; ++j)
          for (Index v = 0; v < side; ++v)
            rooted[j * z_stride + i * side + v] = tile.roots()[i] * z[i * width + j * side + v];
      kernels().gram(rooted.data(), z_stride, tile.count(), 0, few, 0, few, blocks, nullptr, 0);
    }
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  const double *blocks = sums.data(), *first = blocks + size, *second = first + of_classes,
               *weights = second + of_classes;
  WithinQuadraticForms out;
  out.weight.assign(weights, weights + classes);
  for (Index c = 0; c < classes; ++c) {
    out.sums.insert(out.sums.end(), first + c * rows.step(), first + c * rows.step() + p);
    out.squares.insert(out.squares.end(), second + c * rows.step(), second + c * rows.step() + p);
  }
  for (Index a = 0; a < count; ++a)
    for (Index b = 0; b < count; ++b)
      out.forms.push_back(blocks[shape.at(std::min(a, b), std::max(a, b))]);
  return out;
}

} // namespace tenfold
