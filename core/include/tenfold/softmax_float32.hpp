// The softmax loss with products in single precision and sums in double, for a solver far from convergence: softmax.hpp
// with relative errors of about 1e-7 in margins and probabilities.
//
// A tile of rows is converted to float in both orders: one lane per sample for the margins, one lane per column for the
// gradient. Flops: 4 n p K and n K exponentials; bytes: X once.
//
// class_grams: G_k = sum_i share_ik [x_i - shift; 1][x_i - shift; 1]' of every class k, in the same precision: blocks
// of the softmax Hessian. Flops: n p^2 K; a chunk of rows is converted to float, then each thread takes columns of a
// class.
#pragma once

#include "tenfold/softmax.hpp"

#include <vector>

namespace tenfold {

// Zero-initialised floats aligned to cache lines.
class FloatBuffer {
public:
  FloatBuffer() = default;
  explicit FloatBuffer(Index size) : values_(static_cast<std::size_t>(size), 0.0F) {}
  float *data() { return values_.data(); }

private:
  std::vector<float, CacheLineAllocator<float>> values_;
};

// X - shift in float, rows `step` apart; columns from p on are not written.
template <class T> struct Float32Rows {
  Float32Rows(const Dense<T> &rows, std::span<const double> given)
      : x(rows), shift(rows.columns + lanes), step((rows.columns + 1 + float_lanes - 1) / float_lanes * float_lanes) {
    std::copy(given.begin(), given.end(), shift.data());
  }
  void write(Index begin, Index count, float *to) const {
    for (Index i = 0; i < count; ++i)
      kernels().dense<T>().to_singles(x.data + (begin + i) * x.columns, x.columns, shift.data(), 1.0, to + i * step);
  }
  Index vectors() const { return step / kernels().singles; }

  static constexpr Index float_lanes = 2 * lanes;
  const Dense<T> &x;
  Buffer shift;
  Index step;
};

struct Float32Tile {
  Float32Tile(Index length, Index columns, Index classes)
      : step(length), y(length), weight(length), rows(length * columns), turned(length * columns), z(length * classes),
        u(length * classes), g(classes * columns) {}

  Index step;
  FloatBuffer y, weight, rows, turned, z, u, g;
};

// Rows of a tile: both copies of it fit L2.
inline Index float32_tile_rows(Index columns) {
  constexpr Index floats = 16 * 1024, vector = 2 * lanes;
  return std::clamp<Index>(floats / columns / vector * vector, 2 * vector, 16 * vector);
}

inline FloatBuffer to_float_buffer(std::span<const double> values) {
  FloatBuffer floats(static_cast<Index>(values.size()));
  std::transform(values.begin(), values.end(), floats.data(), [](double v) { return static_cast<float>(v); });
  return floats;
}

// Partial sums: value, weight, slope (K), gradient (K p).
template <class T>
void add_softmax_float32(const SoftmaxPoint<Dense<T>> &point, const Float32Rows<T> &float32_rows, FloatBuffer &coef,
                         FloatBuffer &intercept, Index begin, Index count, Float32Tile &tile, Index gradient_at,
                         double *sums) {
  const Index p = point.x.columns, K = point.classes(), width = kernels().singles, step = tile.step;
  const Index padded = (count + width - 1) / width * width;
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(begin + i);
    const double w = point.weight.empty() ? 1.0 : point.weight[row];
    tile.y.data()[i] = static_cast<float>(point.y[row]);
    tile.weight.data()[i] = static_cast<float>(w);
    sums[1] += w;
  }
  std::fill_n(tile.weight.data() + count, padded - count, 0.0F);
  float32_rows.write(begin, count, tile.rows.data());
  kernels().transpose_float32(tile.rows.data(), float32_rows.step, padded, float32_rows.step, tile.turned.data(), step);
  std::fill_n(tile.z.data(), K * step, 0.0F);
  kernels().sgemm_tile(coef.data(), p, 1, K, p, tile.turned.data(), step, padded / width, tile.z.data(), step);
  kernels().softmax_float32_tile(tile.y.data(), tile.z.data(), step, K, intercept.data(), tile.weight.data(), padded,
                                 sums, sums + 2, tile.u.data());
  std::fill_n(tile.g.data(), K * float32_rows.step, 0.0F);
  kernels().sgemm_tile(tile.u.data(), step, 1, K, count, tile.rows.data(), float32_rows.step, float32_rows.vectors(),
                       tile.g.data(), float32_rows.step);
  for (Index k = 0; k < K; ++k)
    for (Index j = 0; j < p; ++j)
      sums[gradient_at + k * p + j] += static_cast<double>(tile.g.data()[k * float32_rows.step + j]);
}

