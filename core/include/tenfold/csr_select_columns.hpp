// Some columns of compressed rows, compressed by columns: out of X (n x p), root_i x_ij for the columns j that are
// chosen, one after the other in any order.
//
// The rows are read once, in their order; a bit a column, which lie in the first-level cache, says whether an entry is
// wanted. Those that are are written side by side, and sorted by columns afterwards: rows come in increasing order.
// Bytes: the indices once, and the chosen entries. What is returned does not depend on how the rows were cut.
#pragma once

#include "tenfold/deterministic_partition.hpp"
#include "tenfold/tile_products.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tenfold {

template <class I> struct ChosenColumns {
  std::vector<double> data;
  std::vector<I> indices; // rows
  std::vector<std::int64_t> indptr;
};

// root: empty for ones. chosen: columns, each at most once.
template <class T, class I>
ChosenColumns<I> chosen_columns(const Sparse<T, I> &x, std::span<const std::int64_t> chosen,
                                std::span<const double> root, int threads) {
  struct Hit {
    std::int64_t entry;
    I row, place;
  };
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  const Index p = x.columns, q = static_cast<Index>(chosen.size());
  std::vector<std::uint64_t> wanted(at(p / 64 + 1));
  std::vector<I> place(at(p));
  for (Index k = 0; k < q; ++k) {
    const std::int64_t j = chosen[at(k)];
    wanted[at(j / 64)] |= std::uint64_t{1} << (j % 64);
    place[at(j)] = static_cast<I>(k);
  }
  const Index slots = slot_count(x.rows, 0.5 * row_work(x));
  std::vector<std::vector<Hit>> hits(at(slots));
  std::vector<std::int64_t> begins(at(slots * q)); // of a column in a slot: how many at first, then where they go
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    std::vector<Hit> &own = hits[at(slot)];
    std::int64_t *counts = begins.data() + slot * q;
    for (Index i = range.begin; i < range.end; ++i)
      for (std::int64_t k = x.indptr[at(i)]; k < x.indptr[at(i + 1)]; ++k) {
        const auto j = static_cast<std::uint64_t>(static_cast<std::int64_t>(x.indices[at(k)]));
        if (j >= static_cast<std::uint64_t>(p)) [[unlikely]]
          require_columns(false);
        if (wanted[j / 64] >> (j % 64) & 1u) {
          own.push_back({k, static_cast<I>(i), place[j]});
          ++counts[place[j]];
        }
      }
  });
  ChosenColumns<I> out;
  out.indptr.resize(at(q + 1));
  std::int64_t next = 0;
  for (Index k = 0; k < q; ++k) {
    out.indptr[at(k)] = next;
    for (Index slot = 0; slot < slots; ++slot) {
      const std::int64_t count = begins[at(slot * q + k)];
      begins[at(slot * q + k)] = next;
      next += count;
    }
  }
  out.indptr[at(q)] = next;
  out.data.resize(at(next));
  out.indices.resize(at(next));
  parallel(slots, threads, [&](Index slot, int) {
    std::int64_t *to = begins.data() + slot * q;
    for (const Hit &hit : hits[at(slot)]) {
      const std::size_t here = at(to[hit.place]++);
      const double value = static_cast<double>(x.data[at(hit.entry)]);
      out.data[here] = root.empty() ? value : root[at(hit.row)] * value;
      out.indices[here] = hit.row;
    }
  });
  return out;
}

} // namespace tenfold
