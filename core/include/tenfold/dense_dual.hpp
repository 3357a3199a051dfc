// What a duality gap of linear models needs, from few dense samples in one call.
//
// For each of t problems, with raw predictions z_i = x_i.w + b about a centre c of the samples, the slopes u of the
// loss at z and, where they are to sum to zero, at z + step, the step the best change of the intercept:
//   value, slope, size, curvature    sums of weight times loss, u, |u| and the curvature, at z and at z + step
//   correlation, curved              sums of weight times u (x - c), and curvature (x - c), at z + step
// The step is found by Newton's method in a bracket. Flops: 8 n p a problem, and those of the loss in each step.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/row_access.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

// Sums of a loss at raw predictions.
struct LossSums {
  double value = 0.0, slope = 0.0, size = 0.0, curvature = 0.0;
};

// The loss of the targets of some samples at raw predictions moved by a constant.
class MovedLoss {
public:
  MovedLoss(std::span<const double> weight, Index n, Loss loss, double parameter)
      : n_(n), y_(padded(n)), z_(padded(n)), weight_(padded(n)), at_(padded(n)), u_(padded(n)), curvature_(padded(n)),
        loss_(kernels().losses[static_cast<int>(loss)]), parameter_(parameter) {
    for (Index i = 0; i < n; ++i)
      weight_[i] = weight.empty() ? 1.0 : weight[static_cast<std::size_t>(i)];
  }

  double *y() { return y_.data(); }
  double *z() { return z_.data(); }
  const double *slopes() const { return u_.data(); } // with the weights
  const double *curvatures() const { return curvature_.data(); }

  LossSums operator()(double step) {
    LossSums sums;
    for (Index i = 0; i < n_; ++i)
      at_[i] = z_[i] + step;
    loss_(y_.data(), at_.data(), weight_.data(), parameter_, n_, &sums.value, &sums.slope, u_.data(),
          curvature_.data());
    for (Index i = 0; i < n_; ++i) {
      sums.size += std::abs(u_[i]);
      sums.curvature += curvature_[i];
    }
    return sums;
  }

private:
  static Index padded(Index n) { return (n + lanes - 1) / lanes * lanes; }

  Index n_;
  Buffer y_, z_, weight_, at_, u_, curvature_;
  LossKernel loss_;
  double parameter_;
};

struct Balanced {
  double step = 0.0;
  LossSums sums;
};

// The constant to add to raw predictions at which the slopes sum to zero up to rounding, from the sums at zero; no step
// is longer than `longest` at first, and where the loss is straight they grow. Where the constant is not found, the sum
// of the slopes tells.
inline Balanced balance(MovedLoss &loss, const LossSums &start, double longest) {
  constexpr double eps = std::numeric_limits<double>::epsilon(), infinity = std::numeric_limits<double>::infinity();
  constexpr int most = 100;
  double low = -infinity, high = infinity, reach = longest, straight = 1.0;
  Balanced here{0.0, start};
  for (int count = 0; count < most; ++count) {
    const LossSums &sums = here.sums;
    if (!std::isfinite(sums.slope) || std::abs(sums.slope) <= 8.0 * eps * sums.size)
      break;
    (sums.slope < 0.0 ? low : high) = here.step;
    const bool curved = sums.curvature > 0.0;
    const double step =
        std::clamp(curved ? -sums.slope / sums.curvature : -std::copysign(straight, sums.slope), -reach, reach);
    reach *= 2.0;
    straight *= curved ? 1.0 : 4.0;
    double next = here.step + step;
    if (!(low < next && next < high))
      next = 0.5 * (low + high);
    if (!std::isfinite(next) || std::abs(next - here.step) <= eps * std::max(1.0, std::abs(here.step)))
      break;
    here = {next, loss(next)};
  }
  return here;
}

struct DenseSamples {
  Dense<double> x;
  std::span<const double> weight; // (n) or empty
  Loss loss;
  double parameter;
  bool free;      // whether the slopes are to sum to zero
  double longest; // of the first step
};

struct DenseDual {
  double weight = 0.0;
  std::vector<double> centre, squares;     // (p): means, and mean squares about them
  std::vector<double> intercept;           // (t): about the centre
  std::vector<LossSums> here, there;       // (t)
  std::vector<double> steps;               // (t)
  std::vector<double> correlation, curved; // (t, p)
};

inline void place(const DenseSamples &in, DenseDual &out) {
  const Index n = in.x.rows, p = in.x.columns;
  out.centre.assign(static_cast<std::size_t>(p), 0.0);
  out.squares.assign(static_cast<std::size_t>(p), 0.0);
  // about the first sample: exact for constant columns
  for (Index i = 1; i < n; ++i)
    for (Index j = 0; j < p; ++j)
      out.centre[static_cast<std::size_t>(j)] += in.x.data[i * p + j] - in.x.data[j];
  for (Index j = 0; j < p; ++j)
    out.centre[static_cast<std::size_t>(j)] =
        in.x.data[j] + out.centre[static_cast<std::size_t>(j)] / static_cast<double>(n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < p; ++j) {
      const double away = in.x.data[i * p + j] - out.centre[static_cast<std::size_t>(j)];
      out.squares[static_cast<std::size_t>(j)] += away * away;
    }
  for (double &each : out.squares)
    each /= static_cast<double>(n);
}

// b + w.c as if in twice the digits (Ogita, Rump and Oishi 2005): far from zero a raw prediction is a small difference
// of large products, and a slope times a large sample is wrong by its error.
inline double move_intercept(double b, const double *w, std::span<const double> centre) {
  double rest = 0.0;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    const double product = w[j] * centre[j], sum = b + product, part = sum - b;
    rest += std::fma(w[j], centre[j], -product) + ((b - (sum - part)) + (product - part));
    b = sum;
  }
  return std::isfinite(rest) ? b + rest : b;
}

// y (n, t), coef (t, p), intercept (t); n >= 1.
inline DenseDual dense_dual(const DenseSamples &in, std::span<const double> y, std::span<const double> coef,
                            std::span<const double> intercept) {
  const Index n = in.x.rows, p = in.x.columns, t = static_cast<Index>(intercept.size());
  const auto &dense = kernels().dense<double>();
  DenseDual out;
  place(in, out);
  for (Index i = 0; i < n; ++i)
    out.weight += in.weight.empty() ? 1.0 : in.weight[static_cast<std::size_t>(i)];
  out.correlation.assign(static_cast<std::size_t>(t * p), 0.0);
  out.curved.assign(static_cast<std::size_t>(t * p), 0.0);
  MovedLoss loss(in.weight, n, in.loss, in.parameter);
  for (Index k = 0; k < t; ++k) {
    const double *w = coef.data() + k * p;
    const double moved = move_intercept(intercept[static_cast<std::size_t>(k)], w, out.centre);
    for (Index i = 0; i < n; ++i)
      loss.y()[i] = y[static_cast<std::size_t>(i * t + k)];
    dense.matvec(in.x.data, n, p, w, 1, out.centre.data(), &moved, loss.z(), 1, n);
    const LossSums here = loss(0.0);
    const Balanced there = in.free ? balance(loss, here, in.longest) : Balanced{0.0, here};
    dense.matvec_t(in.x.data, n, p, loss.slopes(), 1, 1, n, out.centre.data(), out.correlation.data() + k * p);
    dense.matvec_t(in.x.data, n, p, loss.curvatures(), 1, 1, n, out.centre.data(), out.curved.data() + k * p);
    out.intercept.push_back(moved);
    out.here.push_back(here);
    out.there.push_back(there.sums);
    out.steps.push_back(there.step);
  }
  return out;
}

} // namespace tenfold
