#include "transport/tcp/tcp.hpp"

#include "transport/provider_table.hpp"
#include "transport/tcp/device.hpp"
#include "transport/tcp/variables.hpp"

namespace stria::tcp {
namespace {

struct TcpProvider {
  using Device = tcp::Device;
  using Link = tcp::Link;
  using Groups = transport::GroupList<transport::group::Keys, transport::group::Get>;
  static constexpr const char* kName = "tcp";
  static constexpr const char* kDescription = "any network, through TCP";
  static constexpr Variables kVariables = tcp::kVariables;
};

}  // namespace

const stria_provider_t& tcp_provider() noexcept {
  return transport::provider_table<TcpProvider>();
}

}  // namespace stria::tcp
