// Several steps of Lloyd's algorithm in one call, for samples so few that a call costs as much as a step.
//
// With weights n_k, sums s_k about `place` and means m_k = place + s_k / n_k of the assignment to centres c_k, a step
// moves c to m. The energy of the means is scatter - sum_k n_k |m_k - place|^2, `scatter` that of `place` alone. The
// measure of a step is the larger of sum_k |m_k - c_k|^2 / shift and sum_k n_k |m_k - c_k|^2 / (decrease energy); it
// has converged where that is at most one, or where no centre moves.
#pragma once

#include "tenfold/kmeans_assign.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct LloydRule {
  double scatter, shift, decrease;
  Index limit; // steps
};

struct LloydPath {
  std::vector<double> centres, weight, energy, measure; // (steps, k, p), (steps, k), (steps), (steps)
};

// Steps from the centres `start` (k, p) until one has converged, the limit, or one that leaves a centre without samples
// or holds numbers that are not finite: that one is not taken. `assign` returns the Assignment to given centres.
template <class Assign>
LloydPath lloyd_steps(Assign assign, std::span<const double> start, Index k, std::span<const double> place,
                      const LloydRule &rule) {
  const auto ratio = [](double value, double allowed) {
    return value == 0.0 ? 0.0 : allowed > 0.0 ? value / allowed : std::numeric_limits<double>::infinity();
  };
  const std::size_t p = place.size(), count = static_cast<std::size_t>(k);
  std::vector<double> centres(start.begin(), start.end());
  LloydPath path;
  for (Index steps = 0; steps < rule.limit; ++steps) {
    const Assignment now = assign(std::span<const double>(centres));
    double captured = 0.0, moves = 0.0, weighted = 0.0;
    bool usable = true;
    for (std::size_t c = 0; c < count; ++c) {
      usable = usable && now.weight[c] > 0.0;
      double away = 0.0, move = 0.0;
      for (std::size_t j = 0; j < p; ++j) {
        const double offset = now.sums[c * p + j] / now.weight[c], mean = place[j] + offset;
        const double step = mean - centres[c * p + j];
        away += offset * offset, move += step * step;
        centres[c * p + j] = mean;
      }
      captured += now.weight[c] * away, moves += move, weighted += now.weight[c] * move;
    }
    if (!usable || !std::isfinite(captured))
      return path;
    const double energy = std::max(0.0, rule.scatter - captured);
    const double measure = std::max(ratio(moves, rule.shift), ratio(weighted, rule.decrease * energy));
    path.centres.insert(path.centres.end(), centres.begin(), centres.end());
    path.weight.insert(path.weight.end(), now.weight.begin(), now.weight.end());
    path.energy.push_back(energy), path.measure.push_back(measure);
    if (measure <= 1.0)
      return path;
  }
  return path;
}

} // namespace tenfold
