// The delta rule: stochastic gradient descent, one scan over the rows, a step for each row or for a few.
//
// The steps t = 1, 2, ... go down on  mean_i s_i loss(y_i, w.x_i + b) + alpha ((1 - l1) / 2 ||w||^2 + l1 ||w||_1):
//   w <- max(0, 1 - (1 - l1) eta alpha) w - eta mean(s_i loss'_i x_i)      b <- b - decay eta mean(s_i loss'_i)
// with the mean over the rows of one step, then the L1 part by cumulative truncation (see isa/row_ops.hpp). s_i is
// the weight of the row times that of its class; decay < 1 slows the intercept of sparse rows, whose columns are seen
// more rarely. The step size eta is
//   constant, adaptive   eta0 (adaptive: the caller makes `eta` smaller)
//   optimal              1 / (alpha (t0 + t - 1)), t0 of Bottou: the first step is as long as weights may be
//   invscaling           eta0 / t^power; power 1 is the 1/t of Robbins and Monro
//   pa1, pa2             passive-aggressive (Crammer et al. 2006): the row's own step, min(eta0, loss / ||x||^2) or
//                        loss / (||x||^2 + 1 / (2 eta0)), towards the side of less loss; a row of zeros is no step of
//                        pa1
// One class (Schoelkopf's nu = alpha): y = 1, and b <- b - decay eta alpha besides. From step `average` on the iterates
// are averaged.
//
// w = scale v, and the sum of the iterates is `total` + lag v: decay and averages cost one operation a step whatever
// the number of columns, so that a sparse row costs its entries. `order` lists the rows as they are to be taken.
//
// Floor for n rows, p columns: 4 n p flops (2 n p where the loss is flat), and the bytes of X once an epoch. At p = 100
// in float64 a row is 800 bytes, some 80 ns from memory and 30 ns of arithmetic: reading rules, so that rows are
// fetched ahead, and a value of the loss beside its slope is free.
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

struct DeltaRule {
  DeltaLoss loss = DeltaLoss::hinge;
  double epsilon = 0.0;
  bool penalised = false; // alpha may be there for the schedule alone
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
  Index own = -1; // targets are +1 where y is this number and -1 elsewhere; below 0: targets are y
  double positive = 1.0, negative = 1.0; // weights of targets above zero, and of the others
};

struct Learner {
  DeltaRule rule;
  Weights v;
  double scale = 1.0, b = 0.0;
  double sums[2] = {}; // ||v||^2 and ||v||_1
  Weights total;
  double lag = 0.0, total_b = 0.0, averaged = 0.0;
  Weights q;
  double due = 0.0;
  double t = 1.0, eta = 0.0, t0 = 0.0;
  std::vector<std::int32_t> order;
  Index top = -1;          // the largest row of the order
  std::vector<Index> rows; // of the step that is being put together, with their steps u
  std::vector<double> u;
  Index pending = 0;
  double eta_now = 0.0;
  // since `begin`
  double loss = 0.0, objective = 0.0;
  Index seen = 0;
  bool finite = true;

  Learner(const DeltaRule &how, std::span<const double> coef, double intercept, double first)
      : rule(how), v(coef.begin(), coef.end()), b(intercept), t(first), eta(how.eta0),
        rows(static_cast<std::size_t>(how.batch)), u(static_cast<std::size_t>(how.batch)) {
    if (rule.penalised && rule.l1 > 0.0)
      q.assign(v.size(), 0.0);
    if (rule.schedule == Schedule::optimal) {
      const double typical = std::sqrt(1.0 / std::sqrt(rule.alpha));
      const double slope = loss_at(rule.loss, rule.epsilon, 1.0, -typical).slope;
      t0 = std::max(1.0, slope) / (typical * rule.alpha);
    }
    begin();
  }

  // The average so far, of `count` iterates.
  void resume(std::span<const double> coef, double intercept, double count) {
    total.assign(coef.begin(), coef.end());
    for (double &value : total)
      value *= count;
    total_b = intercept * count;
    averaged = count;
  }

  // A new epoch: the sums of v are made afresh, so that rounding does not build up.
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

