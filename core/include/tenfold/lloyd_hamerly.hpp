// Lloyd's algorithm with bounds that make most comparisons unnecessary (Hamerly 2010; groups of centres as in Ding et
// al. 2015, Yinyang). The assignment is that of nearest_centre_float32.hpp, sample by sample.
//
// A sample has the number of its centre, an upper bound u on its distance, and for each group of centres a lower bound
// l_g on the distances from the others in it. When centres move, u grows by the move of its own centre, and l_g shrinks
// by the largest move in the group. While u < l_g no centre of the group can be nearer. Else u is computed exactly, and
// if u < l_g still does not hold, the sample is compared with that group: such samples are batched, so that the
// comparison is a product of many samples with a panel of centres. Bounds are rounded outwards and include the error of
// float32 scores.
//
// The sums of each centre are those of the previous step plus the samples that changed their centre; samples that keep
// theirs are not read. `again` sums all samples, with the bits of kmeans_assign.hpp.
//
// A group is as many panels of centres as make a comparison dearer than updating its bound, at most 24 groups:
// 4 (2 + 24) bytes a sample. Bounds of the samples of a chunk are adjacent, group after group. Samples of weight zero
// are skipped.
// Flops: 2 n p k for the first step, then the comparisons that remain; bytes: X once, then the bounds and samples that
// are compared.
#pragma once

#include "tenfold/directed_rounding.hpp"
#include "tenfold/kmeans_assign.hpp"

