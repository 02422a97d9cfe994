// Regions: what they keep alive, and that the worker lets it go.
#include "tag/objects.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class RegionLayout : public testing::Test {
 protected:
  static fake::FabricOptions served_by_the_engine() {
    fake::FabricOptions options;
    options.delay = 0;
    options.get = options.put = false;
    return options;
  }
  RegionLayout() : world_(2, served_by_the_engine()) {
    stria_layout_t* element = nullptr;
    EXPECT_EQ(stria_layout_bytes(8, &element), STRIA_OK);
    EXPECT_EQ(stria_layout_vector(16, 1, 16, element, &layout_), STRIA_OK);
    stria_layout_free(element);
  }
  World world_;
  stria_layout_t* layout_ = nullptr;
  char memory_[256] = {};
};

TEST_F(RegionLayout, may_be_freed_while_the_region_lives) {
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(world_.worker(1), memory_, layout_, 1, STRIA_ACCESS_REMOTE_READ, &region),
            STRIA_OK);
  ASSERT_EQ(layout_->references.load(), 2u);
  stria_layout_t* kept = stria_layout_retain(layout_);  // to look at the count at the end
  stria_layout_free(layout_);
  for (int i = 0; i < 256; ++i) memory_[i] = static_cast<char>(i);
  char packed[STRIA_KEY_MAX];
  size_t bytes = sizeof(packed);
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world_.endpoint(0, 1), packed, bytes, &key), STRIA_OK);
  char local[128] = {};
  Op op;
  stria_rma_t rma{};
  rma.base = local;
  rma.count = sizeof(local);
  rma.key = key;
  rma.callback = &Op::on_done;
  rma.user = &op;
  op.answer = stria_get(world_.endpoint(0, 1), &rma, &op.request);
  ASSERT_TRUE(world_.run_until([&] { return op.ended(); }));
  for (int i = 0; i < 128; ++i) ASSERT_EQ(local[i], memory_[i / 8 * 16 + i % 8]);
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
  EXPECT_EQ(kept->references.load(), 1u);
  stria_layout_free(kept);
}

TEST_F(RegionLayout, is_let_go_by_a_worker_that_closes_with_the_region) {
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(world_.worker(1), memory_, layout_, 1, STRIA_ACCESS_REMOTE_READ, &region),
            STRIA_OK);
  world_.close(1);
  EXPECT_EQ(layout_->references.load(), 1u);
  stria_layout_free(layout_);
}

}  // namespace
}  // namespace stria::test
