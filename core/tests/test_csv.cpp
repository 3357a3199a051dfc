// Decimal text against the standard library, and records at the very end of their memory.
#include "check.hpp"

#include "tenfold/csv.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

using namespace tenfold;
using namespace tenfold::test;

namespace {

// A copy at the end of its allocation, so that the address sanitizer sees reads beyond it.
std::vector<char> exactly(const std::string &text) { return {text.begin(), text.end()}; }

void check_number(const std::string &word, bool claimed = true) {
  for (const char point : {'.', ','}) {
    std::vector<char> text = exactly(word);
    std::ranges::replace(text, '.', point);
    const Number result = read_number(text.data(), text.data() + text.size(), point);
    check((result.end != nullptr) == claimed, word + (claimed ? " is claimed" : " is not claimed"));
    if (result.end == nullptr)
      continue;
    const double expected = std::strtod(word.c_str(), nullptr);
    check(std::bit_cast<std::uint64_t>(result.value) == std::bit_cast<std::uint64_t>(expected),
          word + " to the last bit");
  }
}

std::string printed(const char *format, int digits, double value) {
  char buffer[512];
  return {buffer, static_cast<std::size_t>(std::snprintf(buffer, sizeof buffer, format, digits, value))};
}

void test_random_numbers() {
  std::mt19937_64 random(0);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random();
    const double any = std::bit_cast<double>(bits);
    if (std::abs(any) > 1e-300 && std::abs(any) < 1e300)
      check_number(printed("%.*e", static_cast<int>(bits % 25), any));
    const double usual = std::ldexp(static_cast<double>(bits >> 11), -static_cast<int>(bits % 80));
    check_number(printed("%.*f", static_cast<int>(random() % 22), i % 2 == 0 ? usual : -usual));
    check_number(std::to_string(bits >> (bits % 64)));
  }
}

// Halves between two doubles, one more and one less: as whole numbers, and shifted by powers of ten.
void test_halves() {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t half = ((random() >> 11 | std::uint64_t{1} << 52) << 1 | 1) << (random() % 11);
    for (const std::uint64_t w : {half - 1, half, half + 1})
      for (const char *power : {"", "e1", "e5", "e-1", "e-3", "e-4", "e-5", "e22", "e23", "e24", "e-17", "e-18"})
        check_number(std::to_string(w) + power);
  }
}

void test_edges() {
  for (const char *word : {"0",
                           "-0",
                           "+1",
                           "1.",
                           ".5",
                           "-.5",
                           "0.0",
                           "00012",
                           "1e5",
                           "1E+5",
                           "1e-5",
                           "18446744073709551615",
                           "18446744073709551616",
                           "9999999999999999999",
                           "9007199254740993",
                           "1e55",
                           "1e56",
                           "1e-55",
                           "1e-56",
                           "1e308",
                           "0e99999",
                           "0.000000000000000000000000000012345678901234567",
                           "5e-324",
                           "2.2250738585072014e-308",
                           "1.7976931348623157e308",
                           "123456789012345678901234567890.5"})
    check_number(word);
  for (const char *word : {"", "-", "+", ".", "-.", "e5", "1e", "1e+", "inf", "nan", "1e999", "1e-999"})
    check_number(word, false);
}

