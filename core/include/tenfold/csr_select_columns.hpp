// Gathers selected columns of CSR rows into CSC: root_i x_ij for the selected columns j of X (n x p), in the given
// order.
//
// Rows are read once, in order; a bitmap of the columns, which fits L1, marks the selected ones. Matching entries are
// collected per partition and then counting-sorted by column, so row indices of a column are increasing. Bytes: the
// indices once, and the selected entries. The result does not depend on the partition.
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

template <class I> struct SelectedColumns {
  std::vector<double> data;
  std::vector<I> indices; // rows
  std::vector<std::int64_t> indptr;
};

// root: empty for ones. chosen: distinct columns.
template <class T, class I>
SelectedColumns<I> gather_columns(const Sparse<T, I> &x, std::span<const std::int64_t> selected,
                                  std::span<const double> root, int threads) {
  struct Hit {
    std::int64_t entry;
    I row, place;
  };
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  const Index p = x.columns, q = static_cast<Index>(selected.size());
  std::vector<std::uint64_t> is_selected(at(p / 64 + 1));
  std::vector<I> place(at(p));
  for (Index k = 0; k < q; ++k) {
    const std::int64_t j = selected[at(k)];
    is_selected[at(j / 64)] |= std::uint64_t{1} << (j % 64);
    place[at(j)] = static_cast<I>(k);
  }
  const Index partitions = partition_count(x.rows, 0.5 * row_work(x));
  std::vector<std::vector<Hit>> hits(at(partitions));
  std::vector<std::int64_t> begins(at(partitions * q)); // of each column in a partition: counts, then write positions
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    std::vector<Hit> &local = hits[at(partition)];
    std::int64_t *counts = begins.data() + partition * q;
    for (Index i = range.begin; i < range.end; ++i)
      for (std::int64_t k = x.indptr[at(i)]; k < x.indptr[at(i + 1)]; ++k) {
        const auto j = static_cast<std::uint64_t>(static_cast<std::int64_t>(x.indices[at(k)]));
        if (j >= static_cast<std::uint64_t>(p)) [[unlikely]]
          require_columns(false);
        if (is_selected[j / 64] >> (j % 64) & 1u) {
          local.push_back({k, static_cast<I>(i), place[j]});
          ++counts[place[j]];
        }
      }
  });
  SelectedColumns<I> out;
  out.indptr.resize(at(q + 1));
  std::int64_t next = 0;
  for (Index k = 0; k < q; ++k) {
    out.indptr[at(k)] = next;
    for (Index partition = 0; partition < partitions; ++partition) {
      const std::int64_t count = begins[at(partition * q + k)];
      begins[at(partition * q + k)] = next;
      next += count;
    }
  }
  out.indptr[at(q)] = next;
  out.data.resize(at(next));
  out.indices.resize(at(next));
  parallel(partitions, threads, [&](Index partition, int) {
    std::int64_t *to = begins.data() + partition * q;
    for (const Hit &hit : hits[at(partition)]) {
      const std::size_t target = at(to[hit.place]++);
      const double value = static_cast<double>(x.data[at(hit.entry)]);
      out.data[target] = root.empty() ? value : root[at(hit.row)] * value;
      out.indices[target] = hit.row;
    }
  });
  return out;
}

} // namespace tenfold