  bool passive_aggressive() const { return rule.schedule == Schedule::pa1 || rule.schedule == Schedule::pa2; }

  double rate() const {
    if (rule.schedule == Schedule::optimal)
      return 1.0 / (rule.alpha * (t0 + t - 1.0));
    if (rule.schedule != Schedule::invscaling)
      return eta;
    if (rule.power == 0.5)
      return eta / std::sqrt(t);
    if (rule.power == 0.25)
      return eta / std::sqrt(std::sqrt(t));
    return rule.power == 1.0 ? eta / t : eta / std::pow(t, rule.power);
  }

  double penalty() const {
    if (!rule.penalised || passive_aggressive())
      return 0.0;
    const double square = scale * scale * sums[0], size = scale * sums[1];
    return rule.alpha * ((1.0 - rule.l1) * 0.5 * square + rule.l1 * size + (rule.one_class ? b : 0.0));
  }

  // scale becomes one.
  void settle() {
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

// The L1 penalty that is due, on all weights of dense rows, and of sparse ones on those that the step has met.
template <class T> void truncate(const RowOf<Dense<T>> &row, Learner &l) {
  double *total = l.total.empty() ? nullptr : l.total.data();
  kernels().truncate(l.v.data(), l.q.data(), total, row.x.columns, l.scale, l.due, l.lag, l.sums);
}

template <class T, class I> void truncate_row(const RowOf<Sparse<T, I>> &row, Learner &l, Index i) {
  const I *indices = row.x.indices.data();
  double *w = l.v.data(), *q = l.q.data(), *total = l.total.empty() ? nullptr : l.total.data();
  const double scale = l.scale, inverse = 1.0 / l.scale, due = l.due, lag = l.lag;
  double squares_of = 0.0, sizes = 0.0;
  for (std::size_t e = row.first(i); e < row.first(i + 1); ++e) {
    const auto j = static_cast<std::size_t>(indices[e]);
    const double value = w[j], paid = q[j];
    const double down = value - (due + paid) * inverse, up = value + (due - paid) * inverse;
    const double next = value > 0.0 ? (down > 0.0 ? down : 0.0) : (value < 0.0 ? (up < 0.0 ? up : 0.0) : value);
    const double change = next - value;
    q[j] = paid + scale * change;
    if (total != nullptr)
      total[j] -= lag * change;
    squares_of += change * (value + next);
    sizes += std::fabs(next) - std::fabs(value);
    w[j] = next;
  }
  l.sums[0] += squares_of;
  l.sums[1] += sizes;
}

template <class T, class I> void truncate(const RowOf<Sparse<T, I>> &row, Learner &l) {
  for (Index k = 0; k < l.pending; ++k)
    truncate_row(row, l, l.rows[static_cast<std::size_t>(k)]);
}

// One step with the rows that are pending.
template <class Rows> void step(const RowOf<Rows> &x, Learner &l) {
  const DeltaRule &rule = l.rule;
  // total and lag v cancel: with averages, as many digits go as the scale is small
  const double smallest = rule.average > 0 ? 1e-4 : 1e-9;
  const double eta = l.eta_now, share = 1.0 / static_cast<double>(l.pending);
  if (rule.penalised && rule.l1 < 1.0) {
    l.scale *= std::max(0.0, 1.0 - (1.0 - rule.l1) * eta * rule.alpha);
    if (l.scale < smallest)
      l.settle();
  }
  double moved = 0.0;
  for (Index k = 0; k < l.pending; ++k) {
    const double u = l.u[static_cast<std::size_t>(k)] * share;
    if (u == 0.0)
      continue;
    const Index i = l.rows[static_cast<std::size_t>(k)];
    moved += u;
    x.add_with_sums(i, u / l.scale, l.v.data(), l.sums);
    if (l.lag != 0.0)
      x.add(i, -l.lag * (u / l.scale), l.total.data());
  }
  if (rule.intercept)
    l.b += rule.decay * (moved - (rule.one_class ? eta * rule.alpha : 0.0));
  if (rule.penalised && rule.l1 > 0.0) {
    l.due += rule.l1 * eta * rule.alpha;
    truncate(x, l);
  }
  if (rule.average > 0 && static_cast<double>(rule.average) <= l.t) {
    l.lag += l.scale;
    l.total_b += l.b;
    l.averaged += 1.0;
  }
  l.t += 1.0;
  l.pending = 0;
}

// Adds row i to the step that is being put together; false where its numbers are not finite.
template <class Rows> bool meet(const RowOf<Rows> &x, Learner &l, Index i, double target, double weight) {
  constexpr double steepest = 1e12;
  const DeltaRule &rule = l.rule;
  const double y = rule.own < 0 ? target : (target == static_cast<double>(rule.own) ? 1.0 : -1.0);
  const double z = l.scale * x.dot(i, l.v.data()) + l.b;
  if (!std::isfinite(z))
    return false;
  if (l.pending == 0)
    l.eta_now = l.rate();
  const LossPoint at = loss_at(rule.loss, rule.epsilon, y, z);
  l.loss += at.value;
  l.objective += at.value + l.penalty();
  l.seen += 1;
  double u = -l.eta_now * std::clamp(at.slope, -steepest, steepest);
  if (l.passive_aggressive()) {
    const double square = x.squares(i);
    if (!std::isfinite(square))
      return false;
    if (rule.schedule == Schedule::pa1 && square == 0.0)
      return true;
    const double length =
        rule.schedule == Schedule::pa1 ? std::min(rule.eta0, at.value / square) : at.value / (square + 0.5 / rule.eta0);
    const bool by_class = rule.loss == DeltaLoss::hinge || rule.loss == DeltaLoss::perceptron;
    u = length * (by_class ? y : (y - z < 0.0 ? -1.0 : 1.0));
  }
  const auto k = static_cast<std::size_t>(l.pending++);
  l.rows[k] = i;
  l.u[k] = u * weight * (y > 0.0 ? rule.positive : rule.negative);
  if (l.pending == rule.batch)
    step(x, l);
  return true;
}

// The rows at positions [begin, end) of the order (empty: of the rows themselves). Rows of weight zero and rows to skip
// (empty: none) are passed over. A step ends with the piece.
template <class Rows>
void scan(const Rows &rows, std::span<const double> y, std::span<const double> weight,
          std::span<const std::uint8_t> skip, std::span<const std::int32_t> order, Learner &l, Index begin, Index end) {
  constexpr Index ahead = 4;
  const RowOf<Rows> x{rows};
  const auto row = [&](Index position) {
    return order.empty() ? position : static_cast<Index>(order[static_cast<std::size_t>(position)]);
  };
  for (Index position = begin; position < end && l.finite; ++position) {
    if (position + ahead < end)
      x.fetch(row(position + ahead));
    if (position + 1 < end)
      x.fetch_weights(row(position + 1), l.v.data());
    const Index i = row(position);
    const auto at = static_cast<std::size_t>(i);
    if ((!weight.empty() && weight[at] == 0.0) || (!skip.empty() && skip[at] != 0))
      continue;
    l.finite = meet(x, l, i, y[at], weight.empty() ? 1.0 : weight[at]);
  }
  if (l.finite && l.pending > 0)
    step(x, l);
}

// The same by several threads in turn, for dense rows in an order that jumps about and steps of one row.
template <class T>
void scan_in_turns(const Dense<T> &rows, std::span<const double> y, std::span<const double> weight,
                   std::span<const std::uint8_t> skip, Learner &l, Index begin, Index end, int threads) {
  const std::span<const std::int32_t> order = l.order;
  const auto bring = [x = RowOf<Dense<T>>{rows}, y, order](Index first, Index last) {
    const auto part = order.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    for (const std::int32_t i : part) {
      x.bring(i);
      __builtin_prefetch(y.data() + i);
    }
    x.await(part.back());
  };
  in_turns(begin, end, rows.columns * static_cast<Index>(sizeof(T)), threads, bring,
           [&](Index first, Index last) { scan(rows, y, weight, skip, l.order, l, first, last); });
}

} // namespace tenfold
