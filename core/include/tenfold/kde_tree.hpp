// Sums of density kernels about queries to a tolerance, by bounds on the nodes of a k-d tree (kd_tree.hpp).
//
// With W the weight of a node, and K+ and K- the kernel at the nearest and the farthest corner of its box, its samples
// contribute between W K- and W K+: the midpoint is off by at most e = W (K+ - K-) / 2. The sum S of a query may be off
// by A + r S. Nodes are visited the nearest first. A node of weight W, out of a remaining weight U, is approximated if
// e <= (A + r L - E) W / U, where L <= S is a lower bound on the sum and E the error spent so far: tolerance that exact
// nodes do not use is left to others, and E never exceeds A + r L. Beyond the support of a kernel K+ = K- = 0, and
// nodes cost nothing; without a tolerance the sums are exact. Kernels of unbounded support are a running log-sum-exp
// about the largest exponent so far, so that far from all samples nothing underflows. Cost of a query: two kernel
// values a visited node, and the samples of leaves that are summed.
#pragma once

#include "tenfold/kd_tree.hpp"
#include "tenfold/kde.hpp"

namespace tenfold {

struct KdeTreeProblem {
  KdeKernel kernel;
  double bandwidth;
  double log_absolute; // of A, minus infinity for none
  double relative;
  std::span<const double> weight; // (samples) in the order of the tree, or empty for ones
  std::span<const double> below;  // (samples + 1) sums of the weights before each place, or empty
  Finish distance;                // from reduced distances
};

template <class Term, Index fixed> class KdeTree {
public:
  KdeTree(const KdTreeView &tree, Dense<double> queries, Term term, const KdeTreeProblem &in)
      : tree_(tree), q_(queries), term_(term), in_(in),
        room_(1.0 - 0x1p-50 * static_cast<double>(tree.shape.columns + 4)),
        scale_(in.kernel == KdeKernel::gaussian ? -0.5 / (in.bandwidth * in.bandwidth) : -1.0 / in.bandwidth),
        unbounded_(has_unbounded_support(in.kernel)) {}

  void sum(const Queries &queries, int threads, double *logs) const {
    constexpr Index together = 16;
    const Index items = (queries.end - queries.begin + together - 1) / together;
    parallel(items, threads, [&](Index item, int) {
      const Index most = tree_.shape.rows / (tree_.shape.first_leaf() + 1) + 2;
      Buffer terms(most);
      const Index first = queries.begin + item * together;
      for (Index q = first; q < std::min(queries.end, first + together); ++q)
        logs[q] = of_query(q_.data + q * q_.columns, terms.data());
    });
  }

private:
  static constexpr double none = -std::numeric_limits<double>::infinity();

  // The running sums of a query; all but `largest` and `left` in units of exp(largest).
  struct State {
    const double *query;
    double *terms;
    double largest, absolute, sum, low, spent, left;
  };
  struct Corners {
    double near, far; // reduced
  };

  Index columns() const { return fixed > 0 ? fixed : tree_.shape.columns; }
  double weight(Index begin, Index end) const {
    return in_.below.empty() ? static_cast<double>(end - begin)
                             : in_.below[static_cast<std::size_t>(end)] - in_.below[static_cast<std::size_t>(begin)];
  }

  double of_query(const double *query, double *terms) const {
    State state{query, terms, 0.0, 0.0, 0.0, 0.0, 0.0, weight(0, tree_.shape.rows)};
    state.largest = unbounded_ ? estimate_largest(query, terms) : 0.0;
    state.absolute = scale_tolerance(state.largest);
    descend(state, 0, 0, tree_.shape.rows, corners(query, 0));
    return state.sum > 0.0 ? std::log(state.sum) + state.largest : none;
  }

  Corners corners(const double *query, Index node) const {
    const Index d = columns();
    const double *low = tree_.boxes.data() + node * 2 * d, *high = low + d;
    Corners result{0.0, 0.0};
    for (Index j = 0; j < d; ++j) {
      const double under = low[j] - query[j], over = query[j] - high[j];
      result.near = term_(result.near, std::max(std::max(under, over), 0.0));
      result.far = term_(result.far, std::max(std::fabs(under), std::fabs(over)));
    }
    return result;
  }

  double exponent(double reduced) const {
    const double d = in_.distance(reduced);
    return scale_ * (in_.kernel == KdeKernel::gaussian ? d * d : d);
  }
  double height(double reduced, double largest) const {
    if (unbounded_)
      return std::exp(exponent(reduced) - largest);
    const double r = in_.distance(reduced) / in_.bandwidth;
    if (!(r < 1.0))
      return 0.0;
    switch (in_.kernel) {
    case KdeKernel::epanechnikov:
      return 1.0 - r * r;
    case KdeKernel::linear:
      return 1.0 - r;
    case KdeKernel::cosine:
      return std::cos(0.5 * std::numbers::pi * r);
    default:
      return 1.0;
    }
  }

  // To units of a larger term.
  void rescale(State &state, double largest) const {
    const double factor = std::exp(state.largest - largest);
    state.sum *= factor;
    state.low *= factor;
    state.spent *= factor;
    state.largest = largest;
    state.absolute = scale_tolerance(largest);
  }

  // A in units of exp(largest), clipped so that it stays finite.
  double scale_tolerance(double largest) const { return std::min(std::exp(in_.log_absolute - largest), 1e200); }

  // The largest exponent in the leaf reached by the nearest boxes: close to that of the nearest sample.
  double estimate_largest(const double *query, double *terms) const {
    Index node = 0, begin = 0, end = tree_.shape.rows;
    while (node < tree_.shape.first_leaf()) {
      const Index middle = begin + (end - begin) / 2, left = 2 * node + 1;
      const bool is_left = corners(query, left).near <= corners(query, left + 1).near;
      node = is_left ? left : left + 1;
      (is_left ? end : begin) = middle;
    }
    distances(query, begin, end, terms);
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < end - begin; ++i)
      least = std::min(least, terms[i]);
    return exponent(least);
  }

