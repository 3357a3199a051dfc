// Viterbi decoding against exhaustive search, and the updates of the structured perceptron against their definition.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/viterbi.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

using Path = std::vector<std::int32_t>;

void test_moves(const std::string &isa) {
  for (const Index tags : {1, 2, 7, 8, 9, 31, 32, 33, 50, 70}) {
    auto score = normal(index(tags), 1), move = normal(index(tags * tags), 2);
    for (std::size_t e = 0; e < move.size(); e += 3)
      move[e] = std::round(move[e]); // some ties
    for (double &value : score)
      value = std::round(value);
    std::vector<double> best(index(tags)), back(index(tags));
    kernels().viterbi_step(score.data(), move.data(), tags, best.data(), back.data());
    for (Index b = 0; b < tags; ++b) {
      Index from = 0;
      for (Index a = 1; a < tags; ++a)
        if (score[index(a)] + move[index(a * tags + b)] > score[index(from)] + move[index(from * tags + b)])
          from = a;
      const std::string what = isa + " a step with " + std::to_string(tags) + " tags";
      check(back[index(b)] == static_cast<double>(from), what + ": the first of the best");
      check(best[index(b)] == score[index(from)] + move[index(from * tags + b)], what + ": its score");
    }
  }
}

void fill(TagWeights &w, unsigned seed) {
  for (std::vector<double> *part : {&w.emission, &w.transition, &w.start, &w.end})
    *part = normal(part->size(), seed++);
}

double score_of(const Matrix<double> &x, Index begin, const TagWeights &w, Index tags, const Path &path) {
  double score = w.start[index(path.front())] + w.end[index(path.back())];
  for (std::size_t t = 0; t < path.size(); ++t) {
    for (Index j = 0; j < x.p; ++j)
      score += x(begin + static_cast<Index>(t), j) * w.emission[index(j * tags + path[t])];
    if (t > 0)
      score += w.transition[index(path[t - 1] * tags + path[t])];
  }
  return score;
}

// The best of all paths, by trying them.
Path best_of_all(const Matrix<double> &x, Index begin, Index length, const TagWeights &w, Index tags) {
  Path path(index(length)), best = path;
  for (;;) {
    if (score_of(x, begin, w, tags, path) > score_of(x, begin, w, tags, best))
      best = path;
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == static_cast<std::int32_t>(tags))
      path[t++] = 0;
    if (t == path.size())
      return best;
  }
}

void test_paths(const std::string &isa) {
  const Matrix<double> x(40, 5, 0.5, 3);
  for (const Index tags : {1, 2, 4}) {
    TagWeights w(x.p, tags);
    fill(w, 4);
    Viterbi best(w, tags);
    for (const Index length : {6, 1, 5, 2}) { // shorter ones after longer ones, in the same memory
      Path path(index(length));
      const double score = best(x.sparse(), 7, 7 + length, path);
      check(path == best_of_all(x, 7, length, w, tags), isa + " the best path of " + std::to_string(length));
      check_close(score, score_of(x, 7, w, tags, path), 1e-12, isa + " its score");
    }
    check(best(x.sparse(), 7, 7, {}) == 0.0, isa + " a sequence without tokens");
  }
}

// Sequences of four tokens; the mean of the weights after each, and the weights, by the definition.
void test_learning(const std::string &isa) {
  constexpr Index tags = 3, length = 4, sequences = 10;
  const Matrix<double> x(length * sequences, 6, 0.4, 5);
  std::mt19937_64 random(6);
  Path gold(index(x.n));
  for (std::int32_t &tag : gold)
    tag = static_cast<std::int32_t>(random() % 3);
  Tagger tagger(x.p, tags);
  TagWeights now(x.p, tags), total(x.p, tags);
  const auto add = [&](Index begin, const Path &path, double a) {
    now.start[index(path.front())] += a, now.end[index(path.back())] += a;
    for (std::size_t t = 0; t < path.size(); ++t) {
      for (Index j = 0; j < x.p; ++j)
        now.emission[index(j * tags + path[t])] += a * x(begin + static_cast<Index>(t), j);
      if (t > 0)
        now.transition[index(path[t - 1] * tags + path[t])] += a;
    }
  };
  const auto parts = [](TagWeights &w) { return std::array{&w.emission, &w.transition, &w.start, &w.end}; };
  for (Index s = 0; s < 2 * sequences; ++s) {
    const Index begin = s % sequences * length;
    const double weight = s % 2 == 0 ? 1.0 : 0.5;
    const Path result = best_of_all(x, begin, length, now, tags);
    const Path own(gold.begin() + begin, gold.begin() + begin + length);
    Index wrong = 0;
    for (std::size_t t = 0; t < own.size(); ++t)
      wrong += own[t] != result[t];
    if (s > 0) // before the first sequence all paths are equal
      check(tagger.learn(x.sparse(), begin, begin + length, own, weight) == wrong, isa + " wrong tags");
    else
      tagger.learn(x.sparse(), begin, begin + length, own, weight);
    const Path first(index(length), 0);
    add(begin, own, weight), add(begin, s > 0 ? result : first, -weight);
    const auto from = parts(now), to = parts(total);
    for (std::size_t k = 0; k < from.size(); ++k)
      for (std::size_t e = 0; e < from[k]->size(); ++e)
        (*to[k])[e] += (*from[k])[e];
  }
  check(tagger.seen == 2.0 * sequences && tagger.finite, isa + " sequences seen");
  const auto last = parts(tagger.weights), sums = parts(tagger.sums), from = parts(now), mean = parts(total);
  for (std::size_t k = 0; k < last.size(); ++k)
    for (std::size_t e = 0; e < last[k]->size(); ++e) {
      check_close((*last[k])[e], (*from[k])[e], 1e-12, isa + " weights");
      check_close((*last[k])[e] - (*sums[k])[e] / tagger.seen, (*mean[k])[e] / tagger.seen, 1e-12, isa + " their mean");
    }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    test_moves(isa);
    test_paths(isa);
    test_learning(isa);
  });
  return result();
}