template <class T> SoftmaxSums softmax_float32(const SoftmaxPoint<Dense<T>> &point, int threads) {
  const Index n = point.x.rows, p = point.x.columns, K = point.classes();
  check_weights(point.weight);
  const Float32Rows<T> float32_rows(point.x, point.shift);
  FloatBuffer coef = to_float_buffer(point.coef), intercept = to_float_buffer(point.intercept);
  const Index gradient_at = (K + 2 + lanes - 1) / lanes * lanes;
  const Index stride = gradient_at + (K * p + lanes - 1) / lanes * lanes;
  const Index length = float32_tile_rows(float32_rows.step);
  const double work = (row_work(point.x) + 16.0) * static_cast<double>(K);
  const Index partitions = partition_count(n, work, max_partitions);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<Float32Tile> tiles;
  for (int w = 0; w < workers; ++w)
    tiles.emplace_back(length, float32_rows.step, K);
  Buffer sums(partitions * stride);
  parallel(partitions, workers, [&](Index partition, int worker) {
    const Range range = partition_range(n, partitions, partition);
    for (Index i = range.begin; i < range.end; i += length)
      add_softmax_float32(point, float32_rows, coef, intercept, i, std::min(length, range.end - i),
                          tiles[static_cast<std::size_t>(worker)], gradient_at, sums.data() + partition * stride);
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  SoftmaxSums out;
  out.value = sums[0];
  out.weight = sums[1];
  out.slope.assign(sums.data() + 2, sums.data() + 2 + K);
  out.gradient.assign(sums.data() + gradient_at, sums.data() + gradient_at + K * p);
  return out;
}

// share (n x K), grams (K x (p + 1) x (p + 1)).
template <class T>
void class_grams(const Dense<T> &x, std::span<const double> share, std::span<const double> shift, Index classes,
                 int threads, std::span<double> grams) {
  constexpr Index chunk = 512, part = 256,
                  columns = 40; // rows and columns of a block; float sums over 512 rows keep six digits
  const Index n = x.rows, q = x.columns + 1;
  const Float32Rows<T> float32_rows(x, shift);
  const Index step = float32_rows.step, width = kernels().singles, groups = (q + columns - 1) / columns;
  const Index items = classes * groups;
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, items));
  FloatBuffer rows(std::min(chunk, n) * step);
  struct Scratch {
    FloatBuffer scaled, sums;
  };
  std::vector<Scratch> scratch;
  for (int w = 0; w < workers; ++w)
    scratch.push_back({FloatBuffer(part * columns), FloatBuffer(columns * step)});
  std::fill(grams.begin(), grams.end(), 0.0);
  for (Index begin = 0; begin < n; begin += chunk) {
    const Index count = std::min(chunk, n - begin);
    parallel((count + part - 1) / part, threads, [&](Index item, int) {
      const Index first = item * part, some = std::min(part, count - first);
      float32_rows.write(begin + first, some, rows.data() + first * step);
      for (Index i = first; i < first + some; ++i)
        rows.data()[i * step + x.columns] = 1.0F;
    });
    parallel(items, workers, [&](Index item, int worker) {
      const Index k = item / groups, j0 = item % groups * columns, some = std::min(columns, q - j0);
      const Index from = j0 / width * width; // entries below the diagonal follow by symmetry
      float *scaled = scratch[static_cast<std::size_t>(worker)].scaled.data();
      float *sums = scratch[static_cast<std::size_t>(worker)].sums.data();
      std::fill_n(sums, some * step, 0.0F);
      for (Index first = 0; first < count; first += part) {
        const Index rest = std::min(part, count - first);
        for (Index i = 0; i < rest; ++i) {
          const auto w = static_cast<float>(share[static_cast<std::size_t>((begin + first + i) * classes + k)]);
          const float *row = rows.data() + (first + i) * step + j0;
          for (Index j = 0; j < some; ++j)
            scaled[i * columns + j] = w * row[j];
        }
        kernels().sgemm_tile(scaled, 1, columns, some, rest, rows.data() + first * step + from, step,
                             (step - from) / width, sums + from, step);
      }
      for (Index j = 0; j < some; ++j)
        for (Index l = j0 + j; l < q; ++l)
          grams[static_cast<std::size_t>((k * q + j0 + j) * q + l)] += static_cast<double>(sums[j * step + l]);
    });
  }
  parallel(classes, threads, [&](Index k, int) {
    for (Index j = 0; j < q; ++j)
      for (Index l = j + 1; l < q; ++l)
        grams[static_cast<std::size_t>((k * q + l) * q + j)] = grams[static_cast<std::size_t>((k * q + j) * q + l)];
  });
}

} // namespace tenfold
