// stria_layout_dump(): what it says, line by line, and that it keeps to the caller's buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stria/stria.h"

namespace stria::test {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;
using testing::StartsWith;

class Dump : public testing::Test {
 protected:
  Dump() { EXPECT_EQ(stria_layout_bytes(8, &word_), STRIA_OK); }
  ~Dump() override {
    for (stria_layout_t* layout : made_) stria_layout_free(layout);
    stria_layout_free(word_);
  }
  stria_layout_t* made(stria_layout_t* layout) {
    made_.push_back(layout);
    return layout;
  }
  stria_layout_t* column(std::int64_t rows, std::int64_t pitch) {
    stria_layout_t* out = nullptr;
    EXPECT_EQ(stria_layout_vector(rows, 1, pitch, word_, &out), STRIA_OK) << stria_last_error();
    return made(out);
  }
  static std::string whole(const stria_layout_t* layout) {
    std::string text(stria_layout_dump(layout, nullptr, 0), '?');
    EXPECT_EQ(stria_layout_dump(layout, text.data(), text.size()), text.size());
    EXPECT_EQ(text.back(), '\0');
    text.pop_back();
    EXPECT_EQ(text.find('\0'), std::string::npos) << "the size that is asked for is the text's";
    return text;
  }
  static std::vector<std::string> lines(const stria_layout_t* layout) {
    std::vector<std::string> out;
    std::string text = whole(layout);
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      out.push_back(text.substr(0, end));
      text.erase(0, end + 1);
    }
    EXPECT_EQ(text, "") << "the last line ends, too";
    return out;
  }

  stria_layout_t* word_ = nullptr;
  std::vector<stria_layout_t*> made_;
};

TEST_F(Dump, of_a_column_names_tree_size_kernel_and_every_form) {
  EXPECT_THAT(lines(column(500, 4000)),
              ElementsAre("strided(500, 4000, block(8)), lb 0, extent 1996008",
                          "size: 4000 bytes in 500 blocks", "true extent: 1996008, lower bound 0",
                          MatchesRegex("kernel: loop over blocks of 8 bytes \\([a-z0-9]+\\)"),
                          MatchesRegex("wire descriptor: [0-9]+ bytes"),
                          "interleaved: 1 entry, repeated 500, in 32 bytes", "SG: 500 entries in 8000 bytes",
                          StartsWith("no block list: ")));
}

TEST_F(Dump, of_one_block_has_one_entry_of_each_form) {
  EXPECT_THAT(
      lines(column(1, 8)),
      ElementsAre("block(8), lb 0, extent 8", "size: 8 bytes in 1 block", "true extent: 8, lower bound 0",
                  StartsWith("kernel: one copy ("), MatchesRegex("wire descriptor: [0-9]+ bytes"),
                  "interleaved: 1 entry, repeated 1, in 32 bytes", "SG: 1 entry in 16 bytes",
                  "block list: 1 entry in 8 bytes, of blocks of 2^30 bytes"));
}

TEST_F(Dump, of_a_list_names_where_its_blocks_lie) {
  const std::vector<std::int64_t> counts{1, 2, 1}, at{-80, 320, 800};
  stria_layout_t* list = nullptr;
  ASSERT_EQ(stria_layout_indexed(3, counts.data(), at.data(), word_, &list), STRIA_OK) << stria_last_error();
  EXPECT_THAT(lines(made(list)),
              ElementsAre("blocks([8 at 0, 16 at 400, 8 at 880]) at -80, lb -80, extent 888",
                          "size: 32 bytes in 3 blocks", "true extent: 888, lower bound -80",
                          StartsWith("kernel: list of blocks of any length ("),
                          MatchesRegex("wire descriptor: [0-9]+ bytes"),
                          "interleaved: 3 entries, repeated 1, in 64 bytes", "SG: 3 entries in 48 bytes",
                          StartsWith("no block list: ")));
}

TEST_F(Dump, says_why_a_form_is_missing) {
  stria_layout_t* columns = nullptr;
  ASSERT_EQ(stria_layout_vector(16, 1, 1 << 20, column(100, 4000), &columns), STRIA_OK);
  const std::vector<std::string> said = lines(made(columns));
  EXPECT_THAT(said, testing::Contains(StartsWith("kernel: two loops over blocks of 8 bytes (")));
  EXPECT_THAT(said, testing::Contains(StartsWith("no interleaved: the element is no short list of runs")));
  EXPECT_THAT(said, testing::Contains("SG: 1600 entries in 25600 bytes"));
  EXPECT_THAT(said, testing::Contains(StartsWith("no block list: a run ends or begins at")));
}

TEST_F(Dump, of_pages_has_a_block_list) {
  stria_layout_t *page = nullptr, *pages = nullptr;
  ASSERT_EQ(stria_layout_bytes(4096, &page), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(16, 1, 3 * 4096, page, &pages), STRIA_OK);
  made(page);
  EXPECT_EQ(lines(made(pages)).back(), "block list: 16 entries in 128 bytes, of blocks of 2^12 bytes");
}

TEST_F(Dump, of_different_parts_names_the_kernel_of_each_kind) {
  const std::vector<std::int64_t> counts{1, 1, 3, 1}, at{0, 1 << 21, 5000000, 1 << 23};
  stria_layout_t *byte = nullptr, *both = nullptr;
  ASSERT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
  made(byte);
  const stria_layout_t* children[] = {column(500, 4000), column(300, 7000), byte, column(400, 5000)};
  ASSERT_EQ(stria_layout_composite(4, counts.data(), at.data(), children, &both), STRIA_OK)
      << stria_last_error();
  EXPECT_THAT(lines(made(both)),
              ElementsAre(StartsWith("composite(["), "size: 9603 bytes in 1201 blocks",
                          "true extent: 10383616, lower bound 0",
                          MatchesRegex("kernel: part by part, 4 parts \\([a-z0-9]+\\)"),
                          "  3 parts: loop over blocks of 8 bytes", "  1 part: one copy",
                          MatchesRegex("wire descriptor: [0-9]+ bytes"),
                          StartsWith("no interleaved: the element is no short list of runs"),
                          "SG: 1201 entries in 19216 bytes", StartsWith("no block list: ")));
}

TEST_F(Dump, keeps_to_the_callers_buffer_and_asks_for_the_same_size_always) {
  const stria_layout_t* layout = column(512, 4096);
  const std::string text = whole(layout);
  constexpr char kGuard = '#';
  for (std::size_t room = 0; room <= text.size() + 3; ++room) {
    std::string buffer(room + 8, kGuard);
    ASSERT_EQ(stria_layout_dump(layout, buffer.data(), room), text.size() + 1) << room;
    const std::size_t said = room == 0 ? 0 : std::min(room - 1, text.size());
    ASSERT_EQ(buffer.substr(0, said), text.substr(0, said)) << room;
    if (room > 0) {
      ASSERT_EQ(buffer[said], '\0') << room;
    }
    const std::size_t written = room == 0 ? 0 : said + 1;
    ASSERT_EQ(buffer.substr(written), std::string(buffer.size() - written, kGuard)) << room;
  }
}

}  // namespace
}  // namespace stria::test
