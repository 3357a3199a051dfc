// Stochastic gradient descent for linear models: one scan over the samples, a step per sample or mini-batch.
//
// Steps t = 1, 2, ... decrease  mean_i s_i loss(y_i, w.x_i + b) + alpha ((1 - l1) / 2 ||w||^2 + l1 ||w||_1):
//   w <- max(0, 1 - (1 - l1) eta alpha) w - eta mean(s_i loss'_i x_i)      b <- b - decay eta mean(s_i loss'_i)
// with the mean over the mini-batch, then the L1 part by cumulative truncation (see isa/row_ops.hpp). s_i is the sample
// weight times that of its class; decay < 1 slows the intercept of sparse data, whose features are seen more rarely.
// The learning rate eta is
//   constant, adaptive   eta0 (adaptive: the caller decreases `eta`)
//   optimal              1 / (alpha (t0 + t - 1)), t0 of Bottou: the first step is as long as typical weights
//   invscaling           eta0 / t^power; power 1 is the 1/t of Robbins and Monro
//   pa1, pa2             passive-aggressive (Crammer et al. 2006): min(eta0, loss / ||x||^2) or
//                        loss / (||x||^2 + 1 / (2 eta0)), towards lower loss; pa1 skips zero rows
// One class (Schoelkopf's nu = alpha): y = 1, and additionally b <- b - decay eta alpha. From step `average` on the
// iterates are averaged.
//
// w = scale v, and the sum of the iterates is `total` + lag v: decay and averaging cost O(1) per step, so that a sparse
// row costs its nonzeros. `order` lists the rows in processing order.
//
// Lower bound for n samples, p columns: 4 n p flops (2 n p where the loss is flat), and the bytes of X once an epoch.
// At p = 100 in float64 a row is 800 bytes, some 80 ns from memory and 30 ns of arithmetic: memory dominates, so rows
// are prefetched, and evaluating the loss beside its derivative is free.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/ordered_prefetch.hpp"
#include "tenfold/permutation.hpp"
#include "tenfold/row_access.hpp"
#include "tenfold/sgd_losses.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

enum class Schedule { constant, adaptive, optimal, invscaling, pa1, pa2 };

struct SgdParameters {
  SgdLoss loss = SgdLoss::hinge;
  double epsilon = 0.0;
  bool penalised = false; // alpha may serve the schedule alone
  double alpha = 0.0;
  double l1 = 0.0;
  Schedule schedule = Schedule::constant;
  double eta0 = 1.0;
  double power = 0.5;
  bool intercept = true;
  double decay = 1.0;
  bool one_class = false;
  Index average = 0; // 0: none
  Index batch = 1;
  Index positive_class =
      -1; // one-vs-rest: targets are +1 where y is this class and -1 elsewhere; below 0: targets are y
  double positive = 1.0, negative = 1.0; // class weights of targets above zero, and of the others
};

struct SgdLearner {
  SgdParameters parameters;
  Weights v;
  double scale = 1.0, b = 0.0;
  double sums[2] = {}; // ||v||^2 and ||v||_1
  Weights total;
  double lag = 0.0, total_b = 0.0, averaged = 0.0;
  Weights q;
  double due = 0.0;
  double t = 1.0, eta = 0.0, t0 = 0.0;
  std::vector<std::int32_t> order;
  Index max_row = -1;      // the largest row number of the order
  std::vector<Index> rows; // of the current mini-batch, with their steps u
  std::vector<double> u;
  Index pending = 0;
  double eta_now = 0.0;
  // of the current epoch
  double loss = 0.0, objective = 0.0;
  Index seen = 0;
  bool finite = true;

  SgdLearner(const SgdParameters &values, std::span<const double> coef, double intercept, double first)
      : parameters(values), v(coef.begin(), coef.end()), b(intercept), t(first), eta(values.eta0),
        rows(static_cast<std::size_t>(values.batch)), u(static_cast<std::size_t>(values.batch)) {
    if (parameters.penalised && parameters.l1 > 0.0)
      q.assign(v.size(), 0.0);
    if (parameters.schedule == Schedule::optimal) {
      const double typical = std::sqrt(1.0 / std::sqrt(parameters.alpha));
      const double slope = loss_at(parameters.loss, parameters.epsilon, 1.0, -typical).slope;
      t0 = std::max(1.0, slope) / (typical * parameters.alpha);
    }
    begin();
  }

  // Continues from the average of `count` iterates.
  void resume(std::span<const double> coef, double intercept, double count) {
    total.assign(coef.begin(), coef.end());
    for (double &value : total)
      value *= count;
    total_b = intercept * count;
    averaged = count;
  }

