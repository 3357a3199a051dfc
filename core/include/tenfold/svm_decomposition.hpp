// Decomposition for the problems of support vector machines: over variables v, each of a sample i(v),
//   min over beta   1/2 b' K b + 1/2 sum_v d_v beta_v^2 - sum_v z_v beta_v,   lo <= beta <= hi,   b_i = sum_i(v)=i
//   beta_v,
// the sum of beta of each of one or two groups of variables staying what it is. Classification has beta = y a, z = y;
// regression two variables a sample, beta = a and beta = -a*, z = y - epsilon and y + epsilon; d is 1 / (2 C) for
// squared slack. With f = K b, value_v = z_v - f_i(v) - d_v beta_v, as in smo_block.hpp.
//
// A round takes a working set of the variables that violate optimality most and half of the last one (Zanni, Serafini
// and Zanghirati, 2006), solves it to a tenth of the present violation, and adds the change to f: one product of kernel
// rows, which a cache keeps. The duality gap of the iterate at multiplier m of a group is a sum of terms that are not
// negative,
//   sum_v (hi - beta) e for e > 0, (beta - lo) (-e) for e < 0,   e = value - m;
// with d > 0 (no upper bound of |beta|) and u = e + d beta: e^2 / (2 d) where u has the sign of the variable, otherwise
// |beta| |u| + d beta^2 / 2.
//
// T is the type of the kernel's values; f and beta are in float64. The caller recomputes f for a float32 kernel, whose
// rounding adds up, and goes on. Bits do not depend on the threads.
#pragma once

#include "tenfold/kernel_cache.hpp"
#include "tenfold/smo_block.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

