#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/viterbi.hpp"

namespace tenfold {
namespace {

constexpr double steps_between_signals = 1 << 26;

using Rows = Compressed<double, std::int32_t>;

void check(const Tagger &tagger, const Rows &rows, std::span<const std::int64_t> offsets) {
  require(rows.view.columns == tagger.columns, "tokens must have the columns of the emissions");
  bool good = !offsets.empty() && offsets.front() == 0 && offsets.back() == rows.view.rows;
  for (std::size_t i = 1; i < offsets.size(); ++i)
    good &= offsets[i] >= offsets[i - 1];
  for (const std::int32_t index : rows.view.indices)
    good &= index >= 0 && index < tagger.columns;
  require(good, "offsets must rise from 0 to the number of tokens, and indices must be columns");
}

// body(sequence) for each, with a look for signals now and then.
template <class Body>
void each(const Tagger &tagger, std::span<const std::int64_t> order, std::span<const std::int64_t> offsets,
          const Body &body) {
  double work = 0.0;
  std::size_t next = 0;
  while (next < order.size()) {
    {
      const nb::gil_scoped_release release;
      for (work = 0.0; next < order.size() && work < steps_between_signals; ++next) {
        const std::size_t s = static_cast<std::size_t>(order[next]);
        body(s);
        work += static_cast<double>((offsets[s + 1] - offsets[s]) * tagger.tags * tagger.tags);
      }
    }
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
  }
}

nb::object array(const std::vector<double> &values, Index rows, Index columns) {
  return give<double, 2>(values, {rows, columns});
}

nb::tuple arrays(const Tagger &t, const TagWeights &w) {
  return nb::make_tuple(array(w.emission, t.columns, t.tags), array(w.transition, t.tags, t.tags),
                        give<double, 1>(w.start, {t.tags}), give<double, 1>(w.end, {t.tags}));
}

void assign(const Tagger &t, TagWeights &w, const In<double, 2> &emission, const In<double, 2> &transition,
            const In<double, 1> &start, const In<double, 1> &end) {
  require(emission.shape(0) == t.columns && emission.shape(1) == t.tags && transition.shape(0) == t.tags &&
              transition.shape(1) == t.tags && start.shape(0) == t.tags && end.shape(0) == t.tags,
          "weights must be (columns, tags), (tags, tags), (tags) and (tags)");
  const auto copy = [](const auto &from, std::vector<double> &to) {
    std::copy(from.span().begin(), from.span().end(), to.begin());
  };
  copy(emission, w.emission), copy(transition, w.transition), copy(start, w.start), copy(end, w.end);
}

} // namespace

void bind_viterbi(nb::module_ &m) {
  nb::class_<Tagger> c(m, "Tagger", "Scores of sequences of tags, and the perceptron that learns them.");
  c.def(
      "__init__",
      [](Tagger *self, Index columns, Index tags) {
        require(columns >= 0 && tags >= 1, "there must be columns and tags");
        new (self) Tagger(columns, tags);
      },
      nb::arg("columns"), nb::arg("tags"));
  c.def(
      "learn",
      [](Tagger &t, const In<double, 1> &data, const In<std::int32_t, 1> &indices, const Pointers &indptr,
         const In<std::int64_t, 1> &offsets, const In<std::int32_t, 1> &gold, const In<std::int64_t, 1> &order) {
        const Rows rows(data, indices, indptr, t.columns);
        check(t, rows, offsets.span());
        bool good = gold.shape(0) == rows.view.rows;
        for (const std::int32_t tag : gold.span())
          good &= tag >= 0 && tag < t.tags;
        for (const std::int64_t s : order.span())
          good &= s >= 0 && s + 1 < offsets.shape(0) &&
                  offsets.span()[static_cast<std::size_t>(s)] < offsets.span()[static_cast<std::size_t>(s) + 1];
        require(good, "gold must hold a tag a token, and order sequences that are not empty");
        Index tokens = 0, sequences = 0;
        each(t, order.span(), offsets.span(), [&](std::size_t s) {
          const Index begin = offsets.span()[s], end = offsets.span()[s + 1];
          const auto tags = gold.span().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
          const Index wrong = t.learn(rows.view, begin, end, tags);
          tokens += wrong, sequences += wrong > 0;
        });
        return nb::make_tuple(tokens, sequences);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("offsets"), nb::arg("gold"), nb::arg("order"),
      "One pass: (wrong tags, sequences with any).");
  c.def(
      "decode",
      [](Tagger &t, const In<double, 1> &data, const In<std::int32_t, 1> &indices, const Pointers &indptr,
         const In<std::int64_t, 1> &offsets) {
        const Rows rows(data, indices, indptr, t.columns);
        check(t, rows, offsets.span());
        const Out<std::int32_t, 1> path({rows.view.rows});
        std::vector<std::int64_t> order(static_cast<std::size_t>(offsets.shape(0)) - 1);
        for (std::size_t s = 0; s < order.size(); ++s)
          order[s] = static_cast<std::int64_t>(s);
        each(t, order, offsets.span(), [&](std::size_t s) {
          const Index begin = offsets.span()[s], end = offsets.span()[s + 1];
          t.decode(rows.view, begin, end,
                   path.span().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
        });
        return path.give();
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("offsets"), "The best tags of all tokens.");
  c.def(
      "assign",
      [](Tagger &t, const In<double, 2> &emission, const In<double, 2> &transition, const In<double, 1> &start,
         const In<double, 1> &end) { assign(t, t.weights, emission, transition, start, end); },
      nb::arg("emission"), nb::arg("transition"), nb::arg("start"), nb::arg("end"));
  c.def_prop_ro("weights", [](const Tagger &t) { return arrays(t, t.weights); });
  c.def_prop_ro("sums", [](const Tagger &t) { return arrays(t, t.sums); });
  c.def_ro("seen", &Tagger::seen);
}

} // namespace tenfold
