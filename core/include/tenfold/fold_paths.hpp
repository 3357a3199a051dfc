// Minima of penalised mean losses along falling penalties, for each fold of few rows by itself.
//
// For each fold, a list of rows, and strengths lambda (A) that fall, finds at every place a of the path
//   x = (w, b) that minimises  sum weight loss(y, (row - shift).w + b) / sum weight + lambda_a |w|^2 / 2.
// Newton's method goes from place to place. With t = log lambda and the Hessian H of the objective, dx/dt = -H^-1
// lambda w: points and slopes at the last places give a curve that leads to the next one, or the quadratic model at the
// last place does, whichever led nearer before. A factor of H is kept while steps with it shrink fast. Every point that
// is returned meets the stopping rule by a pass over the rows, or took `limit` steps, or cannot be improved. A pass of
// a fold of n rows with q coefficients takes 4 n q flops, and n q^2 more with H.
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
struct Bend {
  double value = 0.0;
  Numbers gradient; // (q)
  Numbers hessian;  // (q, q), empty where it was not asked for
};

// When a point is near enough: no entry of the gradient above `tol`, and a fall that can be expected of up to `part` of
// the objective, which counts up to `most`; or one that is rounding. At most `limit` steps.
struct PathRule {
  double tol;
  double part;
  double most;
  Index limit;

  static constexpr double rounding = 1e-26;

