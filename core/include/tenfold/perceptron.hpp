// The perceptron, one-vs-rest and multiclass: samples one after the other, updates at mistakes.
//
// Given samples x_i with classes c_i, and scores z_k = x.w_k + b_k.
//   one-vs-rest   every target k is a binary problem, y = +1 for its class and -1 for the others (two classes: one
//   target, +1 for
//                 class 1). A mistake is y z <= 0, or, where `positive`, a prediction other than y with +1 predicted at
//                 z = 0. Then  w_k += a y x, b_k += a y.
//   multiclass    (`joint`) a mistake is z_c <= z_r for the best other class r (where `positive`, ties go to the larger
//   class).
//                 Then  w_c += a x, w_r -= a x, and the same for b.
// a = eta times the sample weight, divided by the norm of (x, 1), or of x without an intercept, where `normalise`. With
// `batch` the scores are those of the weights at the start of the pass.
//
// For averaged weights, s += t a y x beside w += a y x, t the number of samples seen before: the mean of the weights
// over T samples, each after its sample, is w - s / T.
//
// One pass over the samples in the given order, for all targets, or (one-vs-rest) for one that has an order of its own.
// Rosenblatt 1958; Freund and Schapire 1999; Collins 2002.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/ordered_prefetch.hpp"
#include "tenfold/row_access.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct PerceptronRule {
  bool joint = false;
  bool positive = false;
  bool intercept = true;
  bool normalise = false;
  bool batch = false;
};

// The state of training. Weights and sums are targets x columns; mistakes and loss, the sum of max(0, -margin), are
// those of the pass.
struct PerceptronState {
  Index targets = 0, columns = 0;
  PerceptronRule rule;
  double eta = 1.0;
  std::vector<std::int32_t> active; // targets that are still trained (one-vs-rest)
  Weights coef, sums, read;
  std::vector<double> intercept, sum_intercept, read_intercept;
  double seen = 0.0;
  std::vector<std::int64_t> mistakes;
  std::vector<double> loss, z;
  bool finite = true;

  void begin_pass() {
    std::fill(mistakes.begin(), mistakes.end(), 0);
    std::fill(loss.begin(), loss.end(), 0.0);
    if (rule.batch)
      read = coef, read_intercept = intercept;
  }
};

// Log of the updates of a scan: sample, the other class (multiclass; else the target), the number of samples seen
// before, and the step. `counts` (one per sample, or empty) counts the mistakes of each sample.
struct PerceptronUpdates {
  bool keep = false;
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> others;
  std::vector<double> times, steps;
  std::span<std::int32_t> counts;

  void reserve(std::size_t most) { rows.reserve(most), others.reserve(most), times.reserve(most), steps.reserve(most); }
};

template <class Rows> class PerceptronScan {
public:
  // label (n), weight (n, or empty: ones).
  PerceptronScan(const Rows &x, std::span<const std::int32_t> label, std::span<const double> weight,
                 PerceptronState &state, PerceptronUpdates &updates, Index target = -1)
      : first_(target < 0 ? 0 : target), last_(target < 0 ? state.targets : target + 1), row_{x}, label_(label),
        weight_(weight), state_(state), updates_(updates), rule_(state.rule),
        read_(rule_.batch ? state.read.data() : state.coef.data()),
        read_intercept_(rule_.batch ? state.read_intercept.data() : state.intercept.data()) {}

  void operator()(std::span<const std::int64_t> order) {
    constexpr std::size_t ahead = 16; // rows of prefetch distance
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k + ahead < order.size())
        row_.prefetch(static_cast<Index>(order[k + ahead]));
      const Index i = static_cast<Index>(order[k]);
      if (rule_.joint)
        update_multiclass(i);
      else
        update_one_vs_rest(i);
      state_.seen += 1.0;
    }
  }

  // The same with prefetching helper threads, for dense rows.
  void process_prefetched(std::span<const std::int64_t> order, int threads) {
    const auto part = [order](Index first, Index last) {
      return order.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    };
    const auto prefetch_chunk = [part, row = row_, label = label_](Index first, Index last) {
      for (const std::int64_t i : part(first, last)) {
        row.prefetch_l2(static_cast<Index>(i));
        __builtin_prefetch(label.data() + i);
      }
      row.wait_for_row(static_cast<Index>(part(first, last).back()));
    };
    const Index bytes = state_.columns * static_cast<Index>(sizeof(typename Rows::Value));
    tenfold::process_prefetched(0, static_cast<Index>(order.size()), bytes, threads, prefetch_chunk,
                                [&](Index first, Index last) { (*this)(part(first, last)); });
  }

