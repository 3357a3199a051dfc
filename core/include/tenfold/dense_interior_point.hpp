// A primal-dual interior point method (Mehrotra 1992) for linear models with piecewise linear losses and squared
// penalties on few dense samples, in one call.
//
// Finds x = (w, b) that minimises
//   sum_i sum_k up_ik (at_ik - z_i)_+ + down_ik (z_i - at_ik)_+ + sum_j ridge_j x_j^2 / 2,    z_i = (x_i - shift).w +
//   b.
// Each residual at - z is v - t with v, t >= 0 and has a multiplier -down <= u <= up; on the central path
// v (up - u) = t (u + down) = mu and sum u x = ridge x. A step takes one weighted Gram matrix, n q^2 flops for q
// coefficients, and the predictor and the corrector two products with the samples each.
#pragma once

#include "tenfold/batched_cholesky.hpp"
#include "tenfold/loss_derivatives.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

// The pieces (n, k) of the losses, with the weights of the samples.
struct DensePieces {
  Dense<double> x;
  std::span<const double> shift; // (p)
  std::span<const double> at, up, down;
  Index pieces;
  bool intercept;
  std::span<const double> ridge; // (p + 1)

  Index size() const { return x.columns + 1; }
};

struct InteriorPoint {
  std::vector<double> points;           // (steps + 1, p + 1), the start first
  std::vector<double> slopes;           // (n) of the losses with their weights, at the last
  std::vector<double> values, measures; // of each
  bool finite = true;
};

class DenseInteriorPoint {
public:
  DenseInteriorPoint(const DensePieces &in, double allowed, Index limit)
      : in_(in), allowed_(allowed), limit_(limit), n_(in.x.rows), q_(in.size()), m_(n_ * in.pieces),
        zeros_(static_cast<std::size_t>(n_)) {}

  InteriorPoint run(std::span<const double> start) {
    InteriorPoint out;
    begin(start);
    while (true) {
      set_slacks();
      const std::vector<double> u = sum_pieces([&](Index i) { return u_[i]; });
      Numbers gradient = adjoint(u);
      for (Index j = 0; j < q_; ++j)
        gradient[j] -= in_.ridge[j] * x_[j];
      const double gap = products(above_, below_, v_, t_), value = objective();
      double slack = 0.0;
      for (Index j = 0; j < q_; ++j)
        slack += std::abs(x_[j] * gradient[j]);
      out.values.push_back(value);
      // a gradient at the level of rounding does not decrease further
      out.measures.push_back((gap + (gap > eps * value ? slack : 0.0)) / allowed_);
      out.points.insert(out.points.end(), x_.begin(), x_.end());
      out.finite = std::isfinite(value) && std::isfinite(gap);
      if (!out.finite || out.measures.back() <= 1.0 || static_cast<Index>(out.values.size()) > limit_ ||
          !step(gradient, gap)) {
        for (const double each : u)
          out.slopes.push_back(-each);
        return out;
      }
    }
  }

private:
  struct Numbers : std::vector<double> {
    using std::vector<double>::vector;
    Numbers(std::vector<double> &&other) : std::vector<double>(std::move(other)) {}
    double &operator[](Index i) { return std::vector<double>::operator[](static_cast<std::size_t>(i)); }
    double operator[](Index i) const { return std::vector<double>::operator[](static_cast<std::size_t>(i)); }
  };

  static constexpr double eps = std::numeric_limits<double>::epsilon();
  static constexpr double fraction = 0.9995; // of the longest step that keeps all variables positive

  void begin(std::span<const double> start) {
    x_.assign(start.begin(), start.end());
    z_ = predict(x_);
    for (Numbers *each : {&u_, &v_, &t_, &exists_, &least_, &above_, &below_, &weight_, &du_, &dv_, &dt_})
      each->assign(static_cast<std::size_t>(m_), 0.0);
    double sum = 0.0, total = 0.0;
    for (Index i = 0; i < m_; ++i) {
      const double height = up(i) + down(i);
      exists_[i] = height > 0.0 ? 1.0 : 0.0;
      least_[i] = (1.0 - exists_[i]) + 1e-3 * eps * height;
      sum += height * std::abs(at(i) - z_[i / in_.pieces]);
      total += height;
      count_ += 2.0 * exists_[i];
    }
    const double size = total > 0.0 && sum > 0.0 ? sum / total : 1.0;
    for (Index i = 0; i < m_; ++i) {
      const double r = at(i) - z_[i / in_.pieces];
      u_[i] = 0.5 * (up(i) - down(i));
      v_[i] = std::max(r, 0.0) + size;
      t_[i] = std::max(-r, 0.0) + size;
    }
  }