namespace tenfold {

struct SvmVariables {
  std::vector<std::int32_t> sample; // number among the samples of the segments
  std::vector<double> z, lo, hi, extra;
  Index first = 0; // variables of group 0, which come first; all of them where there is one group
};

enum class SvmEnd : int {
  optimal, // violation and gap are as small as asked
  limit,   // so many steps or rounds were taken
  stalled  // no step is possible in the precision of the kernel
};

struct SvmRule {
  double violation, gap;
  Index steps, rounds;
};

template <class T> class SvmDecomposition {
public:
  SvmDecomposition(KernelCache<T> &cache, std::vector<Index> segments, SvmVariables variables, Index set)
      : cache_(cache), segments_(std::move(segments)), v_(std::move(variables)), beta_(v_.z.size()),
        value_(v_.z.size()), age_(v_.z.size(), -1) {
    for (const Index s : segments_)
      offsets_.push_back(offsets_.back() + cache_.length(s));
    f_.resize(static_cast<std::size_t>(samples()));
    const double row = static_cast<double>(samples()) * sizeof(T);
    set_ = std::clamp<Index>(static_cast<Index>(cache_.bytes() / row), 2, std::min(set, count()));
  }

  Index samples() const { return offsets_.back(); }
  Index count() const { return static_cast<Index>(v_.z.size()); }
  Index steps() const { return steps_; }
  Index rounds() const { return rounds_; }
  // Floating-point operations of steps and of changes of f, without those of kernel values.
  double operations() const { return operations_; }
  double gap() const { return gap_; }
  double violation() const { return violation_; }
  const std::vector<double> &beta() const { return beta_; }
  const std::vector<double> &f() const { return f_; }
  const std::array<double, 2> &multipliers() const { return multipliers_; }

  void set_beta(std::span<const double> beta) { std::copy(beta.begin(), beta.end(), beta_.begin()); }
  // f = K b, as the caller has computed it.
  void set_f(std::span<const double> f) {
    std::copy(f.begin(), f.end(), f_.begin());
    measure();
  }

  SvmEnd run(const SvmRule &rule) {
    measure();
    for (Index round = 0; round < rule.rounds; ++round) {
      if (violation_ <= rule.violation && gap_ <= rule.gap)
        return SvmEnd::optimal;
      if (steps_ >= rule.steps)
        return SvmEnd::limit;
      const double before = violation_;
      const Index taken = work(rule.steps - steps_);
      ++rounds_;
      measure();
      if (taken == 0 || (stuck_ = violation_ < 0.999 * before || gap_ < least_gap_ ? 0 : stuck_ + 1) > 30)
        return SvmEnd::stalled;
      least_gap_ = std::min(least_gap_, gap_);
      poll();
    }
    return SvmEnd::limit;
  }

private:
  static constexpr double step_operations = 12.0; // for each variable of the block (smo.hpp)

  std::size_t at(Index v) const { return static_cast<std::size_t>(v); }
  std::size_t sample(Index v) const { return static_cast<std::size_t>(v_.sample[at(v)]); }
  int group(Index v) const { return v < v_.first ? 0 : 1; }
  Index group_begin(int g) const { return g == 0 ? 0 : v_.first; }
  Index group_end(int g) const { return g == 0 ? v_.first : count(); }
  bool increases(Index v) const { return beta_[at(v)] < v_.hi[at(v)]; }
  bool decreases(Index v) const { return beta_[at(v)] > v_.lo[at(v)]; }

  // Values, the violation and the multiplier of each group, and the gap.
  void measure() {
    for (Index v = 0; v < count(); ++v)
      value_[at(v)] = v_.z[at(v)] - f_[sample(v)] - v_.extra[at(v)] * beta_[at(v)];
    violation_ = 0.0, gap_ = 0.0;
    for (int g = 0; g < 2; ++g)
      measure(g);
  }
  void measure(int g) {
    double top = -infinite, least = infinite, sum = 0.0;
    Index free = 0;
    for (Index v = group_begin(g); v < group_end(g); ++v) {
      const bool up = increases(v), down = decreases(v);
      top = up ? std::max(top, value_[at(v)]) : top;
      least = down ? std::min(least, value_[at(v)]) : least;
      if (up && down)
        sum += value_[at(v)], ++free;
    }
    top_[static_cast<std::size_t>(g)] = top, least_[static_cast<std::size_t>(g)] = least;
    violation_ = std::max(violation_, top - least);
    double m = 0.0;
    if (free > 0)
      m = sum / static_cast<double>(free);
    else if (top > -infinite || least < infinite)
      m = top == -infinite ? least : least == infinite ? top : 0.5 * (top + least);
    multipliers_[static_cast<std::size_t>(g)] = m;
    for (Index v = group_begin(g); v < group_end(g); ++v)
      gap_ += gap_of(v, value_[at(v)] - m);
  }
  double gap_of(Index v, double e) const {
    const double beta = beta_[at(v)], d = v_.extra[at(v)];
    if (d == 0.0) {
      const double room = e > 0.0 ? v_.hi[at(v)] - beta : beta - v_.lo[at(v)];
      return room > 0.0 && e != 0.0 ? room * std::abs(e) : 0.0; // room may be infinite
    }
    const double u = e + d * beta;
    if (v_.hi[at(v)] > 0.0 ? u > 0.0 : u < 0.0)
      return 0.5 * e * e / d;
    return std::abs(beta * u) + 0.5 * d * beta * beta;
  }

  // One round; returns the steps inside.
  Index work(Index limit) {
    choose();
    if (chosen_.empty())
      return 0;
    const Index first =
        std::partition_point(chosen_.begin(), chosen_.end(), [&](Index v) { return group(v) == 0; }) - chosen_.begin();
    const Index total = static_cast<Index>(chosen_.size());
    // of all variables the kernel is filled once, while no other problem has taken the room of its rows
    const bool known = block_ && total == count() && dropped_ == cache_.dropped();
    if (!known) {
      fetch();
      dropped_ = cache_.dropped();
      block_.emplace(first, total - first);
    }
    SmoBlock<T> &block = *block_;
    places_.clear();
    for (Index k = 0; k < total; ++k) {
      const Index v = chosen_[at(k)], to = k < first ? k : block.begin(1) + k - first;
      places_.push_back(to);
      block.set(to, value_[at(v)], beta_[at(v)], v_.lo[at(v)], v_.hi[at(v)], v_.extra[at(v)]);
    }
    if (!known)
      fill(block);
    const Index taken =
        block.solve(std::max(0.1 * violation_, rounding()), std::min<Index>(limit, 200 * total + 20000));
    steps_ += taken;
    operations_ += static_cast<double>(taken * block.size()) * step_operations;
    change(block);
    return taken;
  }
  // A violation that is rounding of values.
  double rounding() const {
    double size = 0.0;
    for (const double value : value_)
      size = std::max(size, std::abs(value));
    return 4e-16 * size;
  }

  // The working set: half of the last one at most, those between their bounds and the newest first; then those that
  // violate most, as many that may increase as that may decrease.
  void choose() {
    std::vector<Index> kept = std::move(chosen_);
    chosen_.clear();
    std::stable_sort(kept.begin(), kept.end(), [&](Index a, Index b) {
      const bool bound_a = !(increases(a) && decreases(a)), bound_b = !(increases(b) && decreases(b));
      return bound_a != bound_b ? bound_b : age_[at(a)] < age_[at(b)];
    });
    const Index most = count() <= set_ ? 0 : set_ / 2;
    for (std::size_t k = 0; k < kept.size(); ++k)
      if (static_cast<Index>(k) < most)
        ++age_[at(kept[k])], chosen_.push_back(kept[k]);
      else
        age_[at(kept[k])] = -1;
    if (count() <= set_) {
      for (Index v = 0; v < count(); ++v)
        chosen_.push_back(v);
      return;
    }
    const Index room = set_ - static_cast<Index>(chosen_.size());
    const double both = std::max(violation_of(0), 0.0) + std::max(violation_of(1), 0.0);
    for (int g = 0; g < 2 && both > 0.0; ++g)
      if (violation_of(g) > 0.0) {
        const Index some = static_cast<Index>(static_cast<double>(room) * violation_of(g) / both);
        add_most(g, true, std::max<Index>(1, some / 2)), add_most(g, false, std::max<Index>(1, some / 2));
      }
    std::sort(chosen_.begin(), chosen_.end());
  }
  double violation_of(int g) const { return top_[static_cast<std::size_t>(g)] - least_[static_cast<std::size_t>(g)]; }
  void add_most(int g, bool up, Index wanted) {
    candidates_.clear();
    const double limit = up ? least_[static_cast<std::size_t>(g)] : top_[static_cast<std::size_t>(g)];
    for (Index v = group_begin(g); v < group_end(g); ++v)
      if (age_[at(v)] < 0 && (up ? increases(v) && value_[at(v)] > limit : decreases(v) && value_[at(v)] < limit))
        candidates_.push_back(v);
    const auto before = [&](Index a, Index b) {
      const double x = value_[at(a)], y = value_[at(b)];
      return x != y ? (up ? x > y : x < y) : a < b;
    };
    wanted = std::min<Index>(wanted, static_cast<Index>(candidates_.size()));
    std::nth_element(candidates_.begin(), candidates_.begin() + wanted, candidates_.end(), before);
    for (Index k = 0; k < wanted; ++k)
      age_[at(candidates_[at(k)])] = 0, chosen_.push_back(candidates_[at(k)]);
  }

  // The entries of the kernel for the samples of the working set, each sample once.
  void fetch() {
    rows_of_.clear(), numbers_.clear();
    std::vector<Index> wanted;
    for (const Index v : chosen_)
      wanted.push_back(static_cast<Index>(sample(v)));
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    numbers_ = wanted;
    for (Index &i : wanted)
      i = global(i);
    rows_of_.resize(segments_.size());
    for (std::size_t s = 0; s < segments_.size(); ++s)
      cache_.get(wanted, segments_[s], rows_of_[s]);
  }
  Index global(Index i) const {
    std::size_t s = 0;
    while (i >= offsets_[s + 1])
      ++s;
    return cache_.start(segments_[s]) + i - offsets_[s];
  }
  void fill(SmoBlock<T> &block) {
    const Index total = static_cast<Index>(chosen_.size());
    std::vector<Index> number(at(total)), local(at(total));
    std::vector<std::size_t> segment(at(total));
    for (Index k = 0; k < total; ++k) {
      const Index i = static_cast<Index>(sample(chosen_[at(k)]));
      number[at(k)] = std::lower_bound(numbers_.begin(), numbers_.end(), i) - numbers_.begin();
      std::size_t s = 0;
      while (i >= offsets_[s + 1])
        ++s;
      segment[at(k)] = s, local[at(k)] = i - offsets_[s];
    }
    parallel(total, total < 256 ? 1 : cache_.threads(), [&](Index k, int) {
      T *to = block.row(places_[at(k)]);
      for (Index j = 0; j < total; ++j)
        to[places_[at(j)]] = rows_of_[segment[at(j)]][at(number[at(k)])][local[at(j)]];
    });
  }
  // Takes beta from the block, and adds its change times the kernel to f.
  void change(const SmoBlock<T> &block) {
    std::vector<double> moved(numbers_.size());
    const auto nonzero = [](double by) { return by != 0.0; };
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      const Index v = chosen_[k];
      const double beta = block.beta(places_[k]);
      moved[at(std::lower_bound(numbers_.begin(), numbers_.end(), static_cast<Index>(sample(v))) - numbers_.begin())] +=
          beta - beta_[at(v)];
      beta_[at(v)] = beta;
    }
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      const Index n = cache_.length(segments_[s]), piece = 2048;
      operations_ += 2.0 * static_cast<double>(n * std::count_if(moved.begin(), moved.end(), nonzero));
      double *f = f_.data() + offsets_[s];
      parallel((n + piece - 1) / piece, n * static_cast<Index>(moved.size()) < 1 << 16 ? 1 : cache_.threads(),
               [&](Index item, int) {
                 const Index begin = item * piece, some = std::min(piece, n - begin);
                 for (std::size_t k = 0; k < moved.size(); ++k)
                   if (nonzero(moved[k]))
                     kernels().dense<T>().axpy(moved[k], rows_of_[s][k] + begin, some, f + begin);
               });
    }
  }

  KernelCache<T> &cache_;
  std::vector<Index> segments_, offsets_{0};
  SvmVariables v_;
  Index set_ = 2, steps_ = 0, rounds_ = 0, stuck_ = 0, dropped_ = -1;
  double operations_ = 0.0;
  std::vector<double> beta_, f_, value_;
  std::vector<Index> age_; // rounds in the working set; -1 outside
  std::vector<Index> chosen_, places_, candidates_, numbers_;
  std::vector<std::vector<const T *>> rows_of_;
  std::optional<SmoBlock<T>> block_;
  std::array<double, 2> top_{-infinite, -infinite}, least_{infinite, infinite}, multipliers_{};
  double violation_ = infinite, gap_ = infinite, least_gap_ = infinite;
};

} // namespace tenfold
