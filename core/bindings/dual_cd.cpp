#include "dual_cd_epochs.hpp"

#include "tenfold/dual_cd.hpp"

namespace tenfold {
namespace {

std::vector<double> copy(const In<double, 1> &array) {
  return std::vector<double>(array.span().begin(), array.span().end());
}

DualCd make(const In<double, 1> &target, const In<double, 1> &low, const In<double, 1> &high,
            const In<double, 1> &curvature, double epsilon, double unit, Index run, std::uint64_t seed) {
  require(run >= 1, "a run has at least one row");
  for (const In<double, 1> *part : {&low, &high, &curvature})
    require(part->shape(0) == target.shape(0), "target, low, high and curvature must have one entry a row");
  DualCd state;
  state.target = copy(target), state.low = copy(low), state.high = copy(high);
  state.curvature = copy(curvature), state.epsilon = epsilon, state.unit = unit, state.run = run;
  state.random = Random(seed);
  return state;
}

template <class Vector> auto vector(const Vector &values) {
  return give<double, 1>({values.begin(), values.end()}, {static_cast<Index>(values.size())});
}

} // namespace

void bind_dual_cd(nb::module_ &m) {
  auto c = nb::class_<DualCd>(m, "DualCd", "Dual coordinate descent for a linear support vector machine.");
  c.def(
      "__init__",
      [](DualCd *self, const In<double, 1> &target, const In<double, 1> &low, const In<double, 1> &high,
         const In<double, 1> &curvature, double epsilon, double unit, Index run,
         std::uint64_t seed) { new (self) DualCd(make(target, low, high, curvature, epsilon, unit, run, seed)); },
      nb::arg("target"), nb::arg("low"), nb::arg("high"), nb::arg("curvature"), nb::arg("epsilon"), nb::arg("unit"),
      nb::arg("run"), nb::arg("seed"));
  c.def(
      "retarget",
      [](DualCd &state, const In<double, 1> &target) {
        require(target.span().size() == state.target.size(), "target must have one entry a row");
        state.target = copy(target);
        state.unshrink();
      },
      nb::arg("target"), "Replaces the targets.");
  c.def_prop_ro("b", [](const DualCd &s) { return vector(s.b); });
  c.def_prop_ro("w", [](const DualCd &s) { return vector(s.w); });
  bind_common(c);
}

} // namespace tenfold
