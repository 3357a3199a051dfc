#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/poll.hpp"
#include "tenfold/thread_pool.hpp"
#include "tenfold/viterbi.hpp"

namespace tenfold {
namespace {

constexpr double steps_between_polls = 1 << 28;
constexpr Index sequences_per_piece = 16;

// All tokens of all sequences: sequence s is tokens offsets[s] to offsets[s + 1].
struct Sequences {
  Sequences(const Tagger &tagger, const In<double, 1> &data, const In<std::int32_t, 1> &indices, const Pointers &indptr,
            const In<std::int64_t, 1> &cuts)
      : rows(data, indices, indptr, tagger.columns), offsets(cuts.span()) {
    bool good = !offsets.empty() && offsets.front() == 0 && offsets.back() == rows.view.rows;
    for (std::size_t i = 1; i < offsets.size(); ++i)
      good &= offsets[i] >= offsets[i - 1];
    for (const std::int32_t index : rows.view.indices)
      good &= index >= 0 && index < tagger.columns;
    require(good, "offsets must rise from 0 to the number of tokens, and indices must be columns");
  }

  Index begin(Index s) const { return offsets[static_cast<std::size_t>(s)]; }
  Index length(Index s) const { return begin(s + 1) - begin(s); }
  Index count() const { return static_cast<Index>(offsets.size()) - 1; }
  template <class T> std::span<T> part(std::span<T> of_tokens, Index s) const {
    return of_tokens.subspan(static_cast<std::size_t>(begin(s)), static_cast<std::size_t>(length(s)));
  }

  Compressed<double, std::int32_t> rows;
  std::span<const std::int64_t> offsets;
};

// Calls body(begin, end) on pieces of [0, count) and polls for signals after each.
template <class Work, class Body> void for_pieces(Index count, const Work &work, const Body &body) {
  for (Index begin = 0; begin < count;) {
    double sum = 0.0;
    Index end = begin;
    while (end < count && sum < steps_between_polls)
      sum += work(end++);
    {
      const nb::gil_scoped_release release;
      body(begin, end);
    }
    poll();
    begin = end;
  }
}

double steps_of(const Tagger &t, const Sequences &x, Index s) {
  return static_cast<double>(x.length(s)) * static_cast<double>(t.tags * t.tags);
}

auto learn(Tagger &t, const In<double, 1> &data, const In<std::int32_t, 1> &indices, const Pointers &indptr,
           const In<std::int64_t, 1> &offsets, const In<std::int32_t, 1> &gold, const Maybe<double, 1> &weight,
           const In<std::int64_t, 1> &order) {
  const Sequences x(t, data, indices, indptr, offsets);
  bool good = gold.shape(0) == x.rows.view.rows && (!weight || weight->shape(0) == x.count());
  for (const std::int32_t tag : gold.span())
    good &= tag >= 0 && tag < t.tags;
  for (const std::int64_t s : order.span())
    good = good && s >= 0 && s < x.count() && x.length(s) > 0;
  require(good, "gold must hold a tag a token, weight a number a sequence, and order sequences that are not empty");
  const std::span<const double> weights = span_or_none(weight);
  const auto chosen = [&](Index k) { return static_cast<Index>(order.span()[static_cast<std::size_t>(k)]); };
  Index tokens = 0, sequences = 0;
  for_pieces(
      order.shape(0), [&](Index k) { return steps_of(t, x, chosen(k)); },
      [&](Index begin, Index end) {
        for (Index k = begin; k < end; ++k) {
          const Index s = chosen(k);
          const double a = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(s)];
          const Index wrong = t.learn(x.rows.view, x.begin(s), x.begin(s + 1), x.part(gold.span(), s), a);
          tokens += wrong, sequences += wrong > 0;
        }
      });
  return std::make_tuple(tokens, sequences);
}

auto decode(const Tagger &t, const In<double, 1> &data, const In<std::int32_t, 1> &indices, const Pointers &indptr,
            const In<std::int64_t, 1> &offsets, int threads) {
  const Sequences x(t, data, indices, indptr, offsets);
  const Out<std::int32_t, 1> path({x.rows.view.rows});
  std::vector<Viterbi> best;
  for (int worker = 0; worker < checked_threads(threads); ++worker)
    best.emplace_back(t.weights, t.tags);
  for_pieces(
      x.count(), [&](Index s) { return steps_of(t, x, s); },
      [&](Index begin, Index end) {
        const Index pieces = (end - begin + sequences_per_piece - 1) / sequences_per_piece;
        parallel(pieces, threads, [&](Index piece, int worker) {
          const Index first = begin + piece * sequences_per_piece, last = std::min(end, first + sequences_per_piece);
          for (Index s = first; s < last; ++s)
            best[static_cast<std::size_t>(worker)](x.rows.view, x.begin(s), x.begin(s + 1), x.part(path.span(), s));
        });
      });
  return path.give();
}

auto arrays(const Tagger &t, const TagWeights &w) {
  return std::make_tuple(give<double, 2>(w.emission, {t.columns, t.tags}),
                         give<double, 2>(w.transition, {t.tags, t.tags}), give<double, 1>(w.start, {t.tags}),
                         give<double, 1>(w.end, {t.tags}));
}

void assign(Tagger &t, const In<double, 2> &emission, const In<double, 2> &transition, const In<double, 1> &start,
            const In<double, 1> &end) {
  require(emission.shape(0) == t.columns && emission.shape(1) == t.tags && transition.shape(0) == t.tags &&
              transition.shape(1) == t.tags && start.shape(0) == t.tags && end.shape(0) == t.tags,
          "weights must be (columns, tags), (tags, tags), (tags) and (tags)");
  const auto copy = [](const auto &from, std::vector<double> &to) {
    std::copy(from.span().begin(), from.span().end(), to.begin());
  };
  copy(emission, t.weights.emission), copy(transition, t.weights.transition);
  copy(start, t.weights.start), copy(end, t.weights.end);
}

} // namespace

void bind_viterbi(nb::module_ &m) {
  nb::class_<Tagger> c(m, "Tagger", "Weights of a linear-chain tagger and its structured perceptron.");
  c.def(
      "__init__",
      [](Tagger *self, Index columns, Index tags) {
        require(columns >= 0 && tags >= 1, "there must be columns and tags");
        new (self) Tagger(columns, tags);
      },
      nb::arg("columns"), nb::arg("tags"));
  c.def("learn", &learn, nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("offsets"), nb::arg("gold"),
        nb::arg("weight").none(), nb::arg("order"), "One pass: (wrong tags, sequences with a mistake).");
  c.def("decode", &decode, nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("offsets"),
        nb::arg("threads"), "Viterbi decoding of all sequences.");
  c.def("assign", &assign, nb::arg("emission"), nb::arg("transition"), nb::arg("start"), nb::arg("end"));
  c.def(
      "skip", [](Tagger &t, double sequences) { t.seen += sequences; }, nb::arg("sequences"),
      "Counts sequences that were seen without a mistake.");
  c.def_prop_ro("weights", [](const Tagger &t) { return arrays(t, t.weights); });
  c.def_prop_ro("sums", [](const Tagger &t) { return arrays(t, t.sums); });
  c.def_ro("seen", &Tagger::seen);
  c.def_ro("finite", &Tagger::finite);
}

} // namespace tenfold
