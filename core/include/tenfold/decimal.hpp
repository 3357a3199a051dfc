// Decimal text to the nearest double.
//
// A number is w * 10^q with a whole w of at most 19 digits. The double nearest to it follows from the 128 leading bits
// of 5^q in one or two products (Eisel and Lemire), for every such w without exception (Mushtak and Lemire). What is
// longer, or beyond |q| <= 55, is left to the standard library, which is as exact and slower.
//
// The standard library's from_chars alone would give the same bits in 1.4 times the time for numbers of 17 digits, 1.7
// times for six digits, 1.05 for two decimals and 1.45 for whole numbers (benchmarks/decimal.cpp, GCC 12), in 1.5 to
// 1.8 times that of the loop over records (1.2 for two decimals), and in 1.3 to 1.5 times that of a fit (Ridge from
// CSV, 300 000 rows of 20 columns of 16 digits, 400 000 of six digits or whole numbers; the benchmark has such a row,
// ridge csv 5M x 20).
//
// Digits are taken eight at a time as a word, or thirty-two at a time where there are vectors of bytes. Signs and
// lengths are as good as random in data, so nothing branches on them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <version>

#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

namespace tenfold {

constexpr std::uint64_t exact_whole = std::uint64_t{1} << 53; // up to here every whole number is a double
constexpr std::ptrdiff_t most_digits = 19;                    // of a whole number that 64 bits hold for certain

constexpr std::uint64_t eight_times(char c) {
  return std::uint64_t{0x0101010101010101} * static_cast<unsigned char>(c);
}

// The high bit of every byte that is zero; of the bytes behind the first such byte it may be wrong.
constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - eight_times(1)) & ~word & eight_times('\x80'); }

// Eight characters, the first in the lowest byte; zeros beyond the end.
inline std::uint64_t eight_characters(const char *at, const char *end) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, end - at >= 8 ? 8 : static_cast<std::size_t>(end - at));
  if constexpr (std::endian::native == std::endian::big)
    word = __builtin_bswap64(word);
  return word;
}

constexpr std::array<std::uint64_t, 20> powers_of_ten = [] {
  std::array<std::uint64_t, 20> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i)
    powers[i] = 10 * powers[i - 1];
  return powers;
}();

// What eight digits stand for, given as bytes 0 ... 9 with the first in the lowest: pairs, fours, eights.
constexpr std::uint64_t eight_digits(std::uint64_t digits) {
  digits = digits * 10 + (digits >> 8);
  return ((digits & 0x000000FF000000FF) * 0x000F424000000064 +
          ((digits >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >>
         32;
}

// Appends a run of digits to `value`, modulo 2^64: the caller looks at the length. Returns where the run ends.
inline const char *append_digits(const char *at, const char *end, std::uint64_t &value) {
  for (;;) {
    const std::uint64_t digits = eight_characters(at, end) ^ eight_times('0');
    const std::uint64_t others = ((digits + eight_times(0x76)) | digits) & eight_times('\x80'); // above 9
    if (others != 0) {
      const int count = std::countr_zero(others) / 8;
      value = value * powers_of_ten[static_cast<std::size_t>(count)] + eight_digits(digits << (56 - 8 * count) << 8);
      return at + count;
    }
    value = value * powers_of_ten[8] + eight_digits(digits);
    at += 8;
  }
}

#if defined(__SSE4_1__)
namespace vectors {

// Sixteen bytes 0 ... 9 as four numbers of four digits.
inline __m128i fours(__m128i digits) {
  return _mm_madd_epi16(_mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A)), _mm_set1_epi32(0x00010064));
}

// The first `count` of sixteen bytes, behind zeros.
inline __m128i aligned_right(__m128i bytes, std::size_t count) {
  static constexpr std::array<unsigned char, 32> from = [] {
    std::array<unsigned char, 32> order{};
    for (unsigned char i = 0; i < 16; ++i) {
      order[i] = 0x80;
      order[std::size_t{16} + i] = i;
    }
    return order;
  }();
  return _mm_shuffle_epi8(bytes, _mm_loadu_si128(reinterpret_cast<const __m128i *>(from.data() + count)));
}

// A bit for each byte that is at most 9.
inline unsigned digits_among(__m128i bytes) {
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(9)), bytes)));
}

} // namespace vectors
#endif