  // Begins an epoch: the norms of v are recomputed, so that rounding does not build up.
  void begin() {
    loss = objective = 0.0;
    seen = 0;
    sums[0] = sums[1] = 0.0;
    for (const double value : v) {
      sums[0] += value * value;
      sums[1] += std::fabs(value);
    }
  }

  void shuffle(std::uint32_t seed) { reshuffle(seed, std::span(order)); }

  bool passive_aggressive() const {
    return parameters.schedule == Schedule::pa1 || parameters.schedule == Schedule::pa2;
  }

  double rate() const {
    if (parameters.schedule == Schedule::optimal)
      return 1.0 / (parameters.alpha * (t0 + t - 1.0));
    if (parameters.schedule != Schedule::invscaling)
      return eta;
    if (parameters.power == 0.5)
      return eta / std::sqrt(t);
    if (parameters.power == 0.25)
      return eta / std::sqrt(std::sqrt(t));
    return parameters.power == 1.0 ? eta / t : eta / std::pow(t, parameters.power);
  }

  double penalty() const {
    if (!parameters.penalised || passive_aggressive())
      return 0.0;
    const double square = scale * scale * sums[0], size = scale * sums[1];
    return parameters.alpha *
           ((1.0 - parameters.l1) * 0.5 * square + parameters.l1 * size + (parameters.one_class ? b : 0.0));
  }

  // Applies the scale and the lag to the vectors: scale becomes one, lag zero.
  void apply_scale() {
    for (std::size_t j = 0; j < v.size(); ++j) {
      if (!total.empty())
        total[j] += lag * v[j];
      v[j] *= scale;
    }
    sums[0] *= scale * scale;
    sums[1] *= scale;
    lag = 0.0;
    scale = 1.0;
  }

  bool all_finite() const {
    bool good = finite && std::isfinite(b) && std::isfinite(scale);
    for (const double value : v)
      good &= std::isfinite(value);
    return good;
  }
};

// The pending L1 penalty: on all weights for dense rows, on those of the mini-batch's nonzeros for sparse ones.
template <class T> void truncate_l1(const RowAccess<Dense<T>> &row, SgdLearner &l) {
  double *total = l.total.empty() ? nullptr : l.total.data();
  kernels().truncate_l1(l.v.data(), l.q.data(), total, row.x.columns, l.scale, l.due, l.lag, l.sums);
}

template <class T, class I> void truncate_l1_row(const RowAccess<Sparse<T, I>> &row, SgdLearner &l, Index i) {
  const I *indices = row.x.indices.data();
  double *w = l.v.data(), *q = l.q.data(), *total = l.total.empty() ? nullptr : l.total.data();
  const double scale = l.scale, inverse = 1.0 / l.scale, due = l.due, lag = l.lag;
  double norm_sq_change = 0.0, norm_l1_change = 0.0;
  for (std::size_t e = row.first(i); e < row.first(i + 1); ++e) {
    const auto j = static_cast<std::size_t>(indices[e]);
    const double value = w[j], paid = q[j];
    const double down = value - (due + paid) * inverse, up = value + (due - paid) * inverse;
    const double next = value > 0.0 ? (down > 0.0 ? down : 0.0) : (value < 0.0 ? (up < 0.0 ? up : 0.0) : value);
    const double change = next - value;
    q[j] = paid + scale * change;
    if (total != nullptr)
      total[j] -= lag * change;
    norm_sq_change += change * (value + next);
    norm_l1_change += std::fabs(next) - std::fabs(value);
    w[j] = next;
  }
  l.sums[0] += norm_sq_change;
  l.sums[1] += norm_l1_change;
}

template <class T, class I> void truncate_l1(const RowAccess<Sparse<T, I>> &row, SgdLearner &l) {
  for (Index k = 0; k < l.pending; ++k)
    truncate_l1_row(row, l, l.rows[static_cast<std::size_t>(k)]);
}

// One step with the current mini-batch.
template <class Rows> void step(const RowAccess<Rows> &x, SgdLearner &l) {
  const SgdParameters &parameters = l.parameters;
  // total and lag v cancel: with averaging, a small scale loses digits
  const double smallest = parameters.average > 0 ? 1e-4 : 1e-9;
  const double eta = l.eta_now, inverse_count = 1.0 / static_cast<double>(l.pending);
  if (parameters.penalised && parameters.l1 < 1.0) {
    l.scale *= std::max(0.0, 1.0 - (1.0 - parameters.l1) * eta * parameters.alpha);
    if (l.scale < smallest)
      l.apply_scale();
  }
  double intercept_step = 0.0;
  for (Index k = 0; k < l.pending; ++k) {
    const double u = l.u[static_cast<std::size_t>(k)] * inverse_count;
    if (u == 0.0)
      continue;
    const Index i = l.rows[static_cast<std::size_t>(k)];
    intercept_step += u;
    x.axpy_with_norms(i, u / l.scale, l.v.data(), l.sums);
    if (l.lag != 0.0)
      x.axpy(i, -l.lag * (u / l.scale), l.total.data());
  }
  if (parameters.intercept)
    l.b += parameters.decay * (intercept_step - (parameters.one_class ? eta * parameters.alpha : 0.0));
  if (parameters.penalised && parameters.l1 > 0.0) {
    l.due += parameters.l1 * eta * parameters.alpha;
    truncate_l1(x, l);
  }
  if (parameters.average > 0 && static_cast<double>(parameters.average) <= l.t) {
    l.lag += l.scale;
    l.total_b += l.b;
    l.averaged += 1.0;
  }
  l.t += 1.0;
  l.pending = 0;
}

