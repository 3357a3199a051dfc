// Steps of Lloyd from one to the next, with bounds that make most comparisons unnecessary (Hamerly 2010; groups as in
// Ding et al. 2015, Yinyang). The assignment is that of nearest.hpp, row by row; only the work is less.
//
// A row remembers the number of its centre, an upper bound u on the distance from it, and for each group of centres a
// lower bound l_g on the distances from the others in it. When centres move, u grows by the move of its own, and l_g
// falls by the largest move in the group. While u < l_g no centre of the group can be nearer. Else u is computed anew,
// and if that does not help, the row is compared with the groups that are left: rows that wait are collected, so that
// the comparison is a product of many rows with a panel of centres. Bounds are rounded outwards, and scores in single
// precision enter them with their errors.
//
// Sums of the rows of each centre are those of the step before and what rows that went elsewhere change, so that rows
// which stay are not read at all; `again` sums all rows anew, with the bits of assign.hpp.
//
// Groups are panels of centres side by side, as many as make the comparison of a row with one dearer than what is known
// about it, at most 24: 4 (2 + 24) bytes a row. Bounds of the rows of a chunk stand side by side, group after group.
// Rows of weight zero are passed over.
// Flops: 2 n p k for the first step, then for what is left; bytes: X once, then the bounds and what is left.
#pragma once

#include "tenfold/assign.hpp"
#include "tenfold/directed_rounding.hpp"

