// Products of the scatter of rows with vectors in single precision: what an eigensolver iterates with.
//
//   centred_singles   A = unit root_i (x_i - shift), (rows x columns) in float32
//   scatter_singles   V A'A for vectors V (count x columns), in float64
// Tiles of rows are multiplied by BLAS, which must be on one thread; a tile meets both products while it is in the
// cache. Sums of few rows are in single precision, their sums in double, in slots that depend on the shape alone.
// Flops: 4 * rows * columns * count, in float32; bytes: A once.
#pragma once

#include "tenfold/blas.hpp"
#include "tenfold/buffer.hpp"
#include "tenfold/kernels.hpp"
#include "tenfold/slots.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

// Empty root: ones.
template <class T>
void centred_singles(const Dense<T> &x, std::span<const double> shift, std::span<const double> root, double unit,
                     int threads, std::span<float> out) {
  const Index slots = slot_count(x.rows, static_cast<double>(x.columns) / 4.0, 64);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; ++i)
      kernels().dense<T>().to_singles(x.data + i * x.columns, x.columns, shift.data(),
                                      root.empty() ? unit : unit * root[static_cast<std::size_t>(i)],
                                      out.data() + i * x.columns);
  });
}

inline std::vector<double> scatter_singles(const Dense<float> &a, std::span<const float> vectors, Index count,
                                           const Blas &blas, int threads) {
  constexpr Index tile = 128, together = 4; // tiles whose sums are in single precision
  constexpr Index most_numbers = 1 << 22;
  const Index p = a.columns, size = count * p, stride = (size + lanes - 1) / lanes * lanes;
  const Index most = std::clamp<Index>(most_numbers / std::max<Index>(1, size), 2, most_slots);
  const Index slots = std::clamp<Index>(a.rows / (tile * together), 1, most);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, slots));
  struct Room {
    std::vector<float> z, sums;
  };
  std::vector<Room> rooms(static_cast<std::size_t>(workers));
  for (Room &room : rooms) {
    room.z.resize(static_cast<std::size_t>(tile * count));
    room.sums.resize(static_cast<std::size_t>(size));
  }
  Buffer sums(slots * stride);
  parallel(slots, workers, [&](Index slot, int worker) {
    Room &room = rooms[static_cast<std::size_t>(worker)];
    double *own = sums.data() + slot * stride;
    const Range range = slot_range(a.rows, slots, slot);
    for (Index first = range.begin; first < range.end; first += tile * together) {
      const Index last = std::min(range.end, first + tile * together);
      for (Index begin = first; begin < last; begin += tile) {
        const Index rows = std::min(tile, last - begin);
        const float *x = a.data + begin * p;
        gemm(blas, {x, p, false}, {vectors.data(), p, true}, rows, count, p, room.z.data(), count);
        gemm(blas, {room.z.data(), count, true}, {x, p, false}, count, p, rows, room.sums.data(), p,
             begin == first ? 0.0F : 1.0F);
      }
      for (Index i = 0; i < size; ++i)
        own[i] += static_cast<double>(room.sums[static_cast<std::size_t>(i)]);
    }
  });
  merge_slots(sums.data(), slots, stride, size, threads);
  return std::vector<double>(sums.data(), sums.data() + size);
}

} // namespace tenfold
