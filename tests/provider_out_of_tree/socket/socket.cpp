// Provider `socket`: packets over AF_UNIX sockets, an example of a provider outside the tree. It sees
// stria/provider.h and nothing else, reaches every process of this host (and network namespace) that has the
// job's secret, and has the core of the contract and no group: the engines above send everything by
// eager_send.
//
// Every device listens on a socket with a random abstract name, its address. Each direction of a link has a
// connection of its own, made by the sender, so two devices that connect to each other at the same time have
// nothing to settle:
//
//      device A                          device B
//        link to B   out -------------> in    link to A       the first message is Hello: secret, worker,
//        address;
//                    in  <------------- out                   each further one is a header and its payload
//
// The kernel keeps what was sent until the receiver took it, so close has nothing to wait for, and an end of
// file comes after the last packet.
#include <fcntl.h>
#include <stria/provider.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t kEagerMost = 65536;
constexpr std::size_t kMaxEntries = 64;
constexpr std::size_t kMaxSecret = 256;

// What a user may set; stria lists it, and checks the value before a device is opened.
constexpr stria_variable_t kVariables[] = {{
    .name = "STRIA_SOCKET_EAGER_BYTES",
    .kind = STRIA_VARIABLE_BYTES,
    .level = STRIA_CONFIG_EXPERT,
    .default_value = "16K",
    .unit = "bytes",
    .choices = "",
    .minimum = 1024,
    .maximum = kEagerMost,
    .meaning =
        "Longest payload of one packet. Longer messages are announced first, and come by several packets.",
}};

struct Address {
  char magic[8];
  std::uint64_t worker;
  char name[24];  // of the abstract socket, without the leading zero
};
constexpr char kMagic[8] = {'s', 't', 'r', 's', 'o', 'c', 'k', '1'};

struct Hello {
  Address from;
  std::uint32_t secret_bytes;
  char secret[kMaxSecret];
};

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

socklen_t name_socket(const Address& address, sockaddr_un& out) {
  out = {};
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path + 1, address.name, sizeof address.name);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + sizeof address.name);
}

bool valid(const Address& address) {
  return std::memcmp(address.magic, kMagic, sizeof kMagic) == 0 && address.worker != 0 &&
         std::memchr(address.name, 0, sizeof address.name) != nullptr;
}

}  // namespace

struct stria_link {
  stria_device* device;
  Address peer;
  void* cookie = nullptr;
  Socket out{};  // what we send; empty until connected
  Socket in{};   // what the peer sends; empty until it connected
  bool down = false;
};

struct stria_device {
  explicit stria_device(const stria_device_params_t& params)
      : sink(*params.sink),
        services(*params.services),
        secret(static_cast<const char*>(params.job_secret), params.job_secret_bytes),
        eager_max(static_cast<std::uint32_t>(params.config_number(params.config_self, kVariables[0].name))),
        buffer(sizeof(stria_header_t) + kEagerMost) {}

  const stria_sink_t& sink;
  const stria_services_t& services;
  const std::string secret;
  const std::uint32_t eager_max;
  Address address{};
  Socket events{};  // epoll: all of the below
  Socket listener{};
  std::unordered_map<int, Socket> strangers;  // accepted, Hello still to come
  std::unordered_map<int, stria_link*> ends;  // by descriptor: the links' sockets
  std::vector<std::unique_ptr<stria_link>> links;
  std::vector<char> buffer;

  bool watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.fd = fd;
    return ::epoll_ctl(events.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  stria_link* find(const Address& peer) {
    for (auto& link : links)
      if (!link->down && std::memcmp(&link->peer, &peer, sizeof peer) == 0) return link.get();
    return nullptr;
  }
  stria_link* add(const Address& peer) {
    links.push_back(std::make_unique<stria_link>());
    links.back()->device = this;
    links.back()->peer = peer;
    return links.back().get();
  }

  stria_status_t connect_out(stria_link& link);
  bool accept_one();
  bool greet(int fd);
  bool receive(stria_link& link);
  bool out_ended(stria_link& link);
  void end(stria_link& link);
  bool handle(int fd);
};

// OK, NO_RESOURCE (the peer is busy accepting: later), PEER_FAILED, IO.
stria_status_t stria_device::connect_out(stria_link& link) {
  if (link.out) return STRIA_OK;
  Socket made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return STRIA_ERR_IO;
  sockaddr_un name;
  const socklen_t length = name_socket(link.peer, name);
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0)
    return errno == EAGAIN ? STRIA_ERR_NO_RESOURCE : STRIA_ERR_PEER_FAILED;
  Hello hello{};
  hello.from = address;
  hello.secret_bytes = static_cast<std::uint32_t>(secret.size());
  secret.copy(hello.secret, kMaxSecret);
  if (::send(made.get(), &hello, sizeof hello, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof hello))
    return STRIA_ERR_PEER_FAILED;
  if (!watch(made.get())) return STRIA_ERR_IO;
  ends[made.get()] = &link;
  link.out = std::move(made);
  return STRIA_OK;
}