// The same as append_digits, for runs that are long as a rule.
inline const char *append_many_digits(const char *at, const char *end, std::uint64_t &value) {
#if defined(__SSE4_1__)
  if (end - at >= 32) {
    const auto load = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(at) + i); };
    const __m128i first = _mm_sub_epi8(load(0), _mm_set1_epi8('0')), second = _mm_sub_epi8(load(1), _mm_set1_epi8('0'));
    const auto count =
        static_cast<std::size_t>(std::countr_one(vectors::digits_among(first) | vectors::digits_among(second) << 16));
    const std::size_t head = std::min<std::size_t>(count, 16), tail = count - head;
    if (tail <= 8) {
      const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(vectors::fours(vectors::aligned_right(first, head)),
                                                             vectors::fours(vectors::aligned_right(second, tail))),
                                            _mm_set1_epi32(0x00012710));
      const auto sixteen = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights)); // two numbers of eight digits
      const auto last = static_cast<std::uint64_t>(_mm_extract_epi64(eights, 1)) >> 32;
      value = value * powers_of_ten[head] + (sixteen & 0xFFFFFFFF) * powers_of_ten[8] + (sixteen >> 32);
      value = value * powers_of_ten[tail] + last;
      return at + count;
    }
  }
#endif
  return append_digits(at, end, value);
}

// The 128 leading bits of 5^q for |q| <= 55, where 5^|q| has no more: exact for q >= 0, next above the reciprocal for
// -17 <= q < 0, next below it further down.
class PowersOfFive {
public:
  static constexpr int largest = 55;
  struct Bits {
    std::uint64_t high, low;
  };

  constexpr PowersOfFive() {
    Wide power = 1;
    for (int q = 0; q <= largest; ++q, power *= 5) {
      const int unused = leading_zeros(power);
      set(q, power << unused);
      if (q > 0)
        set(-q, reciprocal(power, 128 - unused) + (q <= 17 ? 1 : 0));
    }
  }
  constexpr Bits operator[](int q) const { return bits_[static_cast<std::size_t>(q + largest)]; }

private:
  using Wide = unsigned __int128;

  static constexpr int leading_zeros(Wide x) {
    const auto high = static_cast<std::uint64_t>(x >> 64);
    return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(x));
  }
  // 2^(127 + length) / power without its fraction, by long division; power has `length` bits and is no power of two.
  static constexpr Wide reciprocal(Wide power, int length) {
    Wide rest = Wide{1} << (length - 1), quotient = 0;
    for (int bit = 0; bit < 128; ++bit) {
      const bool goes = rest >> 127 != 0 || rest << 1 >= power;
      rest = (rest << 1) - (goes ? power : 0);
      quotient = quotient << 1 | (goes ? 1 : 0);
    }
    return quotient;
  }
  constexpr void set(int q, Wide x) {
    bits_[static_cast<std::size_t>(q + largest)] = {static_cast<std::uint64_t>(x >> 64), static_cast<std::uint64_t>(x)};
  }

  std::array<Bits, 2 * largest + 1> bits_{};
};

inline constexpr PowersOfFive powers_of_five;

