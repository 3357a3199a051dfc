// What Parquet is made of: Snappy, runs of bits, headers of pages; right, cut off at every place, and broken.
#include "check.hpp"

#include "tenfold/parquet.hpp"

#include <cstdio>

using namespace tenfold;
using namespace tenfold::test;

namespace {

using Text = std::vector<std::uint8_t>;

// Packs as little as it can: literals of at most `longest` bytes, and copies where `distance` before is the same.
Text packed(const Text &text, std::size_t longest, std::size_t distance) {
  Text out;
  for (std::size_t length = text.size(); length >= 128; length >>= 7)
    out.push_back(static_cast<std::uint8_t>(length | 128));
  std::size_t rest = text.size();
  while (rest >= 128)
    rest >>= 7;
  out.push_back(static_cast<std::uint8_t>(rest));
  for (std::size_t i = 0; i < text.size();) {
    std::size_t same = 0;
    while (i >= distance && i + same < text.size() && same < 64 && text[i + same] == text[i + same - distance])
      ++same;
    if (same >= 4) {
      const bool near = same < 12 && distance < 2048;
      out.push_back(static_cast<std::uint8_t>(near ? 1 | (same - 4) << 2 | distance >> 8 << 5 : 2 | (same - 1) << 2));
      out.push_back(static_cast<std::uint8_t>(distance));
      if (!near)
        out.push_back(static_cast<std::uint8_t>(distance >> 8));
      i += same;
      continue;
    }
    const std::size_t count = std::min(longest, text.size() - i);
    if (count <= 60) {
      out.push_back(static_cast<std::uint8_t>((count - 1) << 2));
    } else {
      out.push_back(61 << 2); // two bytes of length
      out.push_back(static_cast<std::uint8_t>(count - 1));
      out.push_back(static_cast<std::uint8_t>((count - 1) >> 8));
    }
    out.insert(out.end(), text.begin() + static_cast<Index>(i), text.begin() + static_cast<Index>(i + count));
    i += count;
  }
  return out;
}

// The text, or nothing where it is refused.
Text unpacked(const Text &in, std::size_t size) {
  Text out(size + snappy_slack);
  if (!unpack_snappy(in, {out.data(), size}))
    return {};
  out.resize(size);
  return out;
}

void test_snappy() {
  std::mt19937_64 random(0);
  for (const std::size_t size : {1u, 15u, 16u, 17u, 100u, 5000u})
    for (const std::size_t distance : {1u, 3u, 7u, 8u, 15u, 16u, 300u, 3000u})
      for (const std::size_t longest : {1u, 16u, 60u, 4000u}) {
        Text text(size);
        for (std::size_t i = 0; i < size; ++i)
          text[i] = i < distance || random() % 20 == 0 ? static_cast<std::uint8_t>(random()) : text[i - distance];
        const Text in = packed(text, longest, distance);
        check(unpacked(in, size) == text, "what was packed by Snappy comes back");
        check(unpacked(in, size + 1).empty(), "another length is refused");
        for (std::size_t cut = 0; cut < std::min<std::size_t>(in.size(), 40); ++cut)
          check(unpacked({in.begin(), in.begin() + static_cast<Index>(cut)}, size).empty(), "a cut text is refused");
        Text broken = in;
        for (int k = 0; k < 20; ++k) // whatever comes out: the sanitizer looks for what is beyond the ends
          broken[random() % broken.size()] = static_cast<std::uint8_t>(random()), unpacked(broken, size);
      }
  check(unpacked({4, 1 << 2 | 2, 1, 0}, 4).empty(), "a copy of nothing is refused");
}

void test_bit_runs() {
  std::mt19937_64 random(1);
  for (unsigned width = 0; width <= 32; ++width) {
    std::vector<std::uint32_t> numbers;
    Text bytes;
    for (int run = 0; run < 10; ++run) {
      const auto limit = (std::uint64_t{1} << width) - 1;
      const std::size_t groups = 1 + random() % 5;
      if (run % 2 == 0) {
        const auto number = static_cast<std::uint32_t>(random() & limit);
        numbers.insert(numbers.end(), 8 * groups, number);
        bytes.push_back(static_cast<std::uint8_t>(8 * groups << 1));
        for (unsigned i = 0; i < (width + 7) / 8; ++i)
          bytes.push_back(static_cast<std::uint8_t>(number >> 8 * i));
        continue;
      }
      bytes.push_back(static_cast<std::uint8_t>(groups << 1 | 1));
      Text group(groups * width);
      for (std::size_t i = 0; i < 8 * groups; ++i) {
        numbers.push_back(static_cast<std::uint32_t>(random() & limit));
        for (unsigned b = 0; b < width; ++b)
          if ((numbers.back() >> b & 1) != 0)
            group[(i * width + b) / 8] |= static_cast<std::uint8_t>(1 << (i * width + b) % 8);
      }
      bytes.insert(bytes.end(), group.begin(), group.end());
    }
    const std::size_t size = bytes.size();
    bytes.resize(size + bit_slack);
    for (const std::size_t some : {1u, 5u, 64u}) {
      BitRuns runs({bytes.data(), size}, width);
      std::vector<std::uint32_t> found(numbers.size());
      bool good = true;
      for (std::size_t i = 0; i < found.size(); i += some)
        good = good && runs.read({found.data() + i, std::min(some, found.size() - i)});
      check(good && found == numbers, "runs of bits come back");
      std::uint32_t more;
      check(!runs.read({&more, 1}), "there are no more");
    }
  }
  const std::uint8_t ones[] = {5 << 1, 1, 3, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0};
  for (Index count = 0; count < 20; ++count)
    check(BitRuns({ones, 5}, 1).all_ones(count) == (count <= 13), "five ones, then eight");
}

// A file of one chunk with one page: 100 plain doubles that may be missing, and are not.
void test_chunk() {
  const std::vector<double> values = normal(100, 2);
  const std::uint8_t low = (2 * 807 & 127) | 128, high = 2 * 807 >> 7; // 807 bytes, with a sign, in sevens
  Text file = {'P',  'A',  'R', '1', 0x15, 0, 0x15, low, high, 0x15, low, high,
               0x2C, 0x15, 200, 1,   0x15, 0, 0x15, 6,   0x15, 6,    0,   0};
  const Index header = static_cast<Index>(file.size()) - 4;
  file.insert(file.end(), {3, 0, 0, 0, 200, 1, 1}); // levels: a hundred ones
  const auto *const bytes = reinterpret_cast<const std::uint8_t *>(values.data());
  file.insert(file.end(), bytes, bytes + 800);
  const auto page = read_page_header({file.data() + 4, static_cast<std::size_t>(header)});
  check(page && page->header == header && page->packed == 807 && page->values == 100, "the header of a page");
  for (Index cut = 0; cut < header; ++cut)
    check(!read_page_header({file.data() + 4, static_cast<std::size_t>(cut)}), "a header that is cut off");
  std::FILE *const stream = std::tmpfile();
  std::fwrite(file.data(), 1, file.size(), stream);
  std::fflush(stream);
  const Chunk chunk{4, static_cast<Index>(file.size()) - 4, 100, Stored::float64, false, true};
  for (const int threads : {1, 3}) {
    ParquetColumns<double> columns(fileno(stream), std::vector<Chunk>(9, chunk));
    std::vector<double> out(9 * 100);
    check(columns.read(out.data(), 60, 9, threads) && columns.read(out.data() + 540, 40, 9, threads), "rows are read");
    bool same = true;
    for (std::size_t i = 0; i < out.size(); ++i)
      same = same && out[i] == values[i / 9];
    check(same, "rows of a file");
    check(!columns.read(out.data(), 1, 9, threads), "there are no more rows");
  }
  std::fclose(stream);
}

} // namespace

int main() {
  test_snappy();
  test_bit_runs();
  test_chunk();
  return result();
}
