// Products of the scatter of rows with vectors in single precision: what an eigensolver iterates with.
//
//   centred_singles   A = unit root_i (x_i - shift), in float32, rows padded with zeros to a multiple of 16
//   scatter_singles   V A'A for vectors V (count x columns), in float64
// A tile of rows meets both products while it is in the cache. Sums of few terms are in single precision, their sums in
// double, in slots that depend on the shape alone. Flops: 4 * rows * columns * count, in float32; bytes: A once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index singles_multiple = 16; // floats of the widest vector

inline Index singles_step(Index columns) {
  return (columns + singles_multiple - 1) / singles_multiple * singles_multiple;
}

// Empty root: ones.
template <class T>
void centred_singles(const Dense<T> &x, std::span<const double> shift, std::span<const double> root, double unit,
                     int threads, std::span<float> out) {
  const Index slots = slot_count(x.rows, static_cast<double>(x.columns) / 4.0, 64), step = singles_step(x.columns);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; ++i) {
      float *to = out.data() + i * step;
      kernels().dense<T>().to_singles(x.data + i * x.columns, x.columns, shift.data(),
                                      root.empty() ? unit : unit * root[static_cast<std::size_t>(i)], to);
      std::fill(to + x.columns, to + step, 0.0F);
    }
  });
}

using Floats = std::vector<float, OnLines<float>>;

// a: columns a multiple of 16, as `centred_singles` makes them.
inline std::vector<double> scatter_singles(const Dense<float> &a, std::span<const float> vectors, Index count,
                                           int threads) {
  constexpr Index summed_rows = 240, chunk = 512; // sums of so many rows and columns are in single precision
  constexpr Index most_numbers = 1 << 22, tile_numbers = 1 << 17; // a tile is read twice: from the second-level cache
  const Index p = a.columns, tile = std::clamp<Index>(tile_numbers / std::max<Index>(1, p) / 12 * 12, 12, 60);
  const Index together = summed_rows / tile, lanes_of = kernels().singles, groups = (count + lanes_of - 1) / lanes_of;
  const Index width = groups * lanes_of, size = count * p;
  Floats turned(static_cast<std::size_t>(p * width)); // a line of all vectors for each column
  for (Index k = 0; k < count; ++k)
    for (Index c = 0; c < p; ++c)
      turned[static_cast<std::size_t>(c * width + k)] = vectors.data()[k * p + c];
  const Index most = std::clamp<Index>(most_numbers / std::max<Index>(1, size), 2, most_slots);
  const Index slots = std::clamp<Index>(a.rows / (tile * together), 1, most);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, slots));
  struct Room {
    Room(Index of_products, Index of_sums)
        : z(static_cast<std::size_t>(of_products)), sums(static_cast<std::size_t>(of_sums)) {}
    Floats z, sums;
  };
  std::vector<Room> rooms;
  for (int w = 0; w < workers; ++w)
    rooms.emplace_back(tile * width, size);
  Buffer sums(slots * size);
  const Kernels &kernel = kernels();
  parallel(slots, workers, [&](Index slot, int worker) {
    Room &room = rooms[static_cast<std::size_t>(worker)];
    double *own = sums.data() + slot * size;
    const Range range = slot_range(a.rows, slots, slot);
    for (Index first = range.begin; first < range.end; first += tile * together) {
      const Index last = std::min(range.end, first + tile * together);
      std::fill_n(room.sums.data(), size, 0.0F);
      for (Index begin = first; begin < last; begin += tile) {
        const Index rows = std::min(tile, last - begin);
        const float *x = a.data + begin * p;
        std::fill_n(room.z.data(), rows * width, 0.0F);
        for (Index c = 0; c < p; c += chunk)
          kernel.single_sums(x + c, p, 1, rows, std::min(chunk, p - c), turned.data() + c * width, width, groups,
                             room.z.data(), width);
        kernel.single_sums(room.z.data(), 1, width, count, rows, x, p, p / lanes_of, room.sums.data(), p);
      }
      for (Index i = 0; i < size; ++i)
        own[i] += static_cast<double>(room.sums.data()[i]);
    }
  });
  merge_slots(sums.data(), slots, size, size, threads);
  return std::vector<double>(sums.data(), sums.data() + size);
}

} // namespace tenfold
