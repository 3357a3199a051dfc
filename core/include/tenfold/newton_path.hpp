// Newton's method along decreasing L2 penalties, warm-started, for each fold of few samples by itself.
//
// For each fold, a list of rows, and decreasing strengths lambda (A), finds at every place a of the path
//   x = (w, b) that minimises  sum weight loss(y, (row - shift).w + b) / sum weight + lambda_a |w|^2 / 2.
// With t = log lambda and the Hessian H of the objective, dx/dt = -H^-1 lambda w: the next place starts from the
// Hermite polynomial through points and slopes of the last places, or from the minimum of the last quadratic model,
// whichever was nearer before. A factor of H is kept while steps with it shrink fast. Every point meets the stopping
// criterion by a pass over the rows, or took `limit` steps, or cannot be improved. A pass of a fold of n rows with q
// coefficients takes 4 n q flops, and n q^2 more with H.
#pragma once

#include "tenfold/batched_cholesky.hpp"
#include "tenfold/loss_derivatives.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace tenfold {

using Numbers = std::vector<double>;

inline double dot(const Numbers &a, const Numbers &b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}
inline bool finite(const Numbers &x) {
  return std::all_of(x.begin(), x.end(), [](double each) { return std::isfinite(each); });
}
inline Numbers plus(const Numbers &x, double length, const Numbers &d) {
  Numbers sum(x);
  for (std::size_t i = 0; i < x.size(); ++i)
    sum[i] += length * d[i];
  return sum;
}

// A mean loss with its derivatives at a point.
struct LossAt {
  double value = 0.0;
  Numbers gradient; // (q)
  Numbers hessian;  // (q, q), empty where it was not asked for
};

// The stopping criterion: no entry of the gradient above `tol`, and an expected decrease of up to `part` of the
// objective, which counts up to `most`; or a decrease that is rounding. At most `limit` steps.
struct PathRule {
  double tol;
  double part;
  double most;
  Index limit;

  static constexpr double rounding = 1e-26;

  double by_gradient(const LossAt &at) const {
    double largest = 0.0;
    for (const double g : at.gradient)
      largest = std::max(largest, std::abs(g));
    return largest / tol;
  }
  double by_decrease(const LossAt &at, double decrease) const {
    return decrease / std::max(part * std::min(at.value, most), std::numeric_limits<double>::min());
  }
  // The distance of a point, in units of what is allowed.
  double away(const LossAt &at, double decrease) const {
    return std::max(by_gradient(at), std::sqrt(std::max(by_decrease(at, decrease), 0.0)));
  }
  double operator()(const LossAt &at, double decrease) const {
    return std::min(std::max(by_gradient(at), by_decrease(at, decrease)), std::abs(decrease) / rounding);
  }
};

// The rows of a fold, side by side.
template <class T> class FoldLoss {
public:
  FoldLoss(const Dense<T> &x, std::span<const double> y, std::span<const double> weight, std::span<const double> shift,
           std::span<const std::int64_t> rows, Loss loss, double parameter, bool intercept)
      : count_(static_cast<Index>(rows.size())), p_(x.columns), shift_(shift), loss_(loss), parameter_(parameter),
        intercept_(intercept) {
    for (const std::int64_t row : rows) {
      x_.insert(x_.end(), x.data + row * p_, x.data + (row + 1) * p_);
      y_.push_back(y[static_cast<std::size_t>(row)]);
      if (!weight.empty())
        weight_.push_back(weight[static_cast<std::size_t>(row)]);
    }
  }

  std::size_t size() const { return static_cast<std::size_t>(p_ + 1); }
  std::span<const double> shift() const { return shift_; }

  LossAt operator()(const Numbers &x, int order) {
    ++passes[order];
    const Dense<T> rows{x_.data(), count_, p_};
    const std::span<const double> all(x);
    const auto p = static_cast<std::size_t>(p_);
    Derivatives d = derivatives(
        Point<Dense<T>>{rows, y_, weight_, all.first(p), all.subspan(p), shift_, loss_, parameter_}, order, 1);
    LossAt result{d.value[0] / d.weight, std::move(d.gradient), std::move(d.hessian)};
    result.gradient.push_back(intercept_ ? d.slope[0] : 0.0);
    if (!intercept_ && order == 2)
      for (std::size_t j = 0; j <= p; ++j)
        result.hessian[p * (p + 1) + j] = result.hessian[j * (p + 1) + p] = j == p ? d.weight : 0.0;
    for (double &g : result.gradient)
      g /= d.weight;
    for (double &h : result.hessian)
      h /= d.weight;
    return result;
  }

  Index passes[3] = {0, 0, 0}; // by order

private:
  Index count_, p_;
  std::span<const double> shift_;
  Loss loss_;
  double parameter_;
  bool intercept_;
  std::vector<T> x_;
  Numbers y_, weight_;
};

