// Linear-chain sequence labelling: Viterbi decoding and the averaged structured perceptron.
//
// The score of tags y_1 ... y_L for tokens x_1 ... x_L is
//   start[y_1] + sum_t (x_t . emission[y_t]) + sum_t transition[y_t, y_t+1] + end[y_L].
// Viterbi's recursion finds the best tags in L K^2 operations; ties go to the smaller tag, compared from the end. The
// perceptron adds the features of the true tags and subtracts those of the predicted ones, where they differ (Collins
// 2002), times the sequence weight. For averaged weights, sums accumulate t times every update, t being the number of
// sequences seen before: the mean after T sequences is w - sums / T.
//
// Emissions are columns x tags, so that a feature meets contiguous tags.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct TagWeights {
  std::vector<double> emission, transition, start, end;

  TagWeights(Index columns, Index tags)
      : emission(static_cast<std::size_t>(columns * tags)), transition(static_cast<std::size_t>(tags * tags)),
        start(static_cast<std::size_t>(tags)), end(static_cast<std::size_t>(tags)) {}
};

using Tokens = Sparse<double, std::int32_t>;

// The decoder with its work space: one per thread.
class Viterbi {
public:
  Viterbi(const TagWeights &weights, Index tags)
      : w_(weights), tags_(tags), scores_(static_cast<std::size_t>(tags)), next_(scores_.size()) {}

  // Writes the best tags of the tokens [begin, finish) to path and returns their score.
  double operator()(const Tokens &x, Index begin, Index finish, std::span<std::int32_t> path) {
    const std::size_t length = static_cast<std::size_t>(finish - begin), k = scores_.size();
    if (length == 0)
      return 0.0;
    if (back_.size() < length * k)
      back_.resize(length * k);
    std::copy(w_.start.begin(), w_.start.end(), scores_.begin());
    emit(x, begin, scores_.data());
    for (std::size_t t = 1; t < length; ++t) {
      kernels_.viterbi_step(scores_.data(), w_.transition.data(), tags_, next_.data(), back_.data() + t * k);
      emit(x, begin + static_cast<Index>(t), next_.data());
      std::swap(scores_, next_);
    }
    for (std::size_t b = 0; b < k; ++b)
      scores_[b] += w_.end[b];
    const auto best = std::max_element(scores_.begin(), scores_.end());
    auto tag = static_cast<std::size_t>(best - scores_.begin());
    for (std::size_t t = length - 1; t > 0; --t) {
      path[t] = static_cast<std::int32_t>(tag);
      tag = static_cast<std::size_t>(back_[t * k + tag]);
    }
    path[0] = static_cast<std::int32_t>(tag);
    return *best;
  }

private:
  void emit(const Tokens &x, Index token, double *z) const {
    const auto row = static_cast<std::size_t>(token);
    for (auto e = static_cast<std::size_t>(x.indptr[row]); e < static_cast<std::size_t>(x.indptr[row + 1]); ++e)
      kernels_.f64.axpy(x.data[e], w_.emission.data() + static_cast<Index>(x.indices[e]) * tags_, tags_, z);
  }

  const TagWeights &w_;
  const Kernels &kernels_ = kernels();
  Index tags_;
  std::vector<double> scores_, next_, back_;
};

class Tagger {
public:
  Tagger(Index columns_, Index tags_)
      : weights(columns_, tags_), sums(columns_, tags_), columns(columns_), tags(tags_), best_(weights, tags_) {}
  Tagger(const Tagger &) = delete;
  Tagger &operator=(const Tagger &) = delete;

  TagWeights weights, sums;
  Index columns, tags;
  double seen = 0.0;
  bool finite = true; // scores so far

  // Perceptron update with one sequence; returns the number of wrong tags.
  Index learn(const Tokens &x, Index begin, Index finish, std::span<const std::int32_t> gold, double weight) {
    path_.resize(gold.size());
    finite &= std::isfinite(best_(x, begin, finish, path_));
    Index wrong = 0;
    for (std::size_t t = 0; t < path_.size(); ++t)
      wrong += path_[t] != gold[t];
    if (wrong > 0) {
      change(x, begin, gold, weight);
      change(x, begin, path_, -weight);
    }
    seen += 1.0;
    return wrong;
  }

private:
  void change(const Tokens &x, Index begin, std::span<const std::int32_t> path, double a) {
    const auto add = [&](std::vector<double> &w, std::vector<double> &sum, Index where, double value) {
      w[static_cast<std::size_t>(where)] += value;
      sum[static_cast<std::size_t>(where)] += seen * value;
    };
    add(weights.start, sums.start, path.front(), a);
    add(weights.end, sums.end, path.back(), a);
    for (std::size_t t = 0; t < path.size(); ++t) {
      if (t > 0)
        add(weights.transition, sums.transition, path[t - 1] * tags + path[t], a);
      const std::size_t token = static_cast<std::size_t>(begin) + t;
      for (auto e = static_cast<std::size_t>(x.indptr[token]); e < static_cast<std::size_t>(x.indptr[token + 1]); ++e)
        add(weights.emission, sums.emission, static_cast<Index>(x.indices[e]) * tags + path[t], a * x.data[e]);
    }
  }

  Viterbi best_;
  std::vector<std::int32_t> path_;
};

} // namespace tenfold
