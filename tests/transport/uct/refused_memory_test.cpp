// Memory that UCX does not register. The domain of UCX's posix registers none at all, so each attempt is
// refused, as an adapter refuses a single buffer that its driver cannot pin.
#include <gtest/gtest.h>

#include <vector>

#include "tests/contract/peer.hpp"
#include "transport/services.hpp"
#include "transport/uct/keys.hpp"

namespace stria::uct {
namespace {

TEST(UctRefusedMemory, gets_no_key_and_takes_no_room_of_other_keys) {
  auto domain = Domain::find({"posix", ""});
  ASSERT_TRUE(domain.has_value()) << domain.error().context;
  static int warnings;
  warnings = 0;
  stria_services_t services = transport::services();
  services.log = [](int, const char*) { ++warnings; };
  Keys keys;
  keys.open(**domain, services);
  std::vector<std::byte> memory(4096);
  transport::Key key{};
  for (std::uint32_t i = 0; i < 2 * kKeysMost; ++i)
    ASSERT_EQ(keys.add(nullptr, contract::contiguous(memory), STRIA_ACCESS_REMOTE_READ, key),
              Status::unsupported)
        << i;
  EXPECT_EQ(key.bytes, 0u);
  EXPECT_EQ(warnings, 1);
  keys.close();
}

}  // namespace
}  // namespace stria::uct
