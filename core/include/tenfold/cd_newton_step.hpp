// Exact steps of coordinate descent: to the minimum of the objective of descent.hpp among the weights that are not
// zero, which descent_support.hpp finds, as far as the objective falls on the way.
#pragma once

#include "tenfold/cd_active_solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

// F of descent.hpp at the weights that the storage is at.
template <class Storage>
double objective(const Storage &storage, const ElasticNet &penalty, std::span<const double> unit,
                 std::span<const double> weights) {
  const auto p = static_cast<std::size_t>(storage.columns()), t = static_cast<std::size_t>(storage.targets());
  double norms = 0.0, lengths = 0.0;
  for (std::size_t j = 0; j < p; ++j) {
    double length = 0.0;
    for (std::size_t k = 0; k < t; ++k)
      length += weights[k * p + j] * weights[k * p + j];
    norms += unit[j] * std::sqrt(length);
    lengths += unit[j] * unit[j] * length;
  }
  return 0.5 * storage.squares(weights) + penalty.l1 * norms + 0.5 * penalty.l2 * lengths;
}

// The objective along a line of weights: a parabola whose slope turns where a weight becomes zero.
class KinkedLine {
public:
  void clear() { kinks_.clear(); }

  // `place`: how far along; `turn`: by how much the slope grows there.
  void add(double place, double turn) { kinks_.emplace_back(place, turn); }

  Index kinks_before(double place) const {
    return std::count_if(kinks_.begin(), kinks_.end(), [&](const auto &kink) { return kink.first < place; });
  }

  // How far along it is least: its slope at the start, how that grows, and the kinks.
  double least(double slope, double bend, bool positive) {
    if (!(slope < 0.0))
      return 0.0;
    std::sort(kinks_.begin(), kinks_.end());
    double step = 0.0;
    for (const auto &[place, turn] : kinks_) {
      if (slope + (place - step) * bend >= 0.0)
        break;
      slope += (place - step) * bend;
      step = place;
      if (positive || slope + turn >= 0.0)
        return step; // the least value is at the kink, or behind it weights would be negative
      slope += turn;
    }
    step -= bend > 0.0 ? slope / bend : 0.0;
    return std::isfinite(step) ? step : 0.0;
  }

private:
  std::vector<std::pair<double, double>> kinks_;
};

template <class Storage> class ExactStep {
public:
  ExactStep(Storage &storage, SupportStep &step, std::span<const double> unit, std::span<double> weights)
      : storage_(storage), step_(step), unit_(unit), weights_(weights), way_(weights.size()), here_(weights.size()),
        pull_(static_cast<std::size_t>(storage.targets())) {}

  // What a step from the present weights would cost, in the products of a sweep.
  double price(const ElasticNet &penalty) {
    step_.gather(storage_, weights_, penalty.l2);
    return step_.price(storage_);
  }

  // To the exact minimum among the weights that are not zero: those that would change their signs become zero. Where
  // the objective is not smaller there, as far on the way as it falls; if that is where a weight becomes zero, on from
  // there without it. `total` is |y|^2. Returns whether the minimum was reached.
  bool take(const ElasticNet &penalty, double total) {
    for (int turns = 0; turns < most_turns; ++turns) {
      step_.gather(storage_, weights_, penalty.l2);
      const Stop stop = towards(penalty, total);
      if (stop != Stop::at_zero)
        return stop == Stop::minimum;
    }
    return false;
  }

private:
  static constexpr int most_turns = 8;

  enum class Stop { minimum, at_zero, elsewhere };

  Stop towards(const ElasticNet &penalty, double total) {
    if (step_.support().empty() || !step_.find(storage_, penalty, unit_, weights_, way_))
      return Stop::elsewhere;
    const bool one = storage_.targets() == 1;
    const double length = one ? least(penalty) : 0.25;
    const double before =
        objective(storage_, penalty, unit_, weights_) + 4.0 * std::numeric_limits<double>::epsilon() * total;
    std::copy(weights_.begin(), weights_.end(), here_.begin());
    bool met = false;
    const auto go = [&](double step) {
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const double next = here_[i] + step * way_[i];
        const bool at_zero = one && step < 1.0 && here_[i] * way_[i] < 0.0 && -here_[i] / way_[i] == step;
        const bool crossed = one && here_[i] * next <= 0.0 && (step >= 1.0 || penalty.positive);
        met |= at_zero;
        weights_[i] = at_zero || crossed ? 0.0 : next;
      }
      storage_.reset(weights_);
      return objective(storage_, penalty, unit_, weights_) <= before;
    };
    if (go(1.0))
      return Stop::minimum;
    if (go(length)) // where many would cross, the signs are not known yet
      return met && line_.kinks_before(1.0) <= most_turns ? Stop::at_zero : Stop::elsewhere;
    std::copy(here_.begin(), here_.end(), weights_.begin());
    storage_.reset(weights_);
    return Stop::elsewhere;
  }

  // How far along the way to an exact minimum the objective is least. One target.
  double least(const ElasticNet &penalty) {
    double fall = 0.0; // of a whole step, twice
    line_.clear();
    for (const Index column : step_.support()) {
      const auto j = static_cast<std::size_t>(column);
      const double w = weights_[j], unit = unit_[j];
      storage_.pull(column, pull_.data());
      fall += way_[j] * (pull_[0] - penalty.l2 * unit * unit * w - std::copysign(penalty.l1 * unit, w));
      if (w * way_[j] < 0.0)
        line_.add(-w / way_[j], 2.0 * penalty.l1 * unit * std::abs(way_[j]));
    }
    return line_.least(-fall, fall, penalty.positive);
  }

  Storage &storage_;
  SupportStep &step_;
  std::span<const double> unit_;
  std::span<double> weights_;
  std::vector<double> way_, here_, pull_;
  KinkedLine line_;
};

} // namespace tenfold