// Adds row i to the mini-batch; false where its score is not finite.
template <class Rows> bool add_sample(const RowAccess<Rows> &x, SgdLearner &l, Index i, double target, double weight) {
  constexpr double max_derivative = 1e12; // clips derivatives, as scikit-learn does
  const SgdParameters &parameters = l.parameters;
  const double y =
      parameters.positive_class < 0 ? target : (target == static_cast<double>(parameters.positive_class) ? 1.0 : -1.0);
  const double z = l.scale * x.dot(i, l.v.data()) + l.b;
  if (!std::isfinite(z))
    return false;
  if (l.pending == 0)
    l.eta_now = l.rate();
  const LossPoint at = loss_at(parameters.loss, parameters.epsilon, y, z);
  l.loss += at.value;
  l.objective += at.value + l.penalty();
  l.seen += 1;
  double u = -l.eta_now * std::clamp(at.slope, -max_derivative, max_derivative);
  if (l.passive_aggressive()) {
    const double square = x.squared_norm(i);
    if (!std::isfinite(square))
      return false;
    if (parameters.schedule == Schedule::pa1 && square == 0.0)
      return true;
    const double length = parameters.schedule == Schedule::pa1 ? std::min(parameters.eta0, at.value / square)
                                                               : at.value / (square + 0.5 / parameters.eta0);
    const bool by_class = parameters.loss == SgdLoss::hinge || parameters.loss == SgdLoss::perceptron;
    u = length * (by_class ? y : (y - z < 0.0 ? -1.0 : 1.0));
  }
  const auto k = static_cast<std::size_t>(l.pending++);
  l.rows[k] = i;
  l.u[k] = u * weight * (y > 0.0 ? parameters.positive : parameters.negative);
  if (l.pending == parameters.batch)
    step(x, l);
  return true;
}

// Processes positions [begin, end) of the order (empty: the rows themselves). Samples of weight zero and skipped ones
// (empty: none) are passed over. The last mini-batch ends with the range.
template <class Rows>
void scan(const Rows &rows, std::span<const double> y, std::span<const double> weight,
          std::span<const std::uint8_t> skip, std::span<const std::int32_t> order, SgdLearner &l, Index begin,
          Index end) {
  constexpr Index ahead = 4; // rows of prefetch distance
  const RowAccess<Rows> x{rows};
  const auto row = [&](Index position) {
    return order.empty() ? position : static_cast<Index>(order[static_cast<std::size_t>(position)]);
  };
  for (Index position = begin; position < end && l.finite; ++position) {
    if (position + ahead < end)
      x.prefetch(row(position + ahead));
    if (position + 1 < end)
      x.prefetch_weights(row(position + 1), l.v.data());
    const Index i = row(position);
    const auto at = static_cast<std::size_t>(i);
    if ((!weight.empty() && weight[at] == 0.0) || (!skip.empty() && skip[at] != 0))
      continue;
    l.finite = add_sample(x, l, i, y[at], weight.empty() ? 1.0 : weight[at]);
  }
  if (l.finite && l.pending > 0)
    step(x, l);
}

// The same with prefetching helper threads, for dense rows in random order and single-sample steps.
template <class T>
void scan_prefetched(const Dense<T> &rows, std::span<const double> y, std::span<const double> weight,
                     std::span<const std::uint8_t> skip, SgdLearner &l, Index begin, Index end, int threads) {
  const std::span<const std::int32_t> order = l.order;
  const auto prefetch_chunk = [x = RowAccess<Dense<T>>{rows}, y, order](Index first, Index last) {
    const auto part = order.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    for (const std::int32_t i : part) {
      x.prefetch_l2(i);
      __builtin_prefetch(y.data() + i);
    }
    x.wait_for_row(part.back());
  };
  process_prefetched(begin, end, rows.columns * static_cast<Index>(sizeof(T)), threads, prefetch_chunk,
                     [&](Index first, Index last) { scan(rows, y, weight, skip, l.order, l, first, last); });
}

} // namespace tenfold