// The path of one fold. A Hessian that is not finite or singular ends it, and the points are invalid then.
template <class Objective> class FoldPath {
public:
  FoldPath(Objective &loss, std::span<const double> strengths, const PathRule &rule)
      : loss_(loss), strengths_(strengths), rule_(rule), q_(loss.size()) {}

  // Whether all Hessians were regular.
  bool follow() {
    std::optional<Node> node = minimise(strengths_.front(), Numbers(q_), nullptr);
    for (const double strength : strengths_.subspan(1)) {
      if (!node)
        return false;
      nodes_.push_back(std::move(*node));
      node = next(strength);
    }
    if (node)
      nodes_.push_back(std::move(*node));
    return node.has_value();
  }

  const Numbers &point(Index place) const { return nodes_[static_cast<std::size_t>(place)].x; }
  Index steps(Index place) const { return nodes_[static_cast<std::size_t>(place)].steps; }

private:
  static constexpr double min_separation = 0.25; // of nodes, in distances to the next: nearer ones amplify rounding
  static constexpr std::size_t max_nodes = 3;    // that a polynomial goes through
  static constexpr double far = 100.0;           // multiple of the stopping criterion beyond which H is formed anew
  static constexpr double contraction = 0.2;     // of the distance in one step; a slower step forms H anew
  static constexpr double shortest = 1e-4, min_pivot = 1e-14;
  static constexpr double eps = std::numeric_limits<double>::epsilon(), tiny = std::numeric_limits<double>::min();

  // The solution at a place of the path.
  struct Node {
    double strength, t;
    double value; // of the loss
    Numbers x, slope, hessian;
    Index steps;
  };

  // The factor of a Hessian with its penalty; columns that are rounding are not solved for.
  struct Factor {
    Numbers lower;
    std::vector<bool> known;
  };

  std::optional<Factor> factor(const Numbers &hessian, double strength) const {
    if (!finite(hessian))
      return std::nullopt;
    Factor result{hessian, std::vector<bool>(q_, true)};
    double *h = result.lower.data();
    for (std::size_t j = 0; j + 1 < q_; ++j)
      h[j * q_ + j] += strength;
    const double last = h[q_ * q_ - 1];
    for (std::size_t j = 0; j < q_; ++j) {
      const double noise = j + 1 < q_ ? 4.0 * eps * loss_.shift()[j] : 0.0;
      if (h[j * q_ + j] > tiny && h[j * q_ + j] > last * noise * noise)
        continue;
      result.known[j] = false;
      for (std::size_t i = 0; i < q_; ++i)
        h[i * q_ + j] = h[j * q_ + i] = i == j ? 1.0 : 0.0;
    }
    if (!(cholesky_in_place(h, static_cast<Index>(q_)) > min_pivot))
      return std::nullopt;
    return result;
  }

  Numbers solved(const Factor &with, Numbers g) const {
    for (std::size_t j = 0; j < q_; ++j)
      g[j] = with.known[j] ? g[j] : 0.0;
    const std::int64_t only = 0;
    solve_cholesky_batch(with.lower, static_cast<Index>(q_), {&only, 1}, g);
    return g;
  }

  // A Hessian times d.
  Numbers times(const Numbers &hessian, const Numbers &d) const {
    Numbers result(q_);
    for (std::size_t i = 0; i < q_; ++i)
      for (std::size_t j = 0; j < q_; ++j)
        result[i] += hessian[i * q_ + j] * d[j];
    return result;
  }

  // The gradient of the penalty, zero for the intercept.
  Numbers penalty_gradient(const Numbers &x, double strength) const {
    Numbers result(x);
    for (double &each : result)
      each *= strength;
    result.back() = 0.0;
    return result;
  }

  LossAt objective(const Numbers &x, double strength, int order) {
    LossAt at = loss_(x, order);
    const Numbers of_penalty = penalty_gradient(x, strength);
    at.value += 0.5 * dot(of_penalty, x);
    at.gradient = plus(at.gradient, 1.0, of_penalty);
    return at;
  }

  // Whether a step decreases the value enough or, where values differ by rounding alone, the slope along it.
  static bool descends(const LossAt &from, const LossAt &to, double length, double decrease, const Numbers &d) {
    const bool still =
        to.value <= from.value + 64.0 * eps * std::abs(from.value) && std::abs(dot(to.gradient, d)) <= 0.9 * decrease;
    return to.value <= from.value - 1e-4 * length * decrease || still;
  }

  // Newton's method from x, or where that is worse, from the node before. None where a Hessian is not finite or is
  // singular.
  std::optional<Node> minimise(double strength, Numbers x, const Node *before) {
    LossAt here = objective(x, strength, 2);
    if (before != nullptr &&
        !(here.value <= before->value + 0.5 * dot(penalty_gradient(before->x, strength), before->x))) {
      x = before->x;
      here = objective(x, strength, 2);
    }
    Numbers hessian = std::move(here.hessian), hessian_at = x; // and where it is from
    std::optional<Factor> result = factor(hessian, strength);
    double length = 1.0, last = std::numeric_limits<double>::infinity();
    for (Index count = 0;; ++count) {
      if (!result || !std::isfinite(here.value) || !finite(here.gradient))
        return std::nullopt;
      Numbers d = solved(*result, here.gradient);
      for (double &step : d)
        step = -step;
      const double decrease = -dot(here.gradient, d), now = rule_(here, 0.5 * decrease),
                   away = rule_.away(here, 0.5 * decrease);
      if (now <= 1.0 || !(decrease > 0.0) || length <= shortest || count >= rule_.limit) {
        const double value = here.value - 0.5 * dot(penalty_gradient(x, strength), x);
        if (now <= 1.0 && decrease > 0.0 && hessian_at == x)
          x = plus(x, 1.0, d); // costs nothing; with another Hessian it may increase the objective
        const double t = std::log(strength);
        Numbers slope = slope_at(x, strength, t, *result, hessian, hessian_at, before);
        return Node{strength, t, value, std::move(x), std::move(slope), std::move(hessian), count};
      }
      int order = away > far || away > contraction * last ? 2 : 1;
      last = away;
      for (length = 1.0;; length *= 0.25, order = 2, ++count) {
        Numbers trial = plus(x, length, d);
        LossAt there = objective(trial, strength, order);
        if (descends(here, there, length, decrease, d)) {
          x = std::move(trial);
          here = std::move(there);
          length = 1.0;
          if (order == 2) {
            hessian = std::move(here.hessian);
            result = factor(hessian, strength);
            hessian_at = x;
          }
          break;
        }
        if (length <= shortest || count >= rule_.limit)
          break;
      }
    }
  }

  // dx/dt at x, with the Hessian of a point nearby, corrected by how Hessians changed since the node before.
  Numbers slope_at(const Numbers &x, double strength, double t, const Factor &with, const Numbers &hessian,
                   const Numbers &hessian_at, const Node *before) const {
    Numbers right = penalty_gradient(x, -strength);
    if (before != nullptr && t != before->t)
      right =
          plus(right, -1.0 / (t - before->t), times(plus(hessian, -1.0, before->hessian), plus(x, -1.0, hessian_at)));
    return solved(with, std::move(right));
  }

  // The last separated nodes, up to `count`.
  std::vector<const Node *> latest(std::size_t count, double t) const {
    const double width = std::abs(t - nodes_.back().t);
    std::vector<const Node *> some;
    for (auto node = nodes_.rbegin(); node != nodes_.rend() && some.size() < count; ++node)
      if (some.empty() || std::abs(some.back()->t - node->t) > min_separation * width)
        some.push_back(&*node);
    return some;
  }

  // The Hermite polynomial through points and slopes of the last `count` nodes; with none, the minimum of the quadratic
  // model at the last node, or that node if there is none.
  Numbers predict(std::size_t count, double strength) const {
    const Node &last = nodes_.back();
    if (count == 0) {
      const auto result = factor(last.hessian, strength);
      return result ? plus(last.x, 1.0, solved(*result, penalty_gradient(last.x, last.strength - strength))) : last.x;
    }
    const double t = std::log(strength);
    const auto some = latest(count, t);
    Numbers x(q_);
    for (const Node *node : some) {
      double basis = 1.0, own = 0.0;
      for (const Node *other : some)
        if (other != node) {
          basis *= (t - other->t) / (node->t - other->t);
          own += 1.0 / (node->t - other->t);
        }
      const double slope = (t - node->t) * basis * basis, value = basis * basis - 2.0 * own * slope;
      x = plus(plus(x, value, node->x), slope, node->slope);
    }
    return x;
  }

  std::optional<Node> next(double strength) {
    std::optional<Node> node = minimise(strength, predict(predictor_, strength), &nodes_.back());
    // the predictor that was nearest is the next one
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t count = 0; node && count <= max_nodes; ++count) {
      const Numbers d = plus(predict(count, strength), -1.0, node->x);
      const double distance = dot(plus(times(node->hessian, d), 1.0, penalty_gradient(d, strength)), d);
      if (distance < nearest) {
        nearest = distance;
        predictor_ = count;
      }
    }
    return node;
  }

  Objective &loss_;
  std::span<const double> strengths_;
  PathRule rule_;
  std::size_t q_;
  std::vector<Node> nodes_;
  std::size_t predictor_ = 0; // how many nodes predict to the next one
};