Index records(const std::string &payload, std::vector<std::int32_t> place, std::vector<double> &out,
              ColumnKind kind = number_column, std::vector<std::string> *others = nullptr, Dialect dialect = {},
              std::vector<std::string> *blank = nullptr) {
  const std::vector<char> text = exactly(payload);
  const auto columns = static_cast<Index>(std::count_if(place.begin(), place.end(), [](auto j) { return j >= 0; }));
  std::vector<std::uint8_t> kinds(static_cast<std::size_t>(columns), kind);
  const Index lines = 1 + std::count(text.begin(), text.end(), '\n');
  out.assign(static_cast<std::size_t>(lines * columns), 0.0);
  std::vector<OtherCell> result;
  std::vector<BlankLine> blanks;
  const Index rows = read_records({text, dialect, place, columns}, lines, out, kinds, result, blanks);
  const auto bytes = [&](std::int64_t begin, std::int64_t end) {
    return payload.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  if (others != nullptr)
    for (const OtherCell &cell : result)
      others->push_back(bytes(cell.begin, cell.end));
  if (blank != nullptr)
    for (const BlankLine &line : blanks)
      blank->push_back(bytes(line.begin, line.end));
  return rows;
}

// Cells that are not plain numbers, and NaN in the matrix.
void check_others(const std::string &payload, ColumnKind kind, const std::vector<std::string> &expected) {
  std::vector<double> out;
  std::vector<std::string> others;
  check(records(payload, {0, 1}, out, kind, &others) >= 0 && others == expected, "other cells: " + payload);
  const auto missing = std::count_if(out.begin(), out.end(), [](double x) { return std::isnan(x); });
  check(static_cast<std::size_t>(missing) == expected.size(), "NaN for other cells: " + payload);
}

void test_other_cells() {
  check_others("1,\n,x\n\"a,\nb\",inf", number_column, {"", "", "x", "\"a,\nb\"", "inf"});
  check_others("\"1\",\" 2 \"\r\n\"x\",\"\"\n", number_column, {"\"x\"", "\"\""});
  check_others("-0,9007199254740992\n1,2\n", integer_column, {"-0", "9007199254740992"});
  check_others("-0,9007199254740992\n1,2\n", number_column, {});
  check_others("1.5,1\n-0,-0\n", integer_column, {"-0"});
  check_others("1,a b\n", text_column, {"1", "a b"});
}

void test_cuts() {
  const auto same = [](const std::string &text, Index size, Index lines, Dialect dialect = {}) {
    const Cut cut = whole_records(exactly(text), dialect);
    check(cut.size == size && cut.lines == lines, "cut: " + text);
  };
  same("", 0, 0);
  same("a,b", 0, 0);
  same("a,b\n", 4, 1);
  same("a\n\nb\nc", 5, 3);
  same("\"a\nb\"\nc", 6, 2);
  same("x\n\"a\nb", 2, 1);
  same("x\n\"a\n\"\"b\n", 2, 1);
  same("x\n\"a\"\"b\"\n", 9, 2);
  same("5\" pipe\nc", 8, 1); // a mark inside a field opens nothing
  same("a, \"b\nc", 0, 0);
  same("\"a\"b\"\nc", 6, 1);
  same("\"a\nb\"\n", 6, 2, {',', '\0'});
  same("'a\nb'\n\"c\nd", 9, 3, {',', '\''});
  same("a\t\t\"b\nc\"\n", 9, 2, {'\t', '"'});
}

void test_dialects() {
  std::vector<double> out;
  std::vector<std::string> others, blank;
  const Dialect commas{';', '"', ','};
  check(records("1,5;-,25\n\"2,5\";3.5\n", {0, 1}, out, number_column, &others, commas) == 2 && out[0] == 1.5 &&
            out[1] == -0.25 && out[2] == 2.5 && others == std::vector<std::string>{"3.5"},
        "decimal commas");
  check(records("1,5\n\"2,5\",6\n", {0, 1}, out, number_column, nullptr, {',', '"', ','}) == 2 && out[0] == 1 &&
            out[1] == 5 && out[2] == 2.5 && out[3] == 6,
        "a comma that divides fields is no decimal one");
  others.clear();
  check(records("'a,\nb',1\n\"c,2\n", {0, 1}, out, number_column, &others, {',', '\''}) == 2 && out[1] == 1 &&
            out[3] == 2 && others == std::vector<std::string>{"'a,\nb'", "\"c"},
        "single quotation marks");
  check(records("\"a,1\n b\",2\n", {-1, 0}, out, number_column, nullptr, {',', '\0'}) == 2 && out[1] == 2,
        "quotation marks that mean nothing");
  check(records("\n1\n \t\r\n\t2 \n  ", {0}, out, number_column, nullptr, {}, &blank) == 2 && out[1] == 2 &&
            blank == std::vector<std::string>{"\n", " \t\r\n", "  "},
        "blank lines");
  check(records("\t\n", {-1, 0}, out, text_column, nullptr, {'\t', '"'}) == 1, "empty cells between tabs");
  for (const std::size_t length : {0, 5, 15, 16, 17, 31, 32}) // blanks before a mark, wherever pieces end
    check(records(std::string(length, 'a') + ", \"b\",1\n", {-1, -1, 0}, out) == unsupported, "blanks before a mark");
}

void test_records() {
  std::vector<double> out;
  check(records("", {0}, out) == 0, "no text");
  check(records("\n\r\n\n", {0}, out) == 0, "empty lines");
  check(records("1,2\n3,4", {0, 1}, out) == 2 && out == std::vector<double>{1, 2, 3, 4}, "no line break at the end");
  check(records("1,2\r\n3,4\r\n", {1, 0}, out) == 2 && out[0] == 2 && out[3] == 3, "another order");
  check(records("1,a b,3\n4,\"x,\ny\"\"\",6\n", {0, -1, 1}, out) == 2 && out[2] == 4 && out[3] == 6, "fields between");
  check(records("a,\"b\nc\",3,\"d\"\n", {-1, -1, 0, -1}, out) == 1 && out[0] == 3, "quotation marks");
  check(records("1,2,3\n", {-1, -1, -1}, out) == 1, "nothing read");
  for (const char *text : {"1\n", "1,2,3\n", "1,2\r3,4\n", "1,2\n3\n", "1,\"2\n", "1,\"2\"3\n", "1,2\r"})
    check(records(text, {0, 1}, out) == unsupported, std::string("not claimed: ") + text);
  for (const char *text : {"1,\"2\n", "1,\"2\"3\n", "1\n", "1,2,3\n", "1,2\r3,4\n"})
    check(records(text, {0, -1}, out) == unsupported, std::string("not passed over: ") + text);
}

// Long fields in all positions, so that every piece of sixteen characters ends everywhere in a record.
void test_fields_passed_over() {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    const std::size_t fields = 1 + random() % 40, wanted = random() % fields;
    std::string line;
    for (std::size_t field = 0; field < fields; ++field) {
      const bool quoted = random() % 9 == 0;
      std::string cell(random() % 30, random() % 7 == 0 ? ' ' : 'a');
      cell = field == wanted ? "17" : quoted ? "\"" + cell + ",\"\"\n\"" : cell;
      line += (field == 0 ? "" : ",") + cell;
    }
    std::vector<std::int32_t> place(fields, -1);
    place[wanted] = 0;
    std::vector<double> out;
    check(records(line + "\n" + line, place, out) == 2 && out[0] == 17 && out[1] == 17, "passed over: " + line);
    place.push_back(-1);
    check(records(line + "\n", place, out) == unsupported, "one field less: " + line);
  }
}

} // namespace

int main() {
  test_random_numbers();
  test_halves();
  test_edges();
  test_cuts();
  test_dialects();
  test_records();
  test_other_cells();
  test_fields_passed_over();
  return result();
}