  double at(Index i) const { return in_.at[static_cast<std::size_t>(i)]; }
  double up(Index i) const { return in_.up[static_cast<std::size_t>(i)]; }
  double down(Index i) const { return in_.down[static_cast<std::size_t>(i)]; }

  void set_slacks() {
    for (Index i = 0; i < m_; ++i) {
      above_[i] = std::max(up(i) - u_[i], least_[i]);
      below_[i] = std::max(u_[i] + down(i), least_[i]);
    }
  }

  // The sum of v (up - u) + t (u + down): the duality gap.
  double products(const Numbers &above, const Numbers &below, const Numbers &v, const Numbers &t) const {
    double sum = 0.0;
    for (Index i = 0; i < m_; ++i)
      sum += exists_[i] * (v[i] * above[i] + t[i] * below[i]);
    return sum;
  }

  double objective() const {
    double sum = 0.0;
    for (Index i = 0; i < m_; ++i) {
      const double r = at(i) - z_[i / in_.pieces];
      sum += r > 0.0 ? up(i) * r : -down(i) * r;
    }
    for (Index j = 0; j < q_; ++j)
      sum += 0.5 * in_.ridge[static_cast<std::size_t>(j)] * x_[j] * x_[j];
    return sum;
  }

  template <class Each> Numbers sum_pieces(Each &&each) const {
    Numbers sum(static_cast<std::size_t>(n_));
    for (Index i = 0; i < n_; ++i)
      for (Index k = 0; k < in_.pieces; ++k)
        sum[i] += each(i * in_.pieces + k);
    return sum;
  }

  Numbers predict(const Numbers &x) const {
    Numbers z(static_cast<std::size_t>(n_));
    kernels().dense<double>().matvec(in_.x.data, n_, q_ - 1, x.data(), 1, in_.shift.data(), x.data() + q_ - 1, z.data(),
                                     1, n_);
    return z;
  }

  // sum u [x - shift, 1], zero for the intercept where there is none.
  Numbers adjoint(const std::vector<double> &u) const {
    Numbers g(static_cast<std::size_t>(q_));
    kernels().dense<double>().matvec_t(in_.x.data, n_, q_ - 1, u.data(), 1, 1, n_, in_.shift.data(), g.data());
    for (const double each : u)
      g.back() += each;
    g.back() = in_.intercept ? g.back() : 0.0;
    return g;
  }

  // The factor of sum D [x - shift, 1] [x - shift, 1]' + ridge, scaled to unit diagonal, with jitter where it is
  // singular; false where it is not finite.
  bool factor() {
    const Numbers D = sum_pieces([&](Index i) { return weight_[i]; });
    const std::vector<double> none(static_cast<std::size_t>(q_));
    const std::span<const double> zero(none);
    gram_ = derivatives(Point<Dense<double>>{in_.x, zeros_, D, zero.first(none.size() - 1), zero.last(1), in_.shift,
                                             Loss::square, 0.0},
                        2, 1)
                .hessian;
    unit_.assign(static_cast<std::size_t>(q_), 1.0);
    for (Index j = 0; j < q_; ++j) {
      double &own = gram_[j * q_ + j];
      own += in_.ridge[static_cast<std::size_t>(j)];
      if (!std::isfinite(own))
        return false;
      unit_[j] = own > 0.0 ? 1.0 / std::sqrt(own) : 1.0;
    }
    if (!in_.intercept) {
      for (Index j = 0; j < q_; ++j)
        gram_[j * q_ + q_ - 1] = gram_[(q_ - 1) * q_ + j] = 0.0;
      gram_.back() = unit_[q_ - 1] = 1.0;
    }
    for (Index i = 0; i < q_; ++i)
      for (Index j = 0; j < q_; ++j)
        gram_[i * q_ + j] *= unit_[i] * unit_[j];
    for (double jitter = 0.0; jitter < 1.0; jitter = std::max(1e-15, 10.0 * jitter)) {
      lower_ = gram_;
      for (Index j = 0; j < q_; ++j)
        lower_[j * q_ + j] += jitter;
      if (cholesky_in_place(lower_.data(), q_) > 1e-16)
        return true;
    }
    return false;
  }

