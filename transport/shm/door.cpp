#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/signal_block.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/door_wire.hpp"
#include "transport/shm/memory.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/unix_socket.hpp"

namespace stria::shm {
namespace {

/// The error of a door that cannot be opened; errno is the reason.
Error refused(const char* what) {
  return {Status::unreachable, fmt::format("socket: {}: {}", what, std::strerror(errno))};
}

/// The error of a system call that was to reach a peer; errno says whether a later attempt may succeed.
Error failed(const char* what) {
  return {status_on_way(errno), fmt::format("socket: {}: {}", what, std::strerror(errno))};
}

/// Sends and receives on the socket wait for a second at most.
void limit_waits(int fd) noexcept {
  const timeval second{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
}

/// Process and user at the other end of a connected socket.
bool peer_of(int fd, ucred& out) noexcept {
  socklen_t bytes = sizeof out;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &out, &bytes) == 0;
}

}  // namespace

Result<UniqueFd> send_request(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory, bool waits) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0));
  if (!socket) return failed("socket");
  limit_waits(socket.get());
  const SocketName name(nonce, "door");
  if (::connect(socket.get(), name.address(), name.bytes()) != 0) return failed("connect");
  ucred peer{};
  if (!peer_of(socket.get(), peer)) return failed("SO_PEERCRED");
  if (peer.uid != ::geteuid())
    return Error{Status::unreachable,
                 fmt::format("socket: the door belongs to user {}, this is user {}", peer.uid, ::geteuid())};
  const DoorRequest request{kMagic, nonce, proof, memory};
  if (::send(socket.get(), &request, sizeof request, MSG_NOSIGNAL) != sizeof request) return failed("send");
  return socket;
}

Result<PassedDescriptor> receive_answer(int asked, bool waits) {
  ucred peer{};
  if (!peer_of(asked, peer)) return failed("SO_PEERCRED");
  std::uint32_t answer = 0;
  iovec bytes{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(asked, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
  if (got < 0) return failed("answer");
  if (got != sizeof answer) return Error{Status::unreachable, "socket: the door was shut"};
  PassedDescriptor passed;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
        part->cmsg_len == CMSG_LEN(sizeof(int))) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
      passed.fd.reset(fd);
    }
  switch (static_cast<DoorAnswer>(answer)) {
    case DoorAnswer::granted:
      break;
    case DoorAnswer::wrong_secret:
      return Error{Status::unreachable, "socket: the job secrets differ"};
    case DoorAnswer::wrong_user:
      return Error{Status::unreachable, "socket: the peer serves another user"};
    case DoorAnswer::freed:
      return Error{Status::unreachable, "socket: the peer has no such memory (any more)"};
    default:
      return Error{Status::unreachable, "socket: the peer did not understand"};
  }
  if (!passed.fd)
    return Error{Status::no_resource, "socket: no descriptor came with the answer (RLIMIT_NOFILE reached?)"};
  passed.pid = peer.pid;
  return passed;
}

Result<PassedDescriptor> request_descriptor(std::uint64_t nonce, std::uint64_t proof, std::uint64_t memory) {
  auto asked = send_request(nonce, proof, memory, true);
  if (!asked) return std::move(asked).error();
  return receive_answer(asked->get(), true);
}

bool is_door_gone(std::uint64_t nonce, std::uint32_t space) noexcept {
  if (space == 0 || space != namespace_number(kNetNamespace)) return false;
  // The system keeps the socket's name as long as any process has the door's descriptor. An attempt to bind
  // the name needs no answer from the peer; a connection would.
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketName name(nonce, "door");
  return socket && ::bind(socket.get(), name.address(), name.bytes()) == 0;
}

Result<void> Door::open(std::uint64_t nonce, int memfd, std::uint64_t proof) {
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) return refused("socket");
  const SocketName name(nonce, "door");
  if (::bind(listener_.get(), name.address(), name.bytes()) != 0) return refused("bind");
  if (::listen(listener_.get(), 64) != 0) return refused("listen");
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) return refused("eventfd");
  memfd_ = memfd, nonce_ = nonce, proof_ = proof;
  const std::uint32_t space = namespace_number(kNetNamespace);
  try {
    const SignalBlock quiet;
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& error) {
    return Error{Status::io_error,
                 fmt::format("shm: a thread for the door: {}", std::strerror(error.code().value()))};
  }
  space_ = space;
  return {};
}

void Door::shut() noexcept {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof one) != sizeof one)
      log::error("shm: the door's thread cannot be stopped");
    thread_.join();
  }
  listener_.reset();
  stop_.reset();
}

void Door::serve() noexcept {
  pollfd watched[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[1].revents != 0) return;
    if (watched[0].revents == 0) continue;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) {
      answer(client.get());
    } else if (errno == EMFILE || errno == ENFILE) {
      // A descriptor may be closed meanwhile; the peer waits in the queue of the socket.
      const timespec pause{0, 10'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
}

void Door::answer(int client) noexcept {
  limit_waits(client);
  DoorRequest request{};
  auto reply = DoorAnswer::granted;
  ucred peer{};
  const bool known = peer_of(client, peer);
  if (::recv(client, &request, sizeof request, MSG_WAITALL) != sizeof request || request.magic != kMagic ||
      request.nonce != nonce_)
    reply = DoorAnswer::malformed;
  else if (!known || peer.uid != ::geteuid())
    reply = DoorAnswer::wrong_user;
  else if (request.proof != proof_)
    reply = DoorAnswer::wrong_secret;

  // The allocation is not freed until the answer is on its way.
  std::optional<HeldMemory> memory;
  int fd = memfd_;
  if (reply == DoorAnswer::granted && request.memory != 0) {
    fd = memory.emplace(request.memory).fd();
    if (fd < 0) reply = DoorAnswer::freed;
  }
  auto code = static_cast<std::uint32_t>(reply);
  iovec bytes{&code, sizeof code};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (reply == DoorAnswer::granted) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  }
  if (::sendmsg(client, &message, MSG_NOSIGNAL) < 0)
    log::debug("shm: answering at the door: {}", std::strerror(errno));
}

}  // namespace stria::shm
