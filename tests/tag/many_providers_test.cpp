// Workers with as many devices as there may be: the parts of all of them are in the address and in every
// packed key, whatever their lengths, and what goes beyond the limits is refused by name.
#include <deque>

#include "tag/objects.hpp"
#include "tag/remote_key.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"

namespace stria::test {
namespace {

constexpr std::uint32_t kLongestPart = 256;
constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;

/// The fake's address, drawn out to `kBytes`.
template <std::uint32_t kBytes>
std::uint32_t long_address(stria_device_t* device, void* buffer, std::uint32_t room) {
  std::vector<char> all(kBytes);
  fake::fake_provider().address(device, all.data(), kBytes);
  std::memcpy(buffer, all.data(), std::min(room, kBytes));
  return kBytes;
}

stria_status_t connect(stria_device_t* device, const void* address, std::uint32_t, void* peer, int wish,
                       stria_link_t** link, char* error, std::uint32_t room) {
  char probe[1];
  const std::uint32_t bytes = fake::fake_provider().address(device, probe, 0);
  return fake::fake_provider().connect(device, address, bytes, peer, wish, link, error, room);
}

class ManyProviders : public testing::Test {
 protected:
  static fake::FabricOptions options() {
    fake::FabricOptions out = quick();
    out.key_bytes = STRIA_PROVIDER_KEY_MAX;
    return out;
  }
  ManyProviders() : fabric_(fake::make_fabric(options())), use_(fabric_) {}
  ~ManyProviders() override {
    for (stria_worker_t* worker : workers_) stria_worker_close(worker);
    for (stria_context_t* context : contexts_) stria_context_close(context);
  }
  /// A provider of the fake's with the longest name there may be.
  void add_provider(char first) {
    names_.push_back(first + std::string(63, 'x'));
    stria_provider_t& table = tables_.emplace_back(fake::fake_provider());
    table.name = names_.back().c_str();
    table.address = long_address<kLongestPart>;
    table.connect = connect;
    // Their names would have to begin with that of the provider.
    table.variables = nullptr;
    table.variable_count = 0;
  }
  stria_status_t open_context(bool reversed = false) {
    std::string list;
    for (std::size_t i = 0; i < names_.size(); ++i)
      list += (list.empty() ? "" : ",") + names_[reversed ? names_.size() - 1 - i : i];
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", list.c_str(), "test"), STRIA_OK);
    std::vector<const stria_provider_t*> builtins;
    for (const stria_provider_t& table : tables_) builtins.push_back(&table);
    auto opened = tag::open_context(nullptr, builtins);
    if (!opened) {
      refusal_ = opened.error().context;
      return static_cast<stria_status_t>(static_cast<int>(opened.error().status));
    }
    contexts_.push_back(reinterpret_cast<stria_context_t*>(opened->release()));
    return STRIA_OK;
  }
  stria_worker_t* open_worker(bool reversed = false) {
    EXPECT_EQ(open_context(reversed), STRIA_OK) << refusal_;
    EXPECT_EQ(stria_worker_open(contexts_.back(), nullptr, &workers_.emplace_back()), STRIA_OK)
        << stria_last_error();
    return workers_.back();
  }
  static std::vector<char> address_of(stria_worker_t* worker) {
    std::vector<char> out(STRIA_ADDRESS_MAX);
    std::size_t bytes = out.size();
    EXPECT_EQ(stria_worker_address(worker, out.data(), &bytes), STRIA_OK) << bytes;
    out.resize(bytes);
    return out;
  }
  static stria_endpoint_t* endpoint(stria_worker_t* from, stria_worker_t* to) {
    const std::vector<char> address = address_of(to);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address.data();
    params.address_bytes = address.size();
    stria_endpoint_t* out = nullptr;
    EXPECT_EQ(stria_endpoint_open(from, &params, &out), STRIA_OK) << stria_last_error();
    return out;
  }

  std::shared_ptr<fake::Fabric> fabric_;
  fake::UseFabric use_;
  std::deque<std::string> names_;
  std::deque<stria_provider_t> tables_;
  std::vector<stria_context_t*> contexts_;
  std::vector<stria_worker_t*> workers_;
  std::string refusal_;
};

TEST_F(ManyProviders, all_are_in_the_address_and_in_a_packed_key) {
  for (int i = 0; i < STRIA_DEVICES_MAX; ++i) add_provider(static_cast<char>('a' + i));
  stria_worker_t* const owner = open_worker();
  const std::vector<char> address = address_of(owner);
  const std::string text(address.begin(), address.end());
  for (const std::string& name : names_) EXPECT_NE(text.find(name), std::string::npos) << name;
  std::uint64_t words[8] = {};
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(owner, words, nullptr, sizeof words, kMoves, &region), STRIA_OK);
  std::byte packed[STRIA_KEY_MAX];
  std::size_t bytes = sizeof packed;
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  auto key = tag::parse_key({packed, bytes});
  ASSERT_TRUE(key.has_value());
  ASSERT_EQ(key->parts.size(), names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    EXPECT_EQ(key->parts[i].provider, names_[i]);
    EXPECT_EQ(key->parts[i].key.bytes, static_cast<std::uint32_t>(STRIA_PROVIDER_KEY_MAX));
  }
  stria_region_deregister(region);
}

TEST_F(ManyProviders, one_too_many_is_refused_by_name) {
  for (int i = 0; i <= STRIA_DEVICES_MAX; ++i) add_provider(static_cast<char>('a' + i));
  EXPECT_EQ(open_context(), STRIA_ERR_INVALID);
  EXPECT_NE(refusal_.find(names_.back()), std::string::npos) << refusal_;
}

TEST_F(ManyProviders, one_with_too_long_an_address_is_refused_with_the_limit) {
  add_provider('a');
  tables_.back().address = long_address<kLongestPart + 1>;
  ASSERT_EQ(open_context(), STRIA_OK);
  stria_worker_t* worker = nullptr;
  EXPECT_EQ(stria_worker_open(contexts_.back(), nullptr, &worker), STRIA_ERR_IO);
  const std::string text = stria_last_error();
  for (const char* part : {names_.back().c_str(), "257", "256"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Devices have other numbers in another worker, which goes by another provider.
TEST_F(ManyProviders, a_key_serves_workers_with_other_devices) {
  for (char name : {'a', 'b', 'c'}) add_provider(name);
  stria_worker_t* const owner = open_worker();
  stria_worker_t* const users[] = {open_worker(), open_worker(true)};
  std::uint64_t words[2] = {7, 8};
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(owner, words, nullptr, sizeof words, kMoves, &region), STRIA_OK);
  std::byte packed[STRIA_KEY_MAX];
  std::size_t bytes = sizeof packed;
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(endpoint(users[0], owner), packed, bytes, &key), STRIA_OK);
  for (stria_worker_t* user : users) {
    std::uint64_t read[2] = {};
    stria_rma_t rma{};
    rma.base = read;
    rma.count = sizeof read;
    rma.key = key;
    ASSERT_EQ(stria_get_wait(endpoint(user, owner), &rma), STRIA_OK) << stria_last_error();
    EXPECT_EQ(read[1], 8u);
    stria_counters_t counters{};
    counters.size = sizeof counters;
    ASSERT_EQ(stria_worker_counters(user, &counters), STRIA_OK);
    EXPECT_EQ(counters.fallbacks, 0u);
  }
  stria_key_close(key);
  stria_region_deregister(region);
}

}  // namespace
}  // namespace stria::test