  // With one refinement.
  Numbers solve(Numbers b) const {
    for (Index j = 0; j < q_; ++j)
      b[j] *= unit_[j];
    if (!in_.intercept)
      b.back() = 0.0;
    Numbers x(b);
    const std::int64_t only = 0;
    solve_cholesky_batch(lower_, q_, {&only, 1}, x);
    Numbers left(b);
    for (Index i = 0; i < q_; ++i)
      for (Index j = 0; j < q_; ++j)
        left[i] -= gram_[i * q_ + j] * x[j];
    solve_cholesky_batch(lower_, q_, {&only, 1}, left);
    for (Index j = 0; j < q_; ++j)
      x[j] = (x[j] + left[j]) * unit_[j];
    return x;
  }

  // The direction towards products v (up - u) = first and t (u + down) = second of each piece, and its length.
  template <class First, class Second> double aim(const Numbers &gradient, First &&first, Second &&second) {
    const auto error = [&](Index i) {
      return at(i) - z_[i / in_.pieces] - first(i) / above_[i] + second(i) / below_[i];
    };
    Numbers right = adjoint(sum_pieces([&](Index i) { return weight_[i] * error(i); }));
    for (Index j = 0; j < q_; ++j)
      right[j] += gradient[j];
    d_ = solve(std::move(right));
    dz_ = predict(d_);
    double fastest = 0.0;
    for (Index i = 0; i < m_; ++i) {
      const double du = exists_[i] * weight_[i] * (error(i) - dz_[i / in_.pieces]);
      const double dv = exists_[i] * ((first(i) + v_[i] * du) / above_[i] - v_[i]);
      const double dt = exists_[i] * ((second(i) - t_[i] * du) / below_[i] - t_[i]);
      fastest = std::min({fastest, dv / v_[i], dt / t_[i], -du / above_[i], du / below_[i]});
      du_[i] = du, dv_[i] = dv, dt_[i] = dt;
    }
    return fastest < 0.0 ? std::min(1.0, -fraction / fastest) : 1.0;
  }

  void move(double length) {
    for (Index i = 0; i < m_; ++i) {
      u_[i] += length * du_[i];
      v_[i] += length * dv_[i];
      t_[i] += length * dt_[i];
    }
  }

  bool step(const Numbers &gradient, double gap) {
    for (Index i = 0; i < m_; ++i)
      weight_[i] = exists_[i] / (v_[i] / above_[i] + t_[i] / below_[i]);
    if (!factor())
      return false;
    const auto none = [](Index) { return 0.0; };
    double length = aim(gradient, none, none), left = 0.0;
    for (Index i = 0; i < m_; ++i) {
      const double u = u_[i] + length * du_[i];
      left += exists_[i] * ((v_[i] + length * dv_[i]) * std::max(up(i) - u, least_[i]) +
                            (t_[i] + length * dt_[i]) * std::max(u + down(i), least_[i]));
    }
    const double share = left / gap, target = gap / count_ * share * share * share;
    Numbers first(static_cast<std::size_t>(m_)), second(first);
    for (Index i = 0; i < m_; ++i) {
      first[i] = target + dv_[i] * du_[i];
      second[i] = target - dt_[i] * du_[i];
    }
    length = aim(gradient, [&](Index i) { return first[i]; }, [&](Index i) { return second[i]; });
    for (const double each : d_)
      if (!std::isfinite(each))
        return false;
    if (length < 1e-10)
      return false;
    move(length);
    for (Index j = 0; j < q_; ++j)
      x_[j] += length * d_[j];
    for (Index i = 0; i < n_; ++i)
      z_[i] += length * dz_[i];
    return true;
  }

  const DensePieces &in_;
  double allowed_;
  Index limit_, n_, q_, m_;
  std::vector<double> zeros_;
  double count_ = 0.0;
  Numbers x_, z_, u_, v_, t_, exists_, least_, above_, below_, weight_, du_, dv_, dt_, d_, dz_, gram_, lower_, unit_;
};

} // namespace tenfold