namespace tenfold {

// Prefetches a sample.
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

template <class Rows> class LloydHamerly {
public:
  LloydHamerly(const Rows &rows, std::span<const double> weights) : x_(rows), weight_(weights) {
    check_weights(weights);
  }

  Assignment step(std::span<const double> centres, Index k, std::span<const double> place, int threads) {
    const CentresFloat32 c = centres_for(x_, centres, k);
    const bool first = begin(c);
    const Index p = x_.columns, size = k * p + 2 * k, stride = (size + lanes - 1) / lanes * lanes;
    const Index chunks = (x_.rows + chunk_ - 1) / chunk_, slots = std::min(chunks, assign_slots(x_, k, stride));
    Buffer changes(slots * stride);
    std::vector<Index> compared(at(slots));
    while (static_cast<Index>(work_.size()) < slots) // kept: to clear it takes as long as a step of few samples
      work_.emplace_back(x_, chunk_);
    parallel(slots, threads, [&](Index slot, int) {
      const Range range = partition_range(chunks, slots, slot);
      Work &work = work_[at(slot)];
      for (Index chunk = range.begin; chunk < range.end; ++chunk) {
        first ? enter_all(chunk, c, work) : enter_open(chunk, c, work);
        compared[at(slot)] += compare(c, work, first);
        for (Index i = 0; i < work.batch.count; ++i)
          move_row(c, work, i, first, place.data(), changes.data() + slot * stride);
        work.batch.count = 0;
      }
    });
    compared_ = 0;
    for (const Index count : compared)
      compared_ += count;
    merge_partitions(changes.data(), slots, stride, size, threads);
    for (Index i = 0; i < size; ++i)
      sums_[at(i)] += changes[i];
    before_.assign(centres.begin(), centres.end());
    return collect_sums(k, place);
  }

  // The sums of the last step, of all samples.
  Assignment again(Index k, std::span<const double> place, int threads) const {
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

  // Comparisons of the last step, in units of a sample with all centres.
  double compared() const { return static_cast<double>(compared_) / static_cast<double>(std::max<Index>(1, groups_)); }

private:
  // Scores of a sample with some groups: the best, its centre and group (-1: its own centre, by its upper bound), the
  // second best of that group, and the best of the other groups.
  struct BestScores {
    double best, rest, others;
    std::int32_t number;
    Index group;
  };
  struct Work {
    CentreBatch batch;
    std::vector<BestScores> scores_of; // of the batch
    std::vector<double> margin;
    std::vector<float> least; // bounds of the rows of the chunk
    std::vector<Index> open;  // rows of the chunk that their bounds leave open
    float *bounds = nullptr;
    Index begin = 0; // the first row of the chunk

    Work(const Rows &x, Index chunk)
        : batch(make_batch(x)), scores_of(at(chunk)), margin(at(chunk)), least(at(chunk)), open(at(chunk)) {}
    Index place(Index i) const { return batch.row[at(i)] - begin; }
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
  bool begin(const CentresFloat32 &c) {
    if (before_.size() != c.values.size()) {
      const Index lane = kernels().singles;
      const Index worth = (96 + x_.columns - 1) / std::max<Index>(1, x_.columns);
      group_panels_ = std::max((c.panels + most_groups - 1) / most_groups, std::min(worth, c.panels));
      group_size_ = group_panels_ * lane;
      groups_ = (c.panels + group_panels_ - 1) / group_panels_;
      chunk_ = make_batch(x_).most();
      number_.assign(at(x_.rows), 0);
      upper_.assign(at(x_.rows), 0.0f);
      lower_.assign(at((x_.rows + chunk_ - 1) / chunk_ * chunk_ * groups_), 0.0f);
      sums_.assign(at(c.count * (c.columns + 2)), 0.0);
      return true;
    }
    move_.assign(at(c.count), 0.0f);
    move_gap_.assign(at(c.count), 0.0f);
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
    decrease_.assign(at(groups_), 0.0f);
    for (Index g = 0; g < groups_; ++g) {
      const Drift &drift = drifts[at(g)];
      decrease_[at(g)] = round_up(drift.most);
      if (drift.who >= 0)
        move_gap_[at(drift.who)] = round_down(down * (drift.most - drift.next));
    }
    return false;
  }

  // Selects a chunk and returns its number of samples.
  Index select_chunk(Index chunk, Work &work) {
    work.begin = chunk * chunk_;
    work.bounds = lower_.data() + work.begin * groups_;
    return std::min(chunk_, x_.rows - work.begin);
  }
  void enter_all(Index chunk, const CentresFloat32 &c, Work &work) {
    const Index count = select_chunk(chunk, work);
    for (Index row = work.begin; row < work.begin + count; ++row)
      if (weight(row) > 0.0)
        enter(x_, row, c, work.batch);
  }
  // Updates the bounds of a chunk; samples whose centre may have changed enter the batch.
  void enter_open(Index chunk, const CentresFloat32 &c, Work &work) {
    const Index count = select_chunk(chunk, work);
    kernels().drift(work.bounds, chunk_, groups_, count, static_cast<float>(down), decrease_.data(), work.least.data());
    Index open = 0;
    for (Index i = 0; i < count; ++i) {
      const Index row = work.begin + i, own = number_[at(row)];
      upper_[at(row)] = static_cast<float>(up) * upper_[at(row)] + move_[at(own)];
      if (move_gap_[at(own)] > 0.0f)
        credit_own_move(work, i, own);
      if (!(upper_[at(row)] < work.least[at(i)]) && weight(row) > 0.0) {
        work.open[at(open++)] = i;
        fetch(x_, row);
      }
    }
    for (Index o = 0; o < open; ++o) {
      const Index i = work.open[at(o)], row = work.begin + i;
      upper_[at(row)] = round_up(up * std::sqrt(distance_to(x_, row, c, number_[at(row)])));
      if (!(upper_[at(row)] < work.least[at(i)]))
        enter(x_, row, c, work.batch);
    }
  }
  // The centre with the largest move of its group is the sample's own: the bound on the others shrinks by less.
  void credit_own_move(Work &work, Index i, Index own) {
    work.bounds[group_of(own) * chunk_ + i] += move_gap_[at(own)];
    float least = std::numeric_limits<float>::infinity();
    for (Index g = 0; g < groups_; ++g)
      least = std::min(least, work.bounds[g * chunk_ + i]);
    work.least[at(i)] = least;
  }

  // A lower bound on a distance, from a score with an error of at most the margin; zero where something overflowed.
  float bound(double square, double score, double margin, const CentresFloat32 &c) const {
    const double left = square - 2.0 * score - margin;
    return left > 0.0 && std::isfinite(square) ? static_cast<float>(down * std::sqrt(left) / c.unit) : 0.0f;
  }

  // Compares the batch with the groups that its bounds do not exclude; returns the number of comparisons.
  Index compare(const CentresFloat32 &c, Work &work, bool first) {
    const Index batched = work.batch.count;
    for (Index i = 0; i < batched; ++i) {
      const Index row = work.batch.row[at(i)], own = number_[at(row)];
      const double square = work.batch.square[at(i)], distance = c.unit * static_cast<double>(upper_[at(row)]);
      work.margin[at(i)] = c.margin(square, entries_of(x_, row)) + 4.0 * float32_roundoff * square;
      const bool alone = !first && upper_[at(row)] < work.bounds[group_of(own) * chunk_ + work.place(i)];
      const double start = alone ? (square - distance * distance) / 2.0 : nothing;
      work.scores_of[at(i)] = {start, nothing, nothing, static_cast<std::int32_t>(own), -1};
    }
    Index list[nearest_centre_samples], count = 0, total = 0;
    for (Index g = 0; g < groups_; ++g) {
      const float *bounds = work.bounds + g * chunk_;
      for (Index i = 0; i < batched; ++i) {
        if (!first && upper_[at(work.batch.row[at(i)])] < bounds[work.place(i)])
          continue;
        list[count++] = i;
        if (count == nearest_centre_samples) {
          score_group(c, work, list, count, g);
          total += count;
          count = 0;
        }
      }
      score_group(c, work, list, count, g);
      total += count;
      count = 0;
    }
    return total;
  }
  void score_group(const CentresFloat32 &c, Work &work, const Index *list, Index count, Index g) {
    if (count == 0)
      return;
    Scores scores;
    const Index from = g * group_panels_;
    score_panels(x_, work.batch, list, count, c, from, std::min(c.panels, from + group_panels_), scores);
    float *bounds = work.bounds + g * chunk_;
    for (Index n = 0; n < count; ++n) {
      const std::size_t i = at(list[n]);
      const auto score = static_cast<double>(scores.best[n]);
      bounds[work.place(list[n])] = bound(work.batch.square[i], score, work.margin[i], c);
      BestScores &s = work.scores_of[i];
      if (score > s.best) {
        s = {score, static_cast<double>(scores.second[n]), std::max({s.others, s.best, s.rest}), scores.number[n], g};
      } else {
        s.others = std::max(s.others, score);
      }
    }
  }

  // Assigns a sample of the batch to its nearest centre, and moves it between the sums.
  void move_row(const CentresFloat32 &c, const Work &work, Index i, bool first, const double *place, double *sums) {
    const Index row = work.batch.row[at(i)], from = number_[at(row)], k = c.count, p = c.columns;
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

  // Sums of a centre without samples are rounding alone: they become zero.
  Assignment collect_sums(Index k, std::span<const double> place) const {
    const Index p = x_.columns;
    Assignment out{std::vector<double>(at(k)), std::vector<double>(at(k * p)), 0.0};
    for (Index c = 0; c < k; ++c)
      if (sums_[at(k * p + k + c)] > 0.0) {
        out.weight[at(c)] = sums_[at(k * p + c)];
        std::copy_n(sums_.data() + c * p, p, out.sums.data() + c * p);
      }
    subtract_place(x_, out, place);
    return out;
  }

  void decide(const CentresFloat32 &c, const Work &work, Index i, bool first) {
    const Index row = work.batch.row[at(i)], own = number_[at(row)], home = group_of(own);
    const double square = work.batch.square[at(i)], margin = work.margin[at(i)];
    const BestScores &s = work.scores_of[at(i)];
    const auto bound_of = [&](Index g) -> float & { return work.bounds[g * chunk_ + work.place(i)]; };
    const double distance = c.unit * static_cast<double>(upper_[at(row)]);
    // the upper bound is a little more than the distance
    const double slack = margin + (first ? 0.0 : 8e-6 * distance * distance);
    Index number = s.number;
    const bool sure = s.best - std::max(s.rest, s.others) > slack;
    if (sure && s.group >= 0) {
      bound_of(s.group) = bound(square, s.rest, margin, c); // on the others of its group
    } else if (!sure) {
      number = nearest_centre_float64(x_, row, c);
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
  std::vector<double> sums_;           // (k, p) sums, (k) weights, (k) rows
  std::vector<float> move_, move_gap_; // (k) how far centres moved, and by how much less the others of their group did
  std::vector<float> decrease_;        // (groups)
  std::vector<Work> work_;             // of each slot
};

} // namespace tenfold