// The double nearest to w * 10^q, of two that are equally near the even one; |q| <= 55, so it is a normal number or 0.
inline double nearest_double(std::uint64_t w, int q) {
  using Wide = unsigned __int128;
  if (w == 0)
    return 0.0;
  const int unused = std::countl_zero(w);
  const std::uint64_t factor = w << unused;
  const PowersOfFive::Bits power = powers_of_five[q];
  const Wide product = static_cast<Wide>(factor) * power.high;
  auto high = static_cast<std::uint64_t>(product >> 64), low = static_cast<std::uint64_t>(product);
  if ((high & 0x1FF) == 0x1FF) { // what was left out of the product could carry into the bits that are kept
    const auto more = static_cast<std::uint64_t>((static_cast<Wide>(factor) * power.low) >> 64);
    low += more;
    high += low < more ? 1 : 0;
  }
  const int top = static_cast<int>(high >> 63);
  std::uint64_t mantissa = high >> (top + 9); // 54 bits, the last of them for rounding
  if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << (top + 9) == high)
    --mantissa; // exactly half-way, and the even neighbour is below
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  // 217706 / 2^16 is the logarithm of ten to the base two; the leading bit of the mantissa adds one to the exponent,
  // and one more where rounding has carried it to 2^53
  const int exponent = ((217706 * q) >> 16) + 63 + top - unused + 1022;
  return std::bit_cast<double>((static_cast<std::uint64_t>(exponent) << 52) + mantissa);
}

struct Number {
  double value = 0.0;
  bool whole = false;        // digits, perhaps behind a sign, and nothing else
  const char *end = nullptr; // null where there is no number, or none between the smallest double and the largest
};

// The positive number that all of [at, end) is.
inline Number exact_number(const char *at, const char *end, bool whole, char point) {
#if defined(__cpp_lib_to_chars)
  double value = 0.0;
  if (point != '.') { // the standard library knows no other
    std::string copy(at, end);
    std::ranges::replace(copy, point, '.');
    Number number = exact_number(copy.data(), copy.data() + copy.size(), whole, '.');
    number.end = number.end == nullptr ? nullptr : end;
    return number;
  }
  const auto [stop, error] = std::from_chars(at, end, value);
  if (error == std::errc{} && stop == end)
    return {value, whole, end};
#endif
  return {};
}

// The number at the beginning of [at, end): a sign, digits with a decimal sign or without, an exponent; no words.
inline Number read_number(const char *at, const char *end, char point = '.') {
  if (at == end)
    return {};
  const bool minus = *at == '-', plus = *at == '+';
  at += static_cast<int>(minus) | static_cast<int>(plus);
  const char *const start = at;
  std::uint64_t w = 0;
  if (end - at >= 2 && at[1] == point && static_cast<unsigned char>(*at - '0') <= 9)
    w = static_cast<std::uint64_t>(*at++ - '0'); // as a rule
  else
    at = append_digits(at, end, w);
  std::ptrdiff_t digits = at - start;
  int q = 0;
  bool whole = true;
  if (at < end && *at == point) {
    const char *const fraction = at + 1;
    at = append_many_digits(fraction, end, w);
    q = static_cast<int>(fraction - at);
    digits -= q;
    whole = false;
  }
  if (digits == 0)
    return {};
  if (digits > most_digits) // zeros in front do not count
    for (const char *zero = start; zero < at && (*zero == '0' || *zero == point); ++zero)
      digits -= *zero == '0' ? 1 : 0;
  if (at < end && (*at | 0x20) == 'e') {
    const char *power = at + 1;
    const bool down = power < end && *power == '-';
    power += power < end && (*power == '-' || *power == '+') ? 1 : 0;
    std::uint64_t by = 0;
    at = append_digits(power, end, by);
    if (at == power)
      return {};
    by = at - power <= 4 ? by : 10000; // out of reach in any case
    q += down ? -static_cast<int>(by) : static_cast<int>(by);
    whole = false;
  }
  double value;
  if (q == 0 && digits <= most_digits && w <= exact_whole) {
    value = static_cast<double>(w);
  } else if (digits <= most_digits && q >= -PowersOfFive::largest && q <= PowersOfFive::largest) {
    value = nearest_double(w, q);
  } else {
    const Number result = exact_number(start, at, whole, point);
    if (result.end == nullptr)
      return {};
    value = result.value;
  }
  const auto sign = static_cast<std::uint64_t>(minus) << 63;
  return {std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign), whole, at};
}

} // namespace tenfold
