// Products of the second moments of each class with a few vectors, without the moments: what the judge of classes asks.
//
// Given X (n x p), weights (or none), the class of each row, places (classes x p) and vectors (classes x q x p, or
// q x p for all), returns for every class c, with d = x - place_c,
//   weight_c = sum w,   sums_c = sum w d,   products_cq = sum w (d . v_cq) d.
// Rows of weight zero are left out. The rows of a class are taken together, in pieces of a fixed length with sums of
// their own, which are merged in their order. Flops: 4 n p q; bytes: X once.
#pragma once

#include "tenfold/buffer.hpp"
#include "tenfold/kernels.hpp"
#include "tenfold/selection.hpp"
#include "tenfold/slots.hpp"

#include <span>
#include <vector>

namespace tenfold {

struct ClassProducts {
  std::vector<double> weight;   // (classes)
  std::vector<double> sums;     // (classes, columns)
  std::vector<double> products; // (classes, vectors, columns)
};

template <class T>
ClassProducts class_products(const Dense<T> &x, std::span<const double> weight, std::span<const std::int32_t> group,
                             Index classes, std::span<const double> places, std::span<const double> vectors,
                             Index count, bool shared, int threads) {
  constexpr Index piece = 2048, few = 4;
  struct Piece {
    Index group;
    Range range;
  };
  const Index p = x.columns, step = (p + lanes - 1) / lanes * lanes, stride = (count + 1) * step;
  const Selection selection = select_rows(x.rows, weight, group, classes);
  std::vector<Piece> pieces;
  for (Index c = 0; c < classes; ++c) {
    const Index end = selection.starts[static_cast<std::size_t>(c) + 1];
    for (Index begin = selection.starts[static_cast<std::size_t>(c)]; begin < end; begin += piece)
      pieces.push_back({c, {begin, std::min(end, begin + piece)}});
  }
  const Index sets = shared ? 1 : classes, all = static_cast<Index>(pieces.size());
  Buffer padded(sets * count * step), sums(all * stride);
  for (Index v = 0; v < sets * count; ++v)
    std::copy_n(vectors.data() + v * p, p, padded.data() + v * step);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(1, all)));
  std::vector<Buffer> scratch;
  for (int w = 0; w < workers; ++w)
    scratch.emplace_back(few * step);
  std::vector<double> totals(pieces.size());
  parallel(all, workers, [&](Index item, int worker) {
    const auto [c, range] = pieces[static_cast<std::size_t>(item)];
    double *first = sums.data() + item * stride, total = 0.0;
    for (Index begin = range.begin; begin < range.end; begin += few) {
      const Index some = std::min(few, range.end - begin);
      const T *rows[few];
      double w[few];
      for (Index i = 0; i < some; ++i) {
        const Index row = selection.list() != nullptr ? selection.list()[begin + i] : begin + i;
        rows[i] = x.data + row * p;
        total += w[i] = weight.empty() ? 1.0 : weight[static_cast<std::size_t>(row)];
      }
      for (Index i = begin + few; selection.list() != nullptr && i < std::min(range.end, begin + 2 * few); ++i)
        for (Index j = 0; j < p; j += 64 / static_cast<Index>(sizeof(T)))
          __builtin_prefetch(x.data + selection.list()[i] * p + j); // rows of a class are not neighbours
      kernels().dense<T>().class_products(rows, w, some, p, places.data() + c * p,
                                          padded.data() + (shared ? 0 : c * count * step), count, step,
                                          scratch[static_cast<std::size_t>(worker)].data(), first, first + step);
    }
    totals[static_cast<std::size_t>(item)] = total;
  });
  ClassProducts out;
  out.weight.resize(static_cast<std::size_t>(classes));
  out.sums.resize(static_cast<std::size_t>(classes * p));
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
    for (Index k = 0; k < count; ++k)
      add(from + (k + 1) * step, out.products.data() + (c * count + k) * p);
  }
  return out;
}

} // namespace tenfold
