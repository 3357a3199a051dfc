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
// about it, at most 24: 4 (2 + 24) bytes a row. Rows of weight zero are passed over.
// Flops: 2 n p k for the first step, then for what is left; bytes: X once, then the bounds and what is left.
#pragma once

#include "tenfold/assign.hpp"

namespace tenfold {

template <class Rows> class Lloyd {
public:
  Lloyd(const Rows &rows, std::span<const double> weights) : x_(rows), weight_(weights) { check_weights(weights); }

  Assigned step(std::span<const double> centres, Index k, std::span<const double> place, int threads) {
    const Centres c = centres_for(x_, centres, k);
    const bool first = begin(c);
    const Index p = x_.columns, size = k * p + 2 * k, stride = (size + lanes - 1) / lanes * lanes;
    const Index slots = assign_slots(x_, k, stride);
    Buffer changes(slots * stride);
    std::vector<Index> compared(at(slots));
    parallel(slots, threads, [&](Index slot, int) {
      const Range range = slot_range(x_.rows, slots, slot);
      Work work(x_, groups_);
      double *sums = changes.data() + slot * stride;
      for (Index start = range.begin; start < range.end; start += work.contest.most()) {
        const Index end = std::min(start + work.contest.most(), range.end);
        for (Index i = start; i < end; ++i)
          if (weight(i) > 0.0 && (first || is_open(i, c)))
            enter(x_, i, c, work.contest);
        compared[at(slot)] += compare(c, work, first);
        for (Index i = 0; i < work.contest.count; ++i)
          move_row(c, work, i, first, place.data(), sums);
        work.contest.count = 0;
      }
    });
    compared_ = 0;
    for (const Index count : compared)
      compared_ += count;
    merge_slots(changes.data(), slots, stride, size, threads);
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
      const Range range = slot_range(x_.rows, slots, slot);
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
  // The scores of rows that wait, with each group; number -1: not compared.
  struct Work {
    Contest contest;
    std::vector<float> best, second;
    std::vector<std::int32_t> number;

    Work(const Rows &x, Index groups) : contest(contest_for(x)) {
      const auto size = static_cast<std::size_t>(contest.most() * groups);
      best.resize(size);
      second.resize(size);
      number.resize(size);
    }
  };
  struct Drift {
    double most = 0.0, next = 0.0; // the largest moves of a group
    Index who = -1;
  };

  static constexpr double up = 1.0 + 1e-6, down = 1.0 - 1e-6;
  static constexpr Index most_groups = 24;

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  double weight(Index i) const { return weight_.empty() ? 1.0 : weight_.data()[i]; }
  Index group_of(Index k) const { return k / group_size_; }
  float *lower(Index row) { return lower_.data() + row * groups_; }

  // Prepares the bounds for moved centres: true where there are none yet.
  bool begin(const Centres &c) {
    if (before_.size() != c.values.size()) {
      const Index lane = kernels().singles;
      const Index worth = (96 + x_.columns - 1) / std::max<Index>(1, x_.columns);
      group_panels_ = std::max((c.panels + most_groups - 1) / most_groups, std::min(worth, c.panels));
      group_size_ = group_panels_ * lane;
      groups_ = (c.panels + group_panels_ - 1) / group_panels_;
      number_.assign(at(x_.rows), 0);
      upper_.assign(at(x_.rows), 0.0f);
      lower_.assign(at(x_.rows * groups_), 0.0f);
      sums_.assign(at(c.count * (c.columns + 2)), 0.0);
      return true;
    }
    move_.assign(at(c.count), 0.0);
    drift_.assign(at(groups_), {});
    for (Index k = 0; k < c.count; ++k) {
      const double *was = before_.data() + k * c.columns;
      const double move = up * std::sqrt(kernels().dense<double>().square_distance(was, c.at(k), c.columns));
      move_[at(k)] = move;
      Drift &drift = drift_[at(group_of(k))];
      if (move > drift.most)
        drift = {move, drift.most, k};
      else
        drift.next = std::max(drift.next, move);
    }
    return false;
  }

  // Moves the bounds of a row: whether its centre may have changed.
  bool is_open(Index row, const Centres &c) {
    const Index own = number_[at(row)];
    float *bounds = lower(row);
    double least = std::numeric_limits<double>::infinity();
    for (Index g = 0; g < groups_; ++g) {
      const Drift &drift = drift_[at(g)];
      const double bound = down * static_cast<double>(bounds[g]) - (drift.who == own ? drift.next : drift.most);
      bounds[g] = static_cast<float>(bound);
      least = std::min(least, bound);
    }
    double distance = up * static_cast<double>(upper_[at(row)]) + move_[at(own)];
    if (!(distance < down * least))
      distance = up * std::sqrt(distance_to(x_, row, c, own));
    upper_[at(row)] = static_cast<float>(distance);
    return !(up * distance < down * least);
  }

  // Compares the rows that wait with what their bounds leave: how many comparisons.
  Index compare(const Centres &c, Work &work, bool first) {
    const Index waiting = work.contest.count;
    std::fill_n(work.number.begin(), waiting * groups_, -1);
    Index list[contest_rows], count = 0, total = 0;
    Scores scores;
    for (Index g = 0; g < groups_; ++g) {
      const Index from = g * group_panels_, to = std::min(c.panels, from + group_panels_);
      const auto flush = [&] {
        contest_panels(x_, work.contest, list, count, c, from, to, scores);
        for (Index i = 0; i < count; ++i) {
          const std::size_t cell = at(list[i] * groups_ + g);
          work.best[cell] = scores.best[i];
          work.second[cell] = scores.second[i];
          work.number[cell] = scores.number[i];
        }
        total += count;
        count = 0;
      };
      for (Index i = 0; i < waiting; ++i) {
        const Index row = work.contest.row[at(i)];
        if (!first && up * static_cast<double>(upper_[at(row)]) < down * static_cast<double>(lower(row)[g]))
          continue;
        list[count++] = i;
        if (count == contest_rows)
          flush();
      }
      if (count > 0)
        flush();
    }
    return total;
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
    const double square = work.contest.square[at(i)];
    const double margin = c.margin(square, entries_of(x_, row)) + 4.0 * single_roundoff * square;
    const std::size_t cell = at(i * groups_);
    double best = -std::numeric_limits<double>::infinity(), second = best;
    Index number = own;
    const auto compare = [&](double score, Index who) {
      if (score > best) {
        second = best;
        best = score;
        number = who;
      } else {
        second = std::max(second, score);
      }
    };
    double slack = margin;
    const bool alone = !first && work.number[cell + at(home)] < 0; // its own group is out of the question, it is not
    if (alone) {
      const double away = c.unit * static_cast<double>(upper_[at(row)]);
      compare((square - away * away) / 2.0, own);
      slack += 8e-6 * away * away; // the upper bound is a little more than the distance
    }
    for (Index g = 0; g < groups_; ++g)
      if (work.number[cell + at(g)] >= 0) {
        compare(static_cast<double>(work.best[cell + at(g)]), work.number[cell + at(g)]);
        second = std::max(second, static_cast<double>(work.second[cell + at(g)]));
      }
    if (!(best - second > slack))
      number = nearest_in_double(x_, row, c);
    float *bounds = lower(row);
    for (Index g = 0; g < groups_; ++g)
      if (work.number[cell + at(g)] >= 0) {
        const bool mine = work.number[cell + at(g)] == number;
        const double score = static_cast<double>(mine ? work.second[cell + at(g)] : work.best[cell + at(g)]);
        const double left = square - 2.0 * score - margin;
        // zero where something overflowed: that is a bound, too
        bounds[g] = left > 0.0 && std::isfinite(square) ? static_cast<float>(down * std::sqrt(left) / c.unit) : 0.0f;
      }
    if (first || number != own) {
      if (alone)
        bounds[home] = std::min(bounds[home], static_cast<float>(down * down * static_cast<double>(upper_[at(row)])));
      number_[at(row)] = static_cast<std::int32_t>(number);
      upper_[at(row)] = static_cast<float>(up * std::sqrt(distance_to(x_, row, c, number)));
    }
  }

  Rows x_;
  std::span<const double> weight_;
  Index groups_ = 0, group_panels_ = 1, group_size_ = 1, compared_ = 0;
  std::vector<std::int32_t> number_;
  std::vector<float> upper_, lower_;
  Weights before_;
  std::vector<double> sums_; // (k, p) sums, (k) weights, (k) rows
  std::vector<double> move_;
  std::vector<Drift> drift_;
};

} // namespace tenfold
