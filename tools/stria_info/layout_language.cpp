#include "tools/stria_info/layout_language.hpp"

#include <cctype>
#include <charconv>
#include <limits>
#include <vector>

#include "base/fits.hpp"
#include "base/format.hpp"
#include "tools/stria_info/layout_arrays.hpp"

namespace stria::info {

using datatype::Layout;

const char* const kLayoutHelp =
    "Layout expressions:\n"
    "  char short int long float double int8 int16 int32 int64 complex   a type of C (complex: two doubles)\n"
    "  bytes(n)                                  n contiguous bytes\n"
    "  contiguous(n, child)                      n children, one extent apart\n"
    "  vector(count, blocklen, stride, child)    count blocks of blocklen children, stride in bytes\n"
    "  indexed([2, 1], [0, 64], child)           block lengths, then displacements in bytes\n"
    "  indexed_block(2, [0, 64], child)          blocks of one length at displacements in bytes\n"
    "  composite(0: int, 8: 3 * double)          different children at byte displacements\n"
    "  subarray([8, 9], [2, 3], [1, 0], child)   of an array of 8 rows of 9 children the 2 by 3 from row 1 "
    "on;\n"
    "                                            with \", fortran\" at the end the first index is the "
    "fastest\n"
    "  darray(4, 1, [8, 9], [block, cyclic(2)], [2, 2], child)\n"
    "                                            what rank 1 of 4, in a grid of 2 by 2, has of such an "
    "array;\n"
    "                                            block(n), cyclic, none, and \", fortran\" as well\n"
    "  resized(child, lb, extent)                the same memory with other bounds\n"
    "  dup(child)                                the same\n"
    "As in MPI, hvector, hindexed, hindexed_block and struct are what count in bytes: other names of "
    "vector,\n"
    "indexed, indexed_block and composite, which do so, too.\n"
    "Numbers may carry K, M or G and be products: a column of a 2048 x 2048 matrix of doubles is\n"
    "  vector(2K, 1, 2K*8, double)";

namespace {

struct Type {
  std::string_view name;
  std::int64_t bytes;
};
constexpr Type kTypes[] = {{"char", 1}, {"int8", 1},   {"short", 2},   {"int16", 2},
                           {"int", 4},  {"int32", 4},  {"float", 4},   {"int64", 8},
                           {"long", 8}, {"double", 8}, {"complex", 16}};

constexpr std::string_view kConstructors[] = {
    "bytes",          "contiguous", "vector", "hvector",  "indexed", "hindexed", "indexed_block",
    "hindexed_block", "composite",  "struct", "subarray", "darray",  "resized",  "dup"};

std::string known_names() {
  std::string out;
  const auto add = [&out](std::string_view name) {
    if (!out.empty()) out += ", ";
    out += name;
  };
  for (const Type& type : kTypes) add(type.name);
  for (const std::string_view name : kConstructors) add(name);
  return out;
}

constexpr int kDeepest = 64;             // nesting; the canonical tree has its own limit
constexpr std::size_t kLongest = 65536;  // entries of one list
constexpr std::size_t kLongestName = 32;

/// Recursive descent. The first error is kept in error_ and ends everything: every function returns at once
/// then.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Layout> run() {
    Layout layout = expression();
    if (!failed_) {
      skip();
      if (at_ != text_.size()) fail("the end of the expression");
    }
    if (failed_) return error_;
    return layout;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (failed_ || peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!failed_ && !accept(wanted)) fail(fmt::format("'{}'", wanted));
  }
  void fail(std::string_view wanted) {
    if (failed_) return;
    skip();
    failed_ = true;
    const std::string found = at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 12)) : "the end";
    error_ = {Status::invalid,
              fmt::format("layout, character {}: {} expected, {} found", at_ + 1, wanted, found)};
  }
  void refuse(std::string text) {
    if (failed_) return;
    failed_ = true;
    error_ = {Status::invalid, std::move(text)};
  }
  Layout take(Result<Layout> made) {
    if (!made) {
      refuse(made.error().context);
      return Layout();
    }
    return *std::move(made);
  }

  std::int64_t factor() {
    if (failed_) return 0;
    skip();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [end, code] = std::from_chars(first, text_.data() + text_.size(), value);
    if (code == std::errc::result_out_of_range)
      refuse(fmt::format("layout, character {}: beyond 64 bits", begin + 1));
    if (code != std::errc{}) {
      fail("a number");
      return 0;
    }
    at_ += static_cast<std::size_t>(end - first);
    const char unit = at_ < text_.size() ? text_[at_] : '\0';
    const int shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    if (shift > 0) ++at_;
    return product(value, std::int64_t{1} << shift, begin);
  }
  std::int64_t product(std::int64_t a, std::int64_t b, std::size_t begin) {
    long long value = 0;
    if (mul_overflows(a, b, &value)) refuse(fmt::format("layout, character {}: beyond 64 bits", begin + 1));
    return value;
  }
  std::int64_t number() {
    const std::size_t begin = at_;
    std::int64_t value = factor();
    while (!failed_ && peek() == '*') {
      // "3 * double": the star belongs to the child that follows, not to the number.
      std::size_t ahead = at_ + 1;
      while (ahead < text_.size() && text_[ahead] == ' ') ++ahead;
      if (ahead < text_.size() && std::isalpha(static_cast<unsigned char>(text_[ahead])) != 0) break;
      ++at_;
      value = product(value, factor(), begin);
    }
    return value;
  }
  std::vector<std::int64_t> list() {
    std::vector<std::int64_t> values;
    expect('[');
    if (accept(']')) return values;
    do {
      values.push_back(number());
      if (values.size() > kLongest) refuse(fmt::format("layout: a list of more than {} entries", kLongest));
    } while (accept(','));
    expect(']');
    return values;
  }

  std::string_view name() {
    skip();
    const std::size_t begin = at_;
    const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    while (at_ < text_.size() && inside(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Layout expression() {
    if (++depth_ > kDeepest) refuse(fmt::format("layout: nested deeper than {}", kDeepest));
    Layout made;
    if (!failed_) made = term();
    --depth_;
    return made;
  }
  Layout term() {
    skip();
    const std::size_t begin = at_;
    const std::string_view word = name();
    for (const Type& type : kTypes)
      if (type.name == word) return Layout::bytes(type.bytes);
    if (word == "bytes") return bytes();
    if (word == "contiguous") return contiguous();
    if (word == "vector" || word == "hvector") return vector();
    if (word == "indexed" || word == "hindexed") return indexed();
    if (word == "indexed_block" || word == "hindexed_block") return indexed_block();
    if (word == "composite" || word == "struct") return composite();
    if (word == "subarray") return subarray();
    if (word == "darray") return darray();
    if (word == "resized") return resized();
    if (word == "dup") return dup();
    at_ = begin;
    if (word.empty())
      fail("a type or a constructor");
    else
      refuse(fmt::format("layout, character {}: nothing is called '{}'; there are {}", begin + 1,
                         word.substr(0, kLongestName), known_names()));
    return Layout();
  }

  Layout bytes() {
    expect('(');
    const std::int64_t n = number();
    expect(')');
    if (n < 0) refuse(fmt::format("bytes({}): a negative size", n));
    return failed_ ? Layout() : Layout::bytes(n);
  }
  Layout contiguous() {
    expect('(');
    const std::int64_t count = number();
    expect(',');
    const Layout child = expression();
    expect(')');
    return failed_ ? Layout() : take(Layout::contiguous(count, child));
  }
  Layout vector() {
    expect('(');
    const std::int64_t count = number();
    expect(',');
    const std::int64_t blocklen = number();
    expect(',');
    const std::int64_t stride = number();
    expect(',');
    const Layout child = expression();
    expect(')');
    return failed_ ? Layout() : take(Layout::vector(count, blocklen, stride, child));
  }
  Layout indexed() {
    expect('(');
    const auto blocklens = list();
    expect(',');
    const auto displacements = list();
    expect(',');
    const Layout child = expression();
    expect(')');
    if (blocklens.size() != displacements.size())
      refuse(fmt::format("indexed: {} block lengths, but {} displacements", blocklens.size(),
                         displacements.size()));
    return failed_ ? Layout() : take(Layout::indexed(blocklens, displacements, child));
  }
  Layout indexed_block() {
    expect('(');
    const std::int64_t blocklen = number();
    expect(',');
    const auto displacements = list();
    expect(',');
    const Layout child = expression();
    expect(')');
    return failed_ ? Layout() : take(Layout::indexed_block(blocklen, displacements, child));
  }
  Layout composite() {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> displacements;
    std::vector<Layout> children;
    expect('(');
    if (accept(')')) return Layout();
    do {
      displacements.push_back(number());
      expect(':');
      const char next = peek();
      const bool counted = std::isdigit(static_cast<unsigned char>(next)) != 0;
      counts.push_back(counted ? number() : 1);
      if (counted) expect('*');
      children.push_back(expression());
      if (counts.size() > kLongest) refuse(fmt::format("layout: a list of more than {} entries", kLongest));
    } while (accept(','));
    expect(')');
    return failed_ ? Layout() : take(Layout::composite(counts, displacements, children));
  }
  Layout resized() {
    expect('(');
    const Layout child = expression();
    expect(',');
    const std::int64_t lower_bound = number();
    expect(',');
    const std::int64_t extent = number();
    expect(')');
    return failed_ ? Layout() : take(Layout::resized(child, lower_bound, extent));
  }

  Layout dup() {
    expect('(');
    Layout child = expression();
    expect(')');
    return child;
  }

  /// The rest of subarray() and darray(): a child and, if it is said, the order of the indices.
  Elements elements() {
    Elements out;
    out.child = expression();
    if (accept(',')) {
      skip();
      const std::size_t begin = at_;
      const std::string_view order = name();
      out.first_is_fastest = order == "fortran";
      if (order != "c" && !out.first_is_fastest) {
        at_ = begin;
        fail("c or fortran");
      }
    }
    expect(')');
    return out;
  }
  Layout subarray() {
    expect('(');
    const auto sizes = list();
    expect(',');
    const auto counts = list();
    expect(',');
    const auto starts = list();
    expect(',');
    const Elements of = elements();
    return failed_ ? Layout() : take(info::subarray(sizes, counts, starts, of));
  }

  std::vector<Distribution> distributions() {
    std::vector<Distribution> out;
    expect('[');
    do {
      skip();
      const std::size_t begin = at_;
      const std::string_view word = name();
      Distribution one;
      if (word == "block") {
        one.kind = Distribution::block;
      } else if (word == "cyclic") {
        one.kind = Distribution::cyclic;
      } else if (word != "none") {
        at_ = begin;
        fail("block, cyclic or none");
      }
      if (one.kind != Distribution::none && accept('(')) {
        one.argument = number();
        expect(')');
        if (one.argument < 1) refuse(fmt::format("darray: {}({})", word, one.argument));
      }
      out.push_back(one);
    } while (accept(','));
    expect(']');
    return out;
  }
  Layout darray() {
    expect('(');
    const std::int64_t processes = number();
    expect(',');
    const std::int64_t rank = number();
    expect(',');
    const auto sizes = list();
    expect(',');
    const auto how = distributions();
    expect(',');
    const auto grid = list();
    expect(',');
    const Elements of = elements();
    return failed_ ? Layout() : take(info::darray(processes, rank, sizes, how, grid, of, kLongest));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  Error error_;
};

}  // namespace

Result<Layout> parse_layout(std::string_view text) {
  return Parser(text).run();
}

}  // namespace stria::info
