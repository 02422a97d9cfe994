// Memory that peers map comes from the first provider that has some, for a device that is open where one is,
// and is given back to whoever gave it.
#include "tag/mapped_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "stria/provider_coresident.h"

namespace stria::tag {
namespace {

/// Memory by the device that gave it; null: no device was open.
std::map<void*, stria_device_t*> given;
std::set<stria_device_t*> open_devices;
bool needs_a_device = false;
stria_device_t* without_memory = nullptr;

const stria_group_memory_t kMemory = {
    .size = sizeof kMemory,
    .mem_alloc = [](stria_device_t* device, std::uint64_t bytes, void** out, char* error,
                    std::uint32_t error_bytes) -> stria_status_t {
      if (device == nullptr ? needs_a_device : device == without_memory) return STRIA_ERR_UNSUPPORTED;
      if (bytes > 1000) {
        std::snprintf(error, error_bytes, "more than there is");
        return STRIA_ERR_IO;
      }
      *out = new char[bytes];
      given[*out] = device;
      return STRIA_OK;
    },
    .mem_free = [](stria_device_t* device, void* memory) -> stria_status_t {
      const auto found = given.find(memory);
      if (found == given.end()) return STRIA_ERR_INVALID;
      // Without a device it is asked for memory of those that are closed.
      if (device == nullptr ? open_devices.contains(found->second) : found->second != device)
        return STRIA_ERR_INVALID;
      delete[] static_cast<char*>(memory);
      given.erase(found);
      return STRIA_OK;
    },
};

class MappedMemoryTest : public testing::Test {
 protected:
  MappedMemoryTest() {
    needs_a_device = false;
    without_memory = nullptr;
    open_devices.clear();
    with_memory_.name = "with";
    with_memory_.memory = &kMemory;
    without_.name = "without";
    for (const stria_provider_t* table : {&without_, &with_memory_})
      providers_.push_back(
          std::make_unique<const transport::LoadedProvider>(transport::LoadedProvider{table, {}}));
  }
  ~MappedMemoryTest() override { EXPECT_TRUE(given.empty()); }
  static stria_device_t* device(std::uintptr_t number) { return reinterpret_cast<stria_device_t*>(number); }
  void open(const stria_provider_t& provider, stria_device_t* device) {
    open_devices.insert(device);
    memory_.opened(provider, device);
  }
  void* allocate() {
    const auto made = memory_.allocate(providers_, 64);
    EXPECT_TRUE(made.has_value());
    return made ? *made : nullptr;
  }
  stria_provider_t with_memory_{}, without_{};
  std::vector<std::unique_ptr<const transport::LoadedProvider>> providers_;
  MappedMemory memory_;
};

TEST_F(MappedMemoryTest, is_had_before_any_device_is_open_and_freed_while_one_is) {
  void* early = allocate();
  EXPECT_EQ(given.at(early), nullptr);
  open(with_memory_, device(1));
  EXPECT_EQ(memory_.free(providers_, early), Status::ok);
}

TEST_F(MappedMemoryTest, belongs_to_an_open_device_and_outlives_it) {
  open(without_, device(7));
  open(with_memory_, device(1));
  open(with_memory_, device(2));
  void* of_first = allocate();
  EXPECT_EQ(given.at(of_first), device(1));
  memory_.closing(device(1));
  open_devices.erase(device(1));
  void* of_second = allocate();
  EXPECT_EQ(given.at(of_second), device(2));
  EXPECT_EQ(memory_.free(providers_, of_second), Status::ok);
  EXPECT_EQ(memory_.free(providers_, of_first), Status::ok);
  EXPECT_EQ(memory_.free(providers_, of_first), Status::invalid);
}

TEST_F(MappedMemoryTest, comes_from_another_device_where_the_first_has_none) {
  open(with_memory_, device(1));
  open(with_memory_, device(2));
  without_memory = device(1);
  void* of_second = allocate();
  EXPECT_EQ(given.at(of_second), device(2));
  EXPECT_EQ(memory_.free(providers_, of_second), Status::ok);
}

TEST_F(MappedMemoryTest, says_why_there_is_none) {
  const auto too_much = memory_.allocate(providers_, 2000);
  ASSERT_FALSE(too_much.has_value());
  EXPECT_EQ(too_much.error().status, Status::io_error);
  EXPECT_EQ(too_much.error().context, "2000 bytes: more than there is");
  needs_a_device = true;
  const auto none = memory_.allocate(providers_, 64);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().status, Status::unsupported);
}

}  // namespace
}  // namespace stria::tag
