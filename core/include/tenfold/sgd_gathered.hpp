// The scan of one learner over dense rows in an order that jumps about: other threads bring the rows together ahead of
// it.
//
// A row that is not where the last one was costs a trip to memory, which takes longer than its arithmetic. While the
// learner works on one chunk of rows, helpers copy the next one, in its order, to a place of its own. The copies are
// the rows, and the learner takes them in the same order: the bits are those of `scan`. For steps of one row: a step of
// several would have to keep rows of a chunk that is gone.
#pragma once

#include "tenfold/pool.hpp"
#include "tenfold/sgd.hpp"

#include <cstring>

namespace tenfold {

template <class T> class Chunk {
public:
  Chunk(Index rows, Index columns)
      : x_(static_cast<std::size_t>(rows * columns)), y_(static_cast<std::size_t>(rows)), weight_(y_.size()),
        columns_(columns) {}

  // Copies the rows at positions [begin, end) to places from `to` on; rows that are passed over get no weight.
  void bring(const Dense<T> &x, std::span<const double> y, std::span<const double> weight,
             std::span<const std::uint8_t> skip, const std::int32_t *order, Index begin, Index end, Index to) {
    const RowOf<Dense<T>> rows{x};
    constexpr Index ahead = 8;
    for (Index position = begin; position < end; ++position, ++to) {
      if (position + ahead < end)
        rows.fetch(order[position + ahead]);
      const auto i = static_cast<std::size_t>(order[position]);
      std::memcpy(x_.data() + to * columns_, rows.at(order[position]), static_cast<std::size_t>(columns_) * sizeof(T));
      const auto place = static_cast<std::size_t>(to);
      y_[place] = y[i];
      weight_[place] = !skip.empty() && skip[i] != 0 ? 0.0 : (weight.empty() ? 1.0 : weight[i]);
    }
  }

  void learn(Learner &l, Index count) const {
    scan(Dense<T>{x_.data(), count, columns_}, y_, weight_, {}, {}, l, 0, count);
  }

private:
  std::vector<T> x_;
  std::vector<double> y_, weight_;
  Index columns_;
};

// Whether a second thread would have something to do: rows that jump about in more memory than a cache holds.
template <class T> bool gathering_pays(const Dense<T> &x, const Learner &l, int threads) {
  constexpr double large = 8e6;
  const double bytes = static_cast<double>(x.rows) * static_cast<double>(x.columns) * sizeof(T);
  return threads > 1 && l.rule.batch == 1 && !l.order.empty() && bytes > large;
}

template <class T>
void scan_gathered(const Dense<T> &x, std::span<const double> y, std::span<const double> weight,
                   std::span<const std::uint8_t> skip, Learner &l, Index begin, Index end, int threads) {
  constexpr Index bytes = 1 << 19, most_helpers = 3, parts = 4;
  const Index rows = std::max<Index>(16, bytes / (x.columns * static_cast<Index>(sizeof(T))));
  Chunk<T> chunks[2] = {{rows, x.columns}, {rows, x.columns}};
  const auto bring = [&](Chunk<T> &chunk, Index first, Index part) {
    const Index last = std::min(end, first + rows), from = first + (last - first) * part / parts;
    chunk.bring(x, y, weight, skip, l.order.data(), from, first + (last - first) * (part + 1) / parts, from - first);
  };
  const int workers = static_cast<int>(std::min<Index>(threads, most_helpers + 1));
  parallel(parts, workers, [&](Index part, int) { bring(chunks[0], begin, part); });
  for (Index first = begin; first < end && l.finite; first += rows) {
    const Index count = std::min(end, first + rows) - first, next = first + rows;
    Chunk<T> &now = chunks[0];
    // item 0 learns, the others bring what comes next
    parallel(next < end ? parts + 1 : 1, workers, [&](Index item, int) {
      if (item == 0)
        now.learn(l, count);
      else
        bring(chunks[1], next, item - 1);
    });
    std::swap(chunks[0], chunks[1]);
  }
}

} // namespace tenfold
