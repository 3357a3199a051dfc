// Sequences of tokens with a tag each: the best path of tags, and the structured perceptron that learns from it.
//
// The score of tags y_1 ... y_L for tokens x_1 ... x_L is
//   start[y_1] + sum_t (x_t . emission[y_t]) + sum_t transition[y_t, y_t+1] + end[y_L].
// Viterbi's recursion finds the best tags in L K^2 steps (ties: the earlier tag). The perceptron adds the features of
// the true tags and takes away those of the best ones, where they differ (Collins 2002). For means of the weights, sums
// collect t times every change, t being the sequences seen before: the mean after T sequences is w - sums / T.
//
// Emissions are columns x tags, so that a feature meets all tags side by side.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

struct TagWeights {
  std::vector<double> emission, transition, start, end;

  TagWeights(Index columns, Index tags)
      : emission(static_cast<std::size_t>(columns * tags)), transition(static_cast<std::size_t>(tags * tags)),
        start(static_cast<std::size_t>(tags)), end(static_cast<std::size_t>(tags)) {}
};

class Tagger {
public:
  using Tokens = Sparse<double, std::int32_t>;

  Tagger(Index p, Index k) : weights(p, k), sums(p, k), columns(p), tags(k) {}

  TagWeights weights, sums;
  Index columns, tags;
  double seen = 0.0;

  // The best tags of the tokens [begin, end) go to path.
  void decode(const Tokens &x, Index begin, Index finish, std::span<std::int32_t> path) {
    const Index length = finish - begin;
    if (length == 0)
      return;
    const std::size_t k = static_cast<std::size_t>(tags);
    scores_.assign(k, 0.0), next_.assign(k, 0.0);
    back_.resize(static_cast<std::size_t>(length) * k);
    emissions(x, begin, scores_.data());
    for (std::size_t b = 0; b < k; ++b)
      scores_[b] += weights.start[b];
    for (Index t = 1; t < length; ++t)
      step(x, begin + t, back_.data() + static_cast<std::size_t>(t) * k);
    for (std::size_t b = 0; b < k; ++b)
      scores_[b] += weights.end[b];
    const auto best = std::max_element(scores_.begin(), scores_.end());
    std::int64_t tag = best - scores_.begin();
    for (Index t = length - 1; t >= 0; --t) {
      path[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(tag);
      if (t > 0)
        tag = back_[static_cast<std::size_t>(t) * k + static_cast<std::size_t>(tag)];
    }
  }

  // Learn from one sequence; how many of its tags were wrong.
  Index learn(const Tokens &x, Index begin, Index finish, std::span<const std::int32_t> gold) {
    path_.resize(static_cast<std::size_t>(finish - begin));
    decode(x, begin, finish, path_);
    Index wrong = 0;
    for (std::size_t t = 0; t < path_.size(); ++t)
      wrong += path_[t] != gold[t];
    if (wrong > 0) {
      change(x, begin, gold, 1.0);
      change(x, begin, path_, -1.0);
    }
    seen += 1.0;
    return wrong;
  }

private:
  void emissions(const Tokens &x, Index token, double *z) const {
    const std::size_t from = static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(token)]);
    const std::size_t to = static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(token) + 1]);
    for (std::size_t e = from; e < to; ++e) {
      const double value = x.data[e];
      const double *w = weights.emission.data() + static_cast<Index>(x.indices[e]) * tags;
      for (Index b = 0; b < tags; ++b)
        z[b] += value * w[b];
    }
  }

  void step(const Tokens &x, Index token, std::int64_t *back) {
    double *best = next_.data();
    for (Index b = 0; b < tags; ++b) {
      best[b] = scores_[0] + weights.transition[static_cast<std::size_t>(b)];
      back[b] = 0;
    }
    for (Index a = 1; a < tags; ++a) {
      const double score = scores_[static_cast<std::size_t>(a)];
      const double *row = weights.transition.data() + a * tags;
      for (Index b = 0; b < tags; ++b) {
        const double value = score + row[b];
        back[b] = value > best[b] ? a : back[b];
        best[b] = value > best[b] ? value : best[b];
      }
    }
    emissions(x, token, best);
    std::swap(scores_, next_);
  }

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
      for (std::int64_t e = x.indptr[token]; e < x.indptr[token + 1]; ++e) {
        const std::size_t s = static_cast<std::size_t>(e);
        add(weights.emission, sums.emission, static_cast<Index>(x.indices[s]) * tags + path[t], a * x.data[s]);
      }
    }
  }

  std::vector<double> scores_, next_;
  std::vector<std::int64_t> back_;
  std::vector<std::int32_t> path_;
};

} // namespace tenfold