// The rows of fold f are rows[starts[f]] ... rows[starts[f + 1] - 1].
template <class T> struct Folds {
  const Dense<T> &x;
  std::span<const double> y;
  std::span<const double> weight;
  std::span<const double> shift;
  std::span<const std::int64_t> rows;
  std::span<const std::int64_t> starts;
  Loss loss;
  double parameter;
  bool intercept;

  Index count() const { return static_cast<Index>(starts.size()) - 1; }
  std::span<const std::int64_t> of(Index fold) const {
    const auto f = static_cast<std::size_t>(fold);
    return rows.subspan(static_cast<std::size_t>(starts[f]), static_cast<std::size_t>(starts[f + 1] - starts[f]));
  }
};

struct NewtonPaths {
  std::vector<double> params;       // (F, A, q)
  std::vector<std::int32_t> steps;  // (F, A)
  std::vector<std::int64_t> passes; // (F, 2): over the rows of the fold, with a gradient, and with a Hessian
  bool regular = true;              // otherwise params are not to be used
};

// strengths (F, A) are positive and decrease along A.
template <class T>
NewtonPaths newton_path(const Folds<T> &folds, std::span<const double> strengths, const PathRule &rule, int threads) {
  const Index F = folds.count(), q = folds.x.columns + 1, A = static_cast<Index>(strengths.size()) / F;
  NewtonPaths result{std::vector<double>(static_cast<std::size_t>(F * A * q)),
                     std::vector<std::int32_t>(static_cast<std::size_t>(F * A)),
                     std::vector<std::int64_t>(static_cast<std::size_t>(F * 2))};
  std::vector<char> regular(static_cast<std::size_t>(F));
  parallel(F, threads, [&](Index f, int) {
    FoldLoss<T> loss(folds.x, folds.y, folds.weight, folds.shift, folds.of(f), folds.loss, folds.parameter,
                     folds.intercept);
    FoldPath path(loss, strengths.subspan(static_cast<std::size_t>(f * A), static_cast<std::size_t>(A)), rule);
    regular[static_cast<std::size_t>(f)] = path.follow();
    std::copy_n(loss.passes + 1, 2, result.passes.data() + f * 2);
    for (Index a = 0; regular[static_cast<std::size_t>(f)] && a < A; ++a) {
      std::copy_n(path.point(a).data(), q, result.params.data() + (f * A + a) * q);
      result.steps[static_cast<std::size_t>(f * A + a)] = static_cast<std::int32_t>(path.steps(a));
    }
  });
  result.regular = std::find(regular.begin(), regular.end(), 0) == regular.end();
  return result;
}

} // namespace tenfold
