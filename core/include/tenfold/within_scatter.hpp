// Pooled within-class scatter: the statistics of linear discriminant analysis.
//
// Given X (n x p), weights (or none), the class of each sample and centres (classes x p) near the class means, returns,
// with m_c the mean of class c,
//   weight_c = sum w,   sums_c = sum w (x - centre_c),   scatter = sum_c sum_i w (x - m_c)(x - m_c)'   (p x p).
// Samples of weight zero are skipped. The scatter is accumulated about the centres and corrected to the means: rows
// stay in order, one matrix is accumulated whatever the number of classes, and no digits are lost where classes are far
// apart. Flops: n p (p + 1); bytes: X once.
#pragma once

#include "tenfold/gram.hpp"
#include "tenfold/within_scatter_tile.hpp"

namespace tenfold {

struct WithinScatter {
  std::int64_t count = 0;      // samples of positive weight
  std::vector<double> weight;  // (classes)
  std::vector<double> sums;    // (classes, columns)
  std::vector<double> scatter; // (columns, columns), both triangles
};

// Subtracts sums_c sums_c' / weight_c of all classes from the blocks.
inline void subtract_mean_products(const GramShape &shape, Index classes, const double *weight, const double *sums,
                                   Index step, double *blocks) {
  Buffer between(shape.size());
  const Index side = shape.panel, stride = (gram_rows + 3) * side;
  Buffer tile(shape.panels() * stride);
  for (Index begin = 0; begin < classes; begin += gram_rows) {
    const Index count = std::min(gram_rows, classes - begin);
    for (Index i = 0; i < count; ++i) {
      const double w = weight[begin + i], unit = w > 0.0 ? 1.0 / std::sqrt(w) : 0.0;
      for (Index j = 0; j < shape.features; ++j)
        tile[j / side * stride + i * side + j % side] = w > 0.0 ? sums[(begin + i) * step + j] * unit : 0.0;
    }
    kernels().gram(tile.data(), stride, count, 0, shape.panels(), 0, shape.panels(), between.data(), nullptr, 0);
  }
  for (Index i = 0; i < shape.size(); ++i)
    blocks[i] -= between[i];
}

template <class T>
WithinScatter within_scatter(const Dense<T> &x, std::span<const double> weight, std::span<const std::int32_t> group,
                             Index classes, std::span<const double> centres, int threads) {
  const Index p = x.columns;
  const CentredRows<T> rows(x, weight, group, classes, centres);
  const GramShape shape{p, 0, kernels().panel};
  const Index size = shape.size(), of_classes = classes * rows.step();
  const Index stride = (size + of_classes + classes + lanes - 1) / lanes * lanes;
  const Index most = std::clamp<Index>(x.rows / std::max(min_partition_rows, 4 * classes), 1, max_partitions);
  const Index partitions = partition_count(x.rows, static_cast<double>(size) / 8.0 + row_work(x), most);
  Buffer sums(partitions * stride);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(partitions));
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *blocks = sums.data() + partition * stride, *of = blocks + size, *weights = of + of_classes;
    CentredTile tile(shape.panels(), gram_rows);
    std::array<const char *, gram_rows> next;
    for (Index begin = range.begin; begin < range.end;) {
      begin = tile.take(rows, begin, range.end);
      tile.pack(rows, true);
      tile.add(rows, true, weights, of, nullptr);
      for (Index i = 0; i < gram_rows; ++i)
        next[static_cast<std::size_t>(i)] =
            reinterpret_cast<const char *>(x.data + std::min(begin + i, x.rows - 1) * p);
      const Index category_rows = begin < range.end ? p * static_cast<Index>(sizeof(T)) / 64 + 1 : 0;
      kernels().gram(tile.values(), tile.stride(), tile.count(), 0, shape.panels(), 0, shape.panels(), blocks,
                     next.data(), category_rows);
      counts[static_cast<std::size_t>(partition)] += tile.count();
    }
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  double *blocks = sums.data(), *of = blocks + size, *weights = of + of_classes;
  subtract_mean_products(shape, classes, weights, of, rows.step(), blocks);
  WithinScatter out;
  for (const std::int64_t count : counts)
    out.count += count;
  out.weight.assign(weights, weights + classes);
  for (Index c = 0; c < classes; ++c)
    out.sums.insert(out.sums.end(), of + c * rows.step(), of + c * rows.step() + p);
  out.scatter.resize(static_cast<std::size_t>(p * p));
  to_symmetric(shape, blocks, p, nullptr, 1.0, threads, out.scatter.data());
  for (Index j = 0; j < p; ++j) { // rounding must not make a sum of squares negative; NaN passes
    double &square = out.scatter[static_cast<std::size_t>(j * p + j)];
    square = square < 0.0 ? 0.0 : square;
  }
  return out;
}

} // namespace tenfold