  void distances(const double *query, Index begin, Index end, double *out) const {
    const Index d = columns();
    for (Index i = begin; i < end; ++i) {
      const double *point = tree_.points.data() + i * d;
      double sum = 0.0;
      for (Index j = 0; j < d; ++j)
        sum = term_(sum, point[j] - query[j]);
      out[i - begin] = sum;
    }
  }

  void descend(State &state, Index node, Index begin, Index end, const Corners &box) const {
    const double w = weight(begin, end);
    const double most = height(box.near * room_, state.largest), least = height(box.far / room_, state.largest);
    const double error = 0.5 * w * (most - least);
    const double allowed = state.absolute + in_.relative * (state.low + w * least) - state.spent;
    if (error <= 0.0 || error * state.left <= allowed * w) {
      state.sum += 0.5 * w * (most + least);
      state.low += w * least;
      state.spent += error;
      state.left -= w;
      return;
    }
    if (node >= tree_.shape.first_leaf()) {
      leaf(state, begin, end);
      state.left -= w;
      return;
    }
    const Index middle = begin + (end - begin) / 2, left = 2 * node + 1, right = left + 1;
    const Corners to_left = corners(state.query, left), to_right = corners(state.query, right);
    if (to_left.near <= to_right.near) {
      descend(state, left, begin, middle, to_left);
      descend(state, right, middle, end, to_right);
    } else {
      descend(state, right, middle, end, to_right);
      descend(state, left, begin, middle, to_left);
    }
  }

  void leaf(State &state, Index begin, Index end) const {
    double *terms = state.terms;
    const Index count = end - begin;
    distances(state.query, begin, end, terms);
    if (unbounded_) {
      double largest = state.largest;
      for (Index i = 0; i < count; ++i) {
        terms[i] = exponent(terms[i]);
        largest = std::max(largest, terms[i]);
      }
      if (largest > state.largest)
        rescale(state, largest);
      for (Index i = 0; i < count; ++i)
        terms[i] -= state.largest;
      kernels().f64.exp(terms, terms, count);
    } else {
      for (Index i = 0; i < count; ++i)
        terms[i] = height(terms[i], 0.0);
    }
    double sum = 0.0;
    for (Index i = 0; i < count; ++i)
      sum += in_.weight.empty() ? terms[i] : terms[i] * in_.weight[static_cast<std::size_t>(begin + i)];
    state.sum += sum;
    state.low += sum;
  }

  const KdTreeView &tree_;
  Dense<double> q_;
  Term term_;
  const KdeTreeProblem &in_;
  double room_, scale_;
  bool unbounded_;
};

} // namespace tenfold