  double by_gradient(const Bend &at) const {
    double largest = 0.0;
    for (const double g : at.gradient)
      largest = std::max(largest, std::abs(g));
    return largest / tol;
  }
  double by_fall(const Bend &at, double fall) const {
    return fall / std::max(part * std::min(at.value, most), std::numeric_limits<double>::min());
  }
  // How far a point is, in units of what is allowed.
  double away(const Bend &at, double fall) const {
    return std::max(by_gradient(at), std::sqrt(std::max(by_fall(at, fall), 0.0)));
  }
  double operator()(const Bend &at, double fall) const {
    return std::min(std::max(by_gradient(at), by_fall(at, fall)), std::abs(fall) / rounding);
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

  Bend operator()(const Numbers &x, int order) {
    ++passes[order];
    const Dense<T> rows{x_.data(), count_, p_};
    const std::span<const double> all(x);
    const auto p = static_cast<std::size_t>(p_);
    Derivatives d = derivatives(
        Point<Dense<T>>{rows, y_, weight_, all.first(p), all.subspan(p), shift_, loss_, parameter_}, order, 1);
    Bend found{d.value[0] / d.weight, std::move(d.gradient), std::move(d.hessian)};
    found.gradient.push_back(intercept_ ? d.slope[0] : 0.0);
    if (!intercept_ && order == 2)
      for (std::size_t j = 0; j <= p; ++j)
        found.hessian[p * (p + 1) + j] = found.hessian[j * (p + 1) + p] = j == p ? d.weight : 0.0;
    for (double &g : found.gradient)
      g /= d.weight;
    for (double &h : found.hessian)
      h /= d.weight;
    return found;
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

// The path of one fold. A Hessian that is not finite or not regular ends it: the points are not to be used then.
template <class Objective> class FoldPath {
public:
  FoldPath(Objective &loss, std::span<const double> strengths, const PathRule &rule)
      : loss_(loss), strengths_(strengths), rule_(rule), q_(loss.size()) {}

  // Whether all Hessians were regular.
  bool follow() {
    std::optional<Node> node = settled(strengths_.front(), Numbers(q_), nullptr);
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
  // Nodes that are nearer to each other than so much of the distance would show rounding, not the curve.
  static constexpr double apart = 0.25;
  static constexpr std::size_t most_leading = 3;
  // How far from what is allowed a new Hessian is formed at once; a step that shrinks that less asks for one, too.
  static constexpr double far = 100.0, shrinks = 0.2;
  static constexpr double shortest = 1e-4, regular = 1e-14;
  static constexpr double eps = std::numeric_limits<double>::epsilon(), tiny = std::numeric_limits<double>::min();

  // A place of the path that was found.
  struct Node {
    double strength, t;
    double value; // of the loss
    Numbers x, slope, hessian;
    Index steps;
  };

  // The factor of a Hessian with its penalty; columns that hold rounding only are left alone.
  struct Factor {
    Numbers lower;
    std::vector<bool> known;
  };

  std::optional<Factor> factor(const Numbers &hessian, double strength) const {
    if (!finite(hessian))
      return std::nullopt;
    Factor found{hessian, std::vector<bool>(q_, true)};
    double *h = found.lower.data();
    for (std::size_t j = 0; j + 1 < q_; ++j)
      h[j * q_ + j] += strength;
    const double last = h[q_ * q_ - 1];
    for (std::size_t j = 0; j < q_; ++j) {
      const double noise = j + 1 < q_ ? 4.0 * eps * loss_.shift()[j] : 0.0;
      if (h[j * q_ + j] > tiny && h[j * q_ + j] > last * noise * noise)
        continue;
      found.known[j] = false;
      for (std::size_t i = 0; i < q_; ++i)
        h[i * q_ + j] = h[j * q_ + i] = i == j ? 1.0 : 0.0;
    }
    if (!(cholesky_in_place(h, static_cast<Index>(q_)) > regular))
      return std::nullopt;
    return found;
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
    Numbers found(q_);
    for (std::size_t i = 0; i < q_; ++i)
      for (std::size_t j = 0; j < q_; ++j)
        found[i] += hessian[i * q_ + j] * d[j];
    return found;
  }

  // The gradient of the penalty: of all coefficients but the intercept.
  Numbers pull(const Numbers &x, double strength) const {
    Numbers found(x);
    for (double &each : found)
      each *= strength;
    found.back() = 0.0;
    return found;
  }

  Bend objective(const Numbers &x, double strength, int order) {
    Bend at = loss_(x, order);
    const Numbers of_penalty = pull(x, strength);
    at.value += 0.5 * dot(of_penalty, x);
    at.gradient = plus(at.gradient, 1.0, of_penalty);
    return at;
  }

  // Whether a step falls by enough or, where values differ by rounding alone, the slope along it does.
  static bool descends(const Bend &from, const Bend &to, double length, double fall, const Numbers &d) {
    const bool still =
        to.value <= from.value + 64.0 * eps * std::abs(from.value) && std::abs(dot(to.gradient, d)) <= 0.9 * fall;
    return to.value <= from.value - 1e-4 * length * fall || still;
  }

  // Newton's method from x, or where that is worse, from the node before. None where a Hessian is not finite or not
  // regular.
  std::optional<Node> settled(double strength, Numbers x, const Node *before) {
    Bend here = objective(x, strength, 2);
    if (before != nullptr && !(here.value <= before->value + 0.5 * dot(pull(before->x, strength), before->x))) {
      x = before->x;
      here = objective(x, strength, 2);
    }
    Numbers hessian = std::move(here.hessian), bent = x; // and where it is from
    std::optional<Factor> found = factor(hessian, strength);
    double length = 1.0, last = std::numeric_limits<double>::infinity();
    for (Index count = 0;; ++count) {
      if (!found || !std::isfinite(here.value) || !finite(here.gradient))
        return std::nullopt;
      Numbers d = solved(*found, here.gradient);
      for (double &step : d)
        step = -step;
      const double fall = -dot(here.gradient, d), now = rule_(here, 0.5 * fall), away = rule_.away(here, 0.5 * fall);
      if (now <= 1.0 || !(fall > 0.0) || length <= shortest || count >= rule_.limit) {
        const double value = here.value - 0.5 * dot(pull(x, strength), x);
        if (now <= 1.0 && fall > 0.0 && bent == x)
          x = plus(x, 1.0, d); // known, and free; that of another Hessian may lead away along steep directions
        const double t = std::log(strength);
        Numbers slope = slope_at(x, strength, t, *found, hessian, bent, before);
        return Node{strength, t, value, std::move(x), std::move(slope), std::move(hessian), count};
      }
      int order = away > far || away > shrinks * last ? 2 : 1;
      last = away;
      for (length = 1.0;; length *= 0.25, order = 2, ++count) {
        Numbers trial = plus(x, length, d);
        Bend there = objective(trial, strength, order);
        if (descends(here, there, length, fall, d)) {
          x = std::move(trial);
          here = std::move(there);
          length = 1.0;
          if (order == 2) {
            hessian = std::move(here.hessian);
            found = factor(hessian, strength);
            bent = x;
          }
          break;
        }
        if (length <= shortest || count >= rule_.limit)
          break;
      }
    }
  }

  // dx/dt at x, with the Hessian of a point nearby. What that lacks, times the slope, is how it changes along the path,
  // which is known from the node before, times the way from there.
  Numbers slope_at(const Numbers &x, double strength, double t, const Factor &with, const Numbers &hessian,
                   const Numbers &bent, const Node *before) const {
    Numbers right = pull(x, -strength);
    if (before != nullptr && t != before->t)
      right = plus(right, -1.0 / (t - before->t), times(plus(hessian, -1.0, before->hessian), plus(x, -1.0, bent)));
    return solved(with, std::move(right));
  }

  // The last nodes that are apart from each other, up to `count`.
  std::vector<const Node *> latest(std::size_t count, double t) const {
    const double width = std::abs(t - nodes_.back().t);
    std::vector<const Node *> some;
    for (auto node = nodes_.rbegin(); node != nodes_.rend() && some.size() < count; ++node)
      if (some.empty() || std::abs(some.back()->t - node->t) > apart * width)
        some.push_back(&*node);
    return some;
  }

  // Where the polynomial leads that has the points and slopes of the last `count` nodes; with none, where the minimum
  // of the quadratic model at the last node is, or that node if there is no such.
  Numbers lead(std::size_t count, double strength) const {
    const Node &last = nodes_.back();
    if (count == 0) {
      const auto found = factor(last.hessian, strength);
      return found ? plus(last.x, 1.0, solved(*found, pull(last.x, last.strength - strength))) : last.x;
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
    std::optional<Node> node = settled(strength, lead(leading_, strength), &nodes_.back());
    // whoever would have led nearest leads next
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t count = 0; node && count <= most_leading; ++count) {
      const Numbers d = plus(lead(count, strength), -1.0, node->x);
      const double distance = dot(plus(times(node->hessian, d), 1.0, pull(d, strength)), d);
      if (distance < nearest) {
        nearest = distance;
        leading_ = count;
      }
    }
    return node;
  }

  Objective &loss_;
  std::span<const double> strengths_;
  PathRule rule_;
  std::size_t q_;
  std::vector<Node> nodes_;
  std::size_t leading_ = 0; // how many nodes lead to the next one
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

struct FoldPaths {
  std::vector<double> params;       // (F, A, q)
  std::vector<std::int32_t> steps;  // (F, A)
  std::vector<std::int64_t> passes; // (F, 2): over the rows of the fold, with a gradient, and with a Hessian
  bool regular = true;              // otherwise params are not to be used
};

// strengths (F, A) are positive and fall along A.
template <class T>
FoldPaths fold_paths(const Folds<T> &folds, std::span<const double> strengths, const PathRule &rule, int threads) {
  const Index F = folds.count(), q = folds.x.columns + 1, A = static_cast<Index>(strengths.size()) / F;
  FoldPaths found{std::vector<double>(static_cast<std::size_t>(F * A * q)),
                  std::vector<std::int32_t>(static_cast<std::size_t>(F * A)),
                  std::vector<std::int64_t>(static_cast<std::size_t>(F * 2))};
  std::vector<char> regular(static_cast<std::size_t>(F));
  parallel(F, threads, [&](Index f, int) {
    FoldLoss<T> loss(folds.x, folds.y, folds.weight, folds.shift, folds.of(f), folds.loss, folds.parameter,
                     folds.intercept);
    FoldPath path(loss, strengths.subspan(static_cast<std::size_t>(f * A), static_cast<std::size_t>(A)), rule);
    regular[static_cast<std::size_t>(f)] = path.follow();
    std::copy_n(loss.passes + 1, 2, found.passes.data() + f * 2);
    for (Index a = 0; regular[static_cast<std::size_t>(f)] && a < A; ++a) {
      std::copy_n(path.point(a).data(), q, found.params.data() + (f * A + a) * q);
      found.steps[static_cast<std::size_t>(f * A + a)] = static_cast<std::int32_t>(path.steps(a));
    }
  });
  found.regular = std::find(regular.begin(), regular.end(), 0) == regular.end();
  return found;
}

} // namespace tenfold
