#include "dual_cd_epochs.hpp"

#include "tenfold/crammer_singer_cd.hpp"

namespace tenfold {
namespace {

CrammerSingerCd make(const In<std::int32_t, 1> &label, Index classes, const In<double, 1> &cost, double unit,
                     std::uint64_t seed) {
  require(classes >= 2 && cost.shape(0) == label.shape(0), "two classes or more, and label and cost of every row");
  bool good = true;
  for (const std::int32_t c : label.span())
    good &= c >= 0 && c < classes;
  require(good, "label must hold classes");
  CrammerSingerCd state;
  state.classes = classes, state.unit = unit, state.random = Random(seed);
  state.label.assign(label.span().begin(), label.span().end());
  state.cost.assign(cost.span().begin(), cost.span().end());
  state.offset.assign(static_cast<std::size_t>(classes), 0.0);
  return state;
}

} // namespace

void bind_crammer_singer_cd(nb::module_ &m) {
  auto c = nb::class_<CrammerSingerCd>(
      m, "CrammerSingerCd", "Block dual coordinate descent for the multiclass hinge loss of Crammer and Singer.");
  c.def(
      "__init__",
      [](CrammerSingerCd *self, const In<std::int32_t, 1> &label, Index classes, const In<double, 1> &cost, double unit,
         std::uint64_t seed) { new (self) CrammerSingerCd(make(label, classes, cost, unit, seed)); },
      nb::arg("label"), nb::arg("classes"), nb::arg("cost"), nb::arg("unit"), nb::arg("seed"));
  c.def(
      "shift",
      [](CrammerSingerCd &state, const In<double, 1> &offset) {
        require(offset.shape(0) == state.classes, "offset must have one entry a class");
        state.offset.assign(offset.span().begin(), offset.span().end());
        state.unshrink();
      },
      nb::arg("offset"), "Replaces the class offsets.");
  c.def_prop_ro("dual", [](const CrammerSingerCd &s) {
    return give<double, 2>(s.dual, {static_cast<Index>(s.label.size()), s.classes});
  });
  c.def_prop_ro("w", [](const CrammerSingerCd &s) {
    return give<double, 2>(s.w, {static_cast<Index>(s.w.size()) / s.classes, s.classes});
  });
  bind_common(c);
}

} // namespace tenfold