namespace tenfold {

// Brings a row on its way from memory.
template <class T> void fetch(const Dense<T> &x, Index row) {
  const char *from = reinterpret_cast<const char *>(x.data + row * x.columns);
  const Index bytes = std::min<Index>(1024, x.columns * static_cast<Index>(sizeof(T)));
  for (Index b = 0; b < bytes; b += 64)
    __builtin_prefetch(from + b);
}
template <class T, class I> void fetch(const Sparse<T, I> &x, Index row) {
  __builtin_prefetch(x.data.data() + x.indptr.data()[row]);
  __builtin_prefetch(x.indices.data() + x.indptr.data()[row]);
}

template <class Rows> class Lloyd {
public:
  Lloyd(const Rows &rows, std::span<const double> weights) : x_(rows), weight_(weights) { check_weights(weights); }

  Assigned step(std::span<const double> centres, Index k, std::span<const double> place, int threads) {
    const Centres c = centres_for(x_, centres, k);
    const bool first = begin(c);
    const Index p = x_.columns, size = k * p + 2 * k, stride = (size + lanes - 1) / lanes * lanes;
    const Index chunks = (x_.rows + chunk_ - 1) / chunk_, slots = std::min(chunks, assign_slots(x_, k, stride));
    Buffer changes(slots * stride);
    std::vector<Index> compared(at(slots));
    parallel(slots, threads, [&](Index slot, int) {
      const Range range = partition_range(chunks, slots, slot);
      Work work(x_, chunk_);
      for (Index chunk = range.begin; chunk < range.end; ++chunk) {
        first ? enter_all(chunk, c, work) : enter_open(chunk, c, work);
        compared[at(slot)] += compare(c, work, first);
        for (Index i = 0; i < work.contest.count; ++i)
          move_row(c, work, i, first, place.data(), changes.data() + slot * stride);
        work.contest.count = 0;
      }
    });
    compared_ = 0;
    for (const Index count : compared)
      compared_ += count;
    merge_partitions(changes.data(), slots, stride, size, threads);
    for (Index i = 0; i < size; ++i)
      sums_[at(i)] += changes[i];
    before_.assign(centres.begin(), centres.end());
    return found(k, place);
  }

  // The sums of the last step, anew.
  Assigned again(Index k, std::span<const double> place, int threads) const {
    const Index p = x_.columns, stride = assign_stride(k, p), slots = assign_slots(x_, k, stride);
    Buffer sums(slots * stride);
    parallel(slots, threads, [&](Index slot, int) {
      const Range range = partition_range(x_.rows, slots, slot);
      double *own = sums.data() + slot * stride;
      for (Index i = range.begin; i < range.end; ++i)
        if (const double w = weight(i); w > 0.0) {
          own[k * p + number_[at(i)]] += w;
          add_to(x_, i, w, place.data(), own + number_[at(i)] * p);
        }
    });
    return merged(x_, sums, slots, k, place, threads);
  }

  Index centres() const { return before_.empty() ? 0 : static_cast<Index>(before_.size()) / x_.columns; }

  // Comparisons of a row with a group in the last step, as rows with all groups.
  double compared() const { return static_cast<double>(compared_) / static_cast<double>(std::max<Index>(1, groups_)); }

private:
  // Where a row stands that was compared with some groups: its best score, whose it is and in which group (-1: that of
  // its own centre, by its upper bound), the next best of that group, and the best of the other groups.
  struct Standing {
    double best, rest, others;
    std::int32_t number;
    Index group;
  };
  struct Work {
    Contest contest;
    std::vector<Standing> standing; // of the rows that wait
    std::vector<double> margin;
    std::vector<float> least; // bounds of the rows of the chunk
    std::vector<Index> open;  // rows of the chunk that their bounds leave open
    float *bounds = nullptr;
    Index begin = 0; // the first row of the chunk

    Work(const Rows &x, Index chunk)
        : contest(contest_for(x)), standing(at(chunk)), margin(at(chunk)), least(at(chunk)), open(at(chunk)) {}
    Index place(Index i) const { return contest.row[at(i)] - begin; }
  };
  struct Drift {
    double most = 0.0, next = 0.0; // the largest moves of a group
    Index who = -1;
  };

  static constexpr double up = 1.0 + 1e-6, down = 1.0 - 1e-6;
  static constexpr Index most_groups = 24;
  static constexpr double nothing = -std::numeric_limits<double>::infinity();

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  double weight(Index i) const { return weight_.empty() ? 1.0 : weight_.data()[i]; }
  Index group_of(Index k) const { return k / group_size_; }

  // Prepares the bounds for moved centres: true where there are none yet.
  bool begin(const Centres &c) {
    if (before_.size() != c.values.size()) {
      const Index lane = kernels().singles;
      const Index worth = (96 + x_.columns - 1) / std::max<Index>(1, x_.columns);
      group_panels_ = std::max((c.panels + most_groups - 1) / most_groups, std::min(worth, c.panels));
      group_size_ = group_panels_ * lane;
      groups_ = (c.panels + group_panels_ - 1) / group_panels_;
      chunk_ = contest_for(x_).most();
      number_.assign(at(x_.rows), 0);
      upper_.assign(at(x_.rows), 0.0f);
      lower_.assign(at((x_.rows + chunk_ - 1) / chunk_ * chunk_ * groups_), 0.0f);
      sums_.assign(at(c.count * (c.columns + 2)), 0.0);
      return true;
    }
    move_.assign(at(c.count), 0.0f);
    spared_.assign(at(c.count), 0.0f);
    std::vector<Drift> drifts(at(groups_));
    for (Index k = 0; k < c.count; ++k) {
      const double *was = before_.data() + k * c.columns;
      const double move = up * std::sqrt(kernels().dense<double>().square_distance(was, c.at(k), c.columns));
      move_[at(k)] = round_up(move);
      Drift &drift = drifts[at(group_of(k))];
      if (move > drift.most)
        drift = {move, drift.most, k};
      else
        drift.next = std::max(drift.next, move);
    }
    fall_.assign(at(groups_), 0.0f);
    for (Index g = 0; g < groups_; ++g) {
      const Drift &drift = drifts[at(g)];
      fall_[at(g)] = round_up(drift.most);
      if (drift.who >= 0)
        spared_[at(drift.who)] = round_down(down * (drift.most - drift.next));
    }
    return false;
  }

  // Chooses a chunk: how many rows it has.
  Index turn_to(Index chunk, Work &work) {
    work.begin = chunk * chunk_;
    work.bounds = lower_.data() + work.begin * groups_;
    return std::min(chunk_, x_.rows - work.begin);
  }
  void enter_all(Index chunk, const Centres &c, Work &work) {
    const Index count = turn_to(chunk, work);
    for (Index row = work.begin; row < work.begin + count; ++row)
      if (weight(row) > 0.0)
        enter(x_, row, c, work.contest);
  }
  // Moves the bounds of the rows of a chunk; those whose centre may have changed will be compared.
  void enter_open(Index chunk, const Centres &c, Work &work) {
    const Index count = turn_to(chunk, work);
    kernels().drift(work.bounds, chunk_, groups_, count, static_cast<float>(down), fall_.data(), work.least.data());
    Index open = 0;
    for (Index i = 0; i < count; ++i) {
      const Index row = work.begin + i, own = number_[at(row)];
      upper_[at(row)] = static_cast<float>(up) * upper_[at(row)] + move_[at(own)];
      if (spared_[at(own)] > 0.0f)
        spare(work, i, own);
      if (!(upper_[at(row)] < work.least[at(i)]) && weight(row) > 0.0) {
        work.open[at(open++)] = i;
        fetch(x_, row);
      }
    }
    for (Index o = 0; o < open; ++o) {
      const Index i = work.open[at(o)], row = work.begin + i;
      upper_[at(row)] = round_up(up * std::sqrt(distance_to(x_, row, c, number_[at(row)])));
      if (!(upper_[at(row)] < work.least[at(i)]))
        enter(x_, row, c, work.contest);
    }
  }
  // The centre that moved most of its group is the row's own: the others moved less.
  void spare(Work &work, Index i, Index own) {
    work.bounds[group_of(own) * chunk_ + i] += spared_[at(own)];
    float least = std::numeric_limits<float>::infinity();
    for (Index g = 0; g < groups_; ++g)
      least = std::min(least, work.bounds[g * chunk_ + i]);
    work.least[at(i)] = least;
  }

  // A lower bound on a distance, from a score that is right up to the margin; zero where something overflowed.
  float bound(double square, double score, double margin, const Centres &c) const {
    const double left = square - 2.0 * score - margin;
    return left > 0.0 && std::isfinite(square) ? static_cast<float>(down * std::sqrt(left) / c.unit) : 0.0f;
  }

  // Compares the rows that wait with what their bounds leave: how many comparisons.
  Index compare(const Centres &c, Work &work, bool first) {
    const Index waiting = work.contest.count;
    for (Index i = 0; i < waiting; ++i) {
      const Index row = work.contest.row[at(i)], own = number_[at(row)];
      const double square = work.contest.square[at(i)], away = c.unit * static_cast<double>(upper_[at(row)]);
      work.margin[at(i)] = c.margin(square, entries_of(x_, row)) + 4.0 * single_roundoff * square;
      const bool alone = !first && upper_[at(row)] < work.bounds[group_of(own) * chunk_ + work.place(i)];
      const double start = alone ? (square - away * away) / 2.0 : nothing;
      work.standing[at(i)] = {start, nothing, nothing, static_cast<std::int32_t>(own), -1};
    }
    Index list[contest_rows], count = 0, total = 0;
    for (Index g = 0; g < groups_; ++g) {
      const float *bounds = work.bounds + g * chunk_;
      for (Index i = 0; i < waiting; ++i) {
        if (!first && upper_[at(work.contest.row[at(i)])] < bounds[work.place(i)])
          continue;
        list[count++] = i;
        if (count == contest_rows) {
          contest_group(c, work, list, count, g);
          total += count;
          count = 0;
        }
      }
      contest_group(c, work, list, count, g);
      total += count;
      count = 0;
    }
    return total;
  }
  void contest_group(const Centres &c, Work &work, const Index *list, Index count, Index g) {
    if (count == 0)
      return;
    Scores scores;
    const Index from = g * group_panels_;
    contest_panels(x_, work.contest, list, count, c, from, std::min(c.panels, from + group_panels_), scores);
    float *bounds = work.bounds + g * chunk_;
    for (Index n = 0; n < count; ++n) {
      const std::size_t i = at(list[n]);
      const auto score = static_cast<double>(scores.best[n]);
      bounds[work.place(list[n])] = bound(work.contest.square[i], score, work.margin[i], c);
      Standing &s = work.standing[i];
      if (score > s.best) {
        s = {score, static_cast<double>(scores.second[n]), std::max({s.others, s.best, s.rest}), scores.number[n], g};
      } else {
        s.others = std::max(s.others, score);
      }
    }
  }

  // A row of the contest goes to its nearest centre, and its sums go with it.
  void move_row(const Centres &c, const Work &work, Index i, bool first, const double *place, double *sums) {
    const Index row = work.contest.row[at(i)], from = number_[at(row)], k = c.count, p = c.columns;
    decide(c, work, i, first);
    const Index to = number_[at(row)];
    const double w = weight(row);
    if (first || to != from) {
      add_to(x_, row, w, place, sums + to * p);
      sums[k * p + to] += w;
      sums[k * p + k + to] += 1.0;
    }
    if (!first && to != from) {
      add_to(x_, row, -w, place, sums + from * p);
      sums[k * p + from] -= w;
      sums[k * p + k + from] -= 1.0;
    }
  }

  // What is left of the sums of a centre without rows is rounding.
  Assigned found(Index k, std::span<const double> place) const {
    const Index p = x_.columns;
    Assigned out{std::vector<double>(at(k)), std::vector<double>(at(k * p)), 0.0};
    for (Index c = 0; c < k; ++c)
      if (sums_[at(k * p + k + c)] > 0.0) {
        out.weight[at(c)] = sums_[at(k * p + c)];
        std::copy_n(sums_.data() + c * p, p, out.sums.data() + c * p);
      }
    move_to(x_, out, place);
    return out;
  }

  void decide(const Centres &c, const Work &work, Index i, bool first) {
    const Index row = work.contest.row[at(i)], own = number_[at(row)], home = group_of(own);
    const double square = work.contest.square[at(i)], margin = work.margin[at(i)];
    const Standing &s = work.standing[at(i)];
    const auto bound_of = [&](Index g) -> float & { return work.bounds[g * chunk_ + work.place(i)]; };
    const double away = c.unit * static_cast<double>(upper_[at(row)]);
    // the upper bound is a little more than the distance
    const double slack = margin + (first ? 0.0 : 8e-6 * away * away);
    Index number = s.number;
    const bool sure = s.best - std::max(s.rest, s.others) > slack;
    if (sure && s.group >= 0) {
      bound_of(s.group) = bound(square, s.rest, margin, c); // on the others of its group
    } else if (!sure) {
      number = nearest_in_double(x_, row, c);
      bound_of(group_of(number)) = 0.0f;
    }
    if (!first && number == own)
      return;
    if (!first) // what is known of the group is about the others
      bound_of(home) = std::min(bound_of(home), static_cast<float>(down * down * static_cast<double>(upper_[at(row)])));
    const double left = square - 2.0 * s.best + margin;
    const double from = sure && left >= 0.0 && std::isfinite(left) ? std::sqrt(left) / c.unit
                                                                   : std::sqrt(distance_to(x_, row, c, number));
    number_[at(row)] = static_cast<std::int32_t>(number);
    upper_[at(row)] = round_up(up * from);
  }

  Rows x_;
  std::span<const double> weight_;
  Index groups_ = 0, group_panels_ = 1, group_size_ = 1, chunk_ = 1, compared_ = 0;
  std::vector<std::int32_t> number_;
  std::vector<float> upper_;
  Singles lower_; // (chunks, groups, rows of a chunk)
  Weights before_;
  std::vector<double> sums_;         // (k, p) sums, (k) weights, (k) rows
  std::vector<float> move_, spared_; // (k) how far centres moved, and by how much less the others of their group did
  std::vector<float> fall_;          // (groups)
};

} // namespace tenfold
