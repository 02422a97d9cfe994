#include "transport/tcp/silence.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace stria::tcp {

/// The first probe comes after some third of the time, and kProbes of them in the rest. The system counts in
/// whole seconds, which does not cut the limit short.
void Silence::set_keepalive(const UniqueFd& socket, std::uint64_t limit_ms) noexcept {
  constexpr std::uint64_t kMs = 1000, kProbes = 4;
  const std::uint64_t seconds = (limit_ms + kMs - 1) / kMs;
  const std::uint64_t interval = std::max<std::uint64_t>(seconds / 6, 1);
  const auto set = [&](int option, std::uint64_t value) {
    const int number = static_cast<int>(std::clamp<std::uint64_t>(value, 1, 32767));
    static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, option, &number, sizeof number));
  };
  const int on = 1;
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on));
  set(TCP_KEEPIDLE, seconds - std::min(seconds, kProbes * interval));
  set(TCP_KEEPINTVL, interval);
  set(TCP_KEEPCNT, kProbes);
}

bool Silence::lasts(const UniqueFd& socket, std::uint64_t now, std::uint64_t limit_ms) noexcept {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (!socket || ::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  if (info.tcpi_retransmits == 0 && info.tcpi_probes == 0) {  // of what nothing has answered yet
    since_ = 0;
    return false;
  }
  if (since_ == 0 || info.tcpi_last_ack_recv < now - since_) since_ = now;
  return now - since_ >= limit_ms;
}

}  // namespace stria::tcp