private:
  double score(Index i, Index k) const {
    const double z = row_.dot(i, read_ + k * state_.columns) + read_intercept_[k];
    state_.finite &= std::isfinite(z);
    return z;
  }

  void update_one_vs_rest(Index i) {
    const std::int32_t c = label_[static_cast<std::size_t>(i)];
    for (Index k = first_; k < last_; ++k) {
      const std::size_t s = static_cast<std::size_t>(k);
      if (!state_.active[s])
        continue;
      const bool is_positive = state_.targets == 1 ? c == 1 : c == static_cast<std::int32_t>(k);
      const double y = is_positive ? 1.0 : -1.0, margin = y * score(i, k);
      if (margin > 0.0 || (rule_.positive && is_positive && margin == 0.0))
        continue;
      state_.loss[s] -= margin;
      ++state_.mistakes[s];
      const double a = step_of(i);
      if (a == 0.0)
        continue;
      log_update(i, static_cast<std::int32_t>(k), a * y);
      update(i, k, a * y);
    }
  }

  void update_multiclass(Index i) {
    const Index c = label_[static_cast<std::size_t>(i)];
    Index runner_up = -1;
    for (Index k = 0; k < state_.targets; ++k) {
      const std::size_t s = static_cast<std::size_t>(k);
      state_.z[s] = score(i, k);
      if (k != c && (runner_up < 0 || state_.z[s] >= state_.z[static_cast<std::size_t>(runner_up)]))
        runner_up = k; // ties go to the larger class
    }
    const double margin = state_.z[static_cast<std::size_t>(c)] - state_.z[static_cast<std::size_t>(runner_up)];
    if (margin > 0.0 || (rule_.positive && c > runner_up && margin == 0.0))
      return;
    state_.loss[0] -= margin;
    ++state_.mistakes[0];
    const double a = step_of(i);
    if (a == 0.0)
      return;
    log_update(i, static_cast<std::int32_t>(runner_up), a);
    update(i, c, a);
    update(i, runner_up, -a);
  }

  double step_of(Index i) const {
    const double a = weight_.empty() ? state_.eta : state_.eta * weight_[static_cast<std::size_t>(i)];
    if (!rule_.normalise)
      return a;
    const double square = row_.squared_norm(i) + (rule_.intercept ? 1.0 : 0.0);
    return square > 0.0 ? a / std::sqrt(square) : a;
  }

  void log_update(Index i, std::int32_t other, double a) const {
    if (!updates_.counts.empty())
      ++updates_.counts[static_cast<std::size_t>(i)];
    if (!updates_.keep)
      return;
    updates_.rows.push_back(i);
    updates_.others.push_back(other);
    updates_.times.push_back(state_.seen);
    updates_.steps.push_back(a);
  }

  void update(Index i, Index k, double a) const {
    const std::size_t s = static_cast<std::size_t>(k);
    row_.axpy(i, a, state_.coef.data() + k * state_.columns);
    if (rule_.intercept)
      state_.intercept[s] += a;
    if (state_.sums.empty())
      return;
    row_.axpy(i, a * state_.seen, state_.sums.data() + k * state_.columns);
    if (rule_.intercept)
      state_.sum_intercept[s] += a * state_.seen;
  }

  const Index first_, last_; // range of targets
  RowAccess<Rows> row_;
  std::span<const std::int32_t> label_;
  std::span<const double> weight_;
  PerceptronState &state_;
  PerceptronUpdates &updates_;
  const PerceptronRule rule_;
  const double *read_;
  const double *read_intercept_;
};

} // namespace tenfold