bool stria_device::accept_one() {
  Socket accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!accepted || !watch(accepted.get())) return false;
  const int fd = accepted.get();
  strangers.insert_or_assign(fd, std::move(accepted));
  return true;
}

// A Hello makes a stranger the incoming half of a link; anything else ends it.
bool stria_device::greet(int fd) {
  Hello hello{};
  const ssize_t got = ::recv(fd, &hello, sizeof hello, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return false;
  const auto at = strangers.find(fd);
  Socket connection = std::move(at->second);
  strangers.erase(at);
  const bool friendly = got == static_cast<ssize_t>(sizeof hello) && valid(hello.from) &&
                        hello.secret_bytes == secret.size() &&
                        secret.compare(0, secret.size(), hello.secret, secret.size()) == 0;
  if (!friendly) {
    services.log(3, "socket: refused a connection without this job's secret");
    return true;
  }
  stria_link* link = find(hello.from);
  const bool fresh = link == nullptr;
  if (fresh) link = add(hello.from);
  if (link->in) return true;  // a second connection of one peer is none of ours
  ends[fd] = link;
  link->in = std::move(connection);
  if (fresh) link->cookie = sink.peer_up(sink.self, link->peer.worker, link);
  return true;
}

bool stria_device::receive(stria_link& link) {
  const ssize_t got = ::recv(link.in.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return false;
  if (got < static_cast<ssize_t>(sizeof(stria_header_t))) {
    end(link);
    return true;
  }
  stria_header_t header;
  std::memcpy(&header, buffer.data(), sizeof header);
  const auto bytes = static_cast<std::uint32_t>(static_cast<std::size_t>(got) - sizeof header);
  const stria_packet_t packet{&header, buffer.data() + sizeof header, bytes, 1, 0};
  sink.deliver(sink.self, link.cookie, &packet);
  return true;
}

// The peer closed its receiving half. If it ever connected to us, the end of that connection ends the link,
// after its last packet; it may still wait to be accepted.
bool stria_device::out_ended(stria_link& link) {
  char nothing;
  if (::recv(link.out.get(), &nothing, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) return false;
  ends.erase(link.out.get());
  ::epoll_ctl(events.get(), EPOLL_CTL_DEL, link.out.get(), nullptr);
  while (accept_one()) {
  }
  std::vector<int> waiting;
  for (const auto& stranger : strangers) waiting.push_back(stranger.first);
  for (const int fd : waiting) greet(fd);
  if (!link.in) end(link);
  return true;
}

void stria_device::end(stria_link& link) {
  link.down = true;
  ends.erase(link.in.get());
  ends.erase(link.out.get());
  link.in = Socket();
  link.out = Socket();
  sink.link_down(sink.self, link.cookie, STRIA_ERR_PEER_FAILED);
}

bool stria_device::handle(int fd) {
  if (fd == listener.get()) return accept_one();
  if (strangers.count(fd) != 0) return greet(fd);
  const auto at = ends.find(fd);
  if (at == ends.end()) return false;  // ended by an event before
  stria_link& link = *at->second;
  return fd == link.in.get() ? receive(link) : out_ended(link);
}

namespace {

stria_status_t refuse(stria_status_t status, char* error, std::uint32_t bytes, const std::string& why) {
  if (bytes > 0) std::snprintf(error, bytes, "socket: %s", why.c_str());
  return status;
}

stria_status_t eager_send(stria_link* link, const stria_header_t* header, const stria_payload_t* payload) {
  stria_device& device = *link->device;
  const stria_status_t connected = device.connect_out(*link);
  if (connected != STRIA_OK) return connected;
  iovec entries[1 + kMaxEntries];
  entries[0] = {const_cast<stria_header_t*>(header), sizeof *header};
  std::int64_t covered = 0;
  std::size_t count = device.services.iovecs(payload, entries + 1, kMaxEntries, &covered);
  std::vector<char> packed;
  if (covered < payload->length) {  // too many pieces for one list
    packed.resize(static_cast<std::size_t>(payload->length));
    device.services.pack(payload, packed.data());
    entries[1] = {packed.data(), packed.size()};
    count = 1;
  }
  msghdr message{};
  message.msg_iov = entries;
  message.msg_iovlen = 1 + count;
  if (::sendmsg(link->out.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return STRIA_OK;
  if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return STRIA_ERR_NO_RESOURCE;
  return STRIA_ERR_PEER_FAILED;
}

unsigned progress(stria_device* device, unsigned budget) {
  unsigned handled = 0;
  while (handled < budget) {
    epoll_event events[32];
    const int most = static_cast<int>(std::min<unsigned>(budget - handled, 32));
    const int ready = ::epoll_wait(device->events.get(), events, most, 0);
    unsigned moved = 0;
    for (int i = 0; i < ready; ++i) moved += device->handle(events[i].data.fd) ? 1 : 0;
    if (moved == 0) break;
    handled += moved;
  }
  return handled;
}

stria_status_t open(const stria_device_params_t* params, stria_device_t** out, char* error,
                    std::uint32_t bytes) {
  *out = nullptr;
  if (params->size < sizeof *params)
    return refuse(STRIA_ERR_INVALID, error, bytes, "device parameters of an older version");
  if (params->worker_id == 0) return refuse(STRIA_ERR_INVALID, error, bytes, "worker id 0");
  if (params->job_secret_bytes > kMaxSecret)
    return refuse(STRIA_ERR_INVALID, error, bytes, "a job secret of more than 256 bytes");
  auto device = std::make_unique<stria_device>(*params);
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return refuse(STRIA_ERR_IO, error, bytes, std::string("getrandom: ") + std::strerror(errno));
  std::memcpy(device->address.magic, kMagic, sizeof kMagic);
  device->address.worker = params->worker_id;
  std::snprintf(device->address.name, sizeof device->address.name, "stria-%016llx",
                static_cast<unsigned long long>(random));
  device->events = Socket(::epoll_create1(EPOLL_CLOEXEC));
  device->listener = Socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un name;
  const socklen_t length = name_socket(device->address, name);
  if (!device->events || !device->listener ||
      ::bind(device->listener.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
      ::listen(device->listener.get(), 1024) != 0 || !device->watch(device->listener.get()))
    return refuse(STRIA_ERR_IO, error, bytes, std::string("listening socket: ") + std::strerror(errno));
  *out = device.release();
  return STRIA_OK;
}

void capabilities(stria_device_t* device, stria_capabilities_t* out) {
  *out = {};
  out->eager_max = device->eager_max;
  out->max_sge = kMaxEntries;
}

std::uint32_t address(stria_device_t* device, void* buffer, std::uint32_t bytes) {
  if (bytes >= sizeof(Address)) std::memcpy(buffer, &device->address, sizeof(Address));
  return sizeof(Address);
}

stria_status_t connect(stria_device_t* device, const void* bytes, std::uint32_t length, void* peer, int,
                       stria_link_t** out, char* error, std::uint32_t error_bytes) {
  *out = nullptr;
  Address address{};
  if (length != sizeof address)
    return refuse(STRIA_ERR_INVALID, error, error_bytes, "not an address: wrong length");
  std::memcpy(&address, bytes, sizeof address);
  if (!valid(address))
    return refuse(STRIA_ERR_INVALID, error, error_bytes, "not an address of this provider");
  stria_link* link = device->find(address);
  if (link == nullptr) {
    link = device->add(address);
    const stria_status_t status = device->connect_out(*link);
    if (status != STRIA_OK && status != STRIA_ERR_NO_RESOURCE) {
      device->links.pop_back();
      // The socket's name goes with the device that bound it.
      const bool gone = errno == ECONNREFUSED || errno == ENOENT;
      return refuse(gone ? STRIA_ERR_PEER_FAILED : STRIA_ERR_UNREACHABLE, error, error_bytes,
                    std::string("nobody listens on ") + address.name + ": " + std::strerror(errno));
    }
  }
  link->cookie = peer;
  *out = link;
  return STRIA_OK;
}

void link_limits(stria_link_t* link, stria_link_limits_t* out) {
  *out = {};
  out->eager_max = link->device->eager_max;
  out->path = "unix sockets";
  out->fallback = "";
}

stria_status_t arm(stria_device_t* device) {
  epoll_event event;
  return ::epoll_wait(device->events.get(), &event, 1, 0) > 0 ? STRIA_ERR_NO_RESOURCE : STRIA_OK;
}

}  // namespace

extern "C" STRIA_API const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = {
    .size = sizeof(stria_provider_t),
    .version = STRIA_PROVIDER_VERSION,
    .name = "socket",
    .description = "packets over unix sockets, an example of a provider outside the tree",
    .open = open,
    .close = [](stria_device_t* device, int) { delete device; },
    .capabilities = capabilities,
    .address = address,
    .connect = connect,
    .link_limits = link_limits,
    .eager_send = eager_send,
    .progress = progress,
    .check = [](stria_device_t*) {},  // a dead peer shows itself as an end of file
    .event_fd = [](stria_device_t* device) { return device->events.get(); },
    .arm = arm,
    .variables = kVariables,
    .variable_count = std::size(kVariables),
};
