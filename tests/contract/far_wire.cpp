#include "tests/contract/far_wire.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace stria::contract::far {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("the far device: ") + what + ": " + std::strerror(errno));
}

void send_all(int fd, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;  // as by what the kernel does for a provider
    if (sent <= 0) fail("send");
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void receive_all(int fd, void* data, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) throw std::runtime_error("the far device: the other side is gone");
    if (got < 0) fail("receive");
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

}  // namespace

Channel::Channel(int fd) : fd_(fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
Channel::~Channel() {
  ::close(fd_);
}

void Channel::send(const Message& message) {
  const auto bytes = static_cast<std::uint32_t>(message.bytes().size());
  std::vector<std::byte> frame(sizeof bytes + bytes);  // at once: one packet
  std::memcpy(frame.data(), &bytes, sizeof bytes);
  std::memcpy(frame.data() + sizeof bytes, message.bytes().data(), bytes);
  send_all(fd_, frame.data(), frame.size());
}

Message Channel::receive() {
  std::uint32_t bytes = 0;
  receive_all(fd_, &bytes, sizeof bytes);
  std::vector<std::byte> frame(bytes);
  receive_all(fd_, frame.data(), frame.size());
  return Message(std::move(frame));
}

void send_changes(Channel& channel, std::list<Mirror>& mirrors) {
  for (Mirror& mirror : mirrors) {
    std::size_t first = 0, end = mirror.agreed.size();
    if (std::memcmp(mirror.at, mirror.agreed.data(), end) == 0) continue;
    while (mirror.at[first] == mirror.agreed[first]) ++first;
    while (mirror.at[end - 1] == mirror.agreed[end - 1]) --end;
    Message message(Frame::memory);
    message.add(mirror.id);
    message.add<std::uint64_t>(first);
    message.add_bytes(mirror.at + first, end - first);
    std::memcpy(mirror.agreed.data() + first, mirror.at + first, end - first);
    channel.send(message);
  }
}

void take_change(Message& message, std::list<Mirror>& mirrors) {
  const auto id = message.take<std::uint32_t>();
  const auto first = message.take<std::uint64_t>();
  const std::vector<std::byte> bytes = message.take_bytes();
  for (Mirror& mirror : mirrors) {
    if (mirror.id != id) continue;
    std::memcpy(mirror.at + first, bytes.data(), bytes.size());
    std::memcpy(mirror.agreed.data() + first, bytes.data(), bytes.size());
  }
}

void forget(std::list<Mirror>& mirrors, const stria_provider_key_t& key) {
  mirrors.remove_if([&](const Mirror& mirror) {
    return mirror.key.bytes == key.bytes && std::memcmp(mirror.key.data, key.data, key.bytes) == 0;
  });
}

int listen_at(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  socklen_t bytes = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, 64) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
    fail("listen");
  port = ntohs(address.sin_port);
  return fd;
}

int connect_to(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw std::runtime_error("the far device: no such host: " + host);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  ::freeaddrinfo(found);
  if (!connected) fail("connect");
  const timeval patience{30, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

}  // namespace stria::contract::far
