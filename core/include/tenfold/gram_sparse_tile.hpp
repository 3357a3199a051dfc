// A tile of very sparse rows: the outer products of their nonzeros, sorted by column.
//
// Cost: half the squared number of nonzeros of a row, one scattered multiply-add each; dense panels cost half the
// squared number of columns at sixteen multiply-adds a step, so lists pay below about one nonzero in five.
#pragma once

#include "tenfold/gram.hpp"

#include <cmath>
#include <utility>

namespace tenfold {

class SparseTile {
public:
  explicit SparseTile(const GramShape &shape) : shape_(shape) { starts_.push_back(0); }

  Index room() const { return gram_rows - (static_cast<Index>(starts_.size()) - 1); }
  void clear() {
    entries_.clear();
    starts_.resize(1);
  }

  // Appends rows begin ... begin + count of the design, times root.
  template <class T, class I>
  void pack(const Design<Sparse<T, I>> &design, Index begin, Index count, const double *root) {
    for (Index i = 0; i < count; ++i) {
      const Index row = design.row(begin + i);
      const std::int64_t *ends = design.x.indptr.data() + row;
      const std::size_t first = entries_.size();
      bool ascending = true;
      Index last = -1;
      for (Index k = ends[0]; k < ends[1]; ++k) {
        const Index j = static_cast<Index>(design.x.indices.data()[k]);
        require_columns(j >= 0 && j < shape_.features);
        ascending &= j > last;
        last = j;
        entries_.push_back(entry(j, static_cast<double>(design.x.data.data()[k]) * design.unit[j] * root[i]));
      }
      if (!ascending)
        sort_and_merge(first);
      entries_.push_back(entry(shape_.features, root[i]));
      for (Index k = 0; k < shape_.targets; ++k) {
        const auto c = static_cast<std::size_t>(k);
        const double centred = design.y[row * shape_.targets + k] * design.y_unit[c] - design.y_centre[c];
        entries_.push_back(entry(shape_.features + 1 + k, centred * root[i]));
      }
      starts_.push_back(entries_.size());
    }
  }

  // Columns of y are multiplied with those of X, the ones and themselves.
  void multiply(const Blocks &part, double *blocks) const {
    const Index first = part.j0 * shape_.panel, last = part.j1 * shape_.panel;
    for (std::size_t r = 0; r + 1 < starts_.size(); ++r) {
      const Entry *row = entries_.data() + starts_[r], *end = entries_.data() + starts_[r + 1];
      const Entry *targets = end - shape_.targets;
      const auto before = [](const Entry &e, Index column) { return e.column < column; };
      for (const Entry *b = std::lower_bound(row, end, first, before); b < end && b->column < last; ++b) {
        double *column = blocks + b->right;
        const double value = b->value;
        for (const Entry *a = row; a < std::min(b + 1, targets); ++a)
          column[a->left] += value * a->value;
        if (b >= targets)
          column[b->left] += value * value;
      }
    }
  }

  template <class Rows> void multiply_all(const Design<Rows> &, Index, Index, double *blocks) const {
    multiply({0, shape_.panels(), 0, shape_.panels()}, blocks);
  }

  // Ranges of columns for the threads, of equal work for uniformly distributed nonzeros.
  static std::vector<Blocks> parts(const GramShape &shape, int threads) {
    const Index count = std::min<Index>(4 * threads, 64);
    std::vector<Blocks> parts;
    const double panels = static_cast<double>(shape.panels());
    Index begin = 0;
    for (Index i = 1; i <= count; ++i) {
      const double share = std::sqrt(static_cast<double>(i) / static_cast<double>(count));
      const Index end = i == count ? shape.panels() : static_cast<Index>(panels * share);
      if (end > begin)
        parts.push_back({0, shape.panels(), begin, end});
      begin = end;
    }
    return parts;
  }

private:
  // Block offset of columns i <= j: left(i) + right(j).
  struct Entry {
    Index column, left, right;
    double value;
  };

  Entry entry(Index column, double value) const {
    const Index side = shape_.panel, panel = column / side, lane = column % side;
    return {column, panel * side * side + lane, panel * (panel + 1) / 2 * side * side + lane * side, value};
  }

  // Sorts the entries from `first` on by column and sums duplicates.
  void sort_and_merge(std::size_t first) {
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, entries_.end(), [](const Entry &a, const Entry &b) { return a.column < b.column; });
    auto kept = begin;
    for (auto e = begin; e != entries_.end(); ++e) {
      if (kept != begin && (kept - 1)->column == e->column)
        (kept - 1)->value += e->value;
      else
        *kept++ = *e;
    }
    entries_.erase(kept, entries_.end());
  }

  GramShape shape_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> starts_;
};

} // namespace tenfold
