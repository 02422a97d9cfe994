// contract_far PORT: the far side of the suite (far_wire.hpp). Listens (PORT 0: at one that is free), says at
// which port, and gives each device that a test opens a process of its own, which ends with it. The provider
// is STRIA_TEST_PROVIDER's.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/config.hpp"
#include "datatype/layout.hpp"
#include "tests/contract/far_wire.hpp"
#include "transport/device_config.hpp"
#include "transport/loader.hpp"
#include "transport/payload.hpp"
#include "transport/services.hpp"
#ifdef STRIA_TEST_SHM
#include "transport/shm/shm.hpp"
#endif

namespace stria::contract::far {
namespace {

class FarDevice;

/// A get or put under way, alive until it ended.
struct Transfer {
  stria_completion_t base{};
  FarDevice* device = nullptr;
  std::uint64_t id = 0;
  std::vector<std::byte> bytes;
  bool reads = false;
};

class FarDevice {
 public:
  FarDevice(const stria_provider_t& table, int fd)
      : table_(table), ops_(transport::flatten(table)), channel_(fd) {
    sink_.self = this;
    sink_.deliver = [](void* self, void* peer, const stria_packet_t* packet) {
      const transport::Arrival came = transport::arrival(*packet);
      if (came == transport::Arrival::later) return STRIA_DELIVERED_LATER;
      if (came == transport::Arrival::never) return STRIA_DELIVERED_GO_ON;
      Message message = begin(Upcall::deliver, peer);
      message.add(*packet->header);
      message.add(packet->buffered != 0 ? 1u : 0u);
      message.add_bytes(packet->payload, packet->bytes);
      static_cast<FarDevice*>(self)->upcall(message);
      return STRIA_DELIVERED_GO_ON;
    };
    sink_.peer_up = [](void* self, std::uint64_t worker, stria_link_t* link) {
      Message message = begin(Upcall::peer_up, nullptr);
      message.add(worker);
      message.add(reinterpret_cast<std::uint64_t>(link));
      return static_cast<FarDevice*>(self)->upcall(message).take<void*>();
    };
    sink_.link_down = [](void* self, void* peer, stria_status_t why) {
      Message message = begin(Upcall::link_down, peer);
      message.add(why);
      static_cast<FarDevice*>(self)->upcall(message);
    };
    // The memory to place into is in the other process.
    sink_.place = [](void*, void*, const stria_header_t*, std::uint32_t, stria_payload_t*) { return 0; };
    sink_.link_changed = [](void* self, void* peer) {
      static_cast<FarDevice*>(self)->upcall(begin(Upcall::link_changed, peer));
    };
  }

  void serve() {
    while (!closed_) {
      pollfd waits[2] = {{channel_.fd(), POLLIN, 0}, {armed_ ? table_.event_fd(device_) : -1, POLLIN, 0}};
      ::poll(waits, 2, -1);
      if ((waits[1].revents & POLLIN) != 0) notify();
      if (waits[0].revents != 0) next();
    }
  }

 private:
  static Message begin(Upcall kind, void* peer) {
    Message message(Frame::upcall);
    message.add(kind);
    message.add(peer);
    return message;
  }
  /// Takes one frame; true: it ends an upcall, `out` is its answer.
  bool next(Message* out = nullptr) {
    Message message = channel_.receive();
    switch (message.take<Frame>()) {
      case Frame::memory:
        take_change(message, mirrors_);
        return false;
      case Frame::request:
        answer(message);
        return false;
      case Frame::returned:
        if (out != nullptr) *out = std::move(message);
        return true;
      default:
        throw std::runtime_error("a frame that nobody waits for");
    }
  }
  Message upcall(const Message& message) {
    send_changes(channel_, mirrors_);
    channel_.send(message);
    Message answer;
    while (!next(&answer)) {
    }
    return answer;
  }
  void answer(Message& request) {
    Message reply(Frame::reply);
    handle(request, reply);
    send_changes(channel_, mirrors_);
    channel_.send(reply);
  }

  void notify();
  void handle(Message& request, Message& reply);
  void open(Message& request, Message& reply);
  void connect(Message& request, Message& reply);
  void fast_register(Message& request, Message& reply);
  void move(bool write, Message& request, Message& reply);
  void atomic(Message& request, Message& reply);
  /// Tells the test how it ended, and what it read.
  static void done(stria_completion_t* base, stria_status_t status);

  const stria_provider_t& table_;
  const transport::HotOps ops_;
  Channel channel_;
  int wakeup_ = -1;  // listens for wake_, until the end of the process
  std::unique_ptr<Channel> wake_;
  std::uint64_t wakes_ = 0;
  bool armed_ = false, closed_ = false;
  stria_sink_t sink_{};
  Config config_;
  std::vector<std::byte> secret_;
  stria_device_t* device_ = nullptr;
  struct Registered {
    std::vector<std::byte> memory;
    datatype::Layout layout;
  };
  std::list<Registered> registered_;
  std::list<Mirror> mirrors_;
};

stria_link_t* take_link(Message& request) {
  return reinterpret_cast<stria_link_t*>(request.take<std::uint64_t>());
}

void FarDevice::handle(Message& request, Message& reply) {
  switch (request.take<Call>()) {
    case Call::open:
      open(request, reply);
      break;
    case Call::close:
      table_.close(device_, request.take<int>());
      closed_ = true;
      break;
    case Call::capabilities: {
      stria_capabilities_t out{};
      table_.capabilities(device_, &out);
      if (table_.event_fd(device_) < 0) out.lacks |= STRIA_CAP_EVENT_FD;  // the near side's is a socket
      out.flags &= ~STRIA_CAP_PLACES;  // the near side is not asked for memory here
      reply.add(out);
      break;
    }
    case Call::address: {
      // Twice over different bytes: which of them the provider wrote.
      std::vector<std::byte> zeros(request.take<std::uint32_t>()), ones(zeros.size(), std::byte{0xff});
      const auto bytes = static_cast<std::uint32_t>(zeros.size());
      reply.add(table_.address(device_, zeros.data(), bytes));
      table_.address(device_, ones.data(), bytes);
      std::vector<std::byte> mask(zeros.size());
      for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = std::byte{zeros[i] == ones[i]};
      reply.add_bytes(zeros.data(), zeros.size());
      reply.add_bytes(mask.data(), mask.size());
      break;
    }
    case Call::connect:
      connect(request, reply);
      break;
    case Call::limits: {
      stria_link_limits_t out{};
      table_.link_limits(take_link(request), &out);
      reply.add(out);
      reply.add_text(out.path);
      reply.add_text(out.fallback);
      break;
    }
    case Call::check:
      table_.check(device_);
      break;
    case Call::progress: {
      armed_ = false;
      const unsigned handled = ops_.progress(device_, request.take<unsigned>());
      reply.add(wakes_);
      reply.add(handled);
      break;
    }
    case Call::arm: {
      const stria_status_t status = table_.arm(device_);
      armed_ = status == STRIA_OK;
      reply.add(status);
      break;
    }
    case Call::pio_send: {
      stria_link_t* const link = take_link(request);
      const auto header = request.take<stria_header_t>();
      const std::vector<std::byte> data = request.take_bytes();
      reply.add(ops_.pio_send(link, &header, data.data(), static_cast<std::uint32_t>(data.size())));
      break;
    }
    case Call::eager_send: {
      stria_link_t* const link = take_link(request);
      const auto header = request.take<stria_header_t>();
      std::vector<std::byte> data = request.take_bytes();
      const auto bytes = static_cast<std::int64_t>(data.size());
      const stria_payload_t payload{nullptr, data.data(), bytes, 0, bytes};
      reply.add(ops_.eager_send(link, &header, &payload));
      break;
    }
    case Call::send_invalidate: {
      stria_link_t* const link = take_link(request);
      const auto header = request.take<stria_header_t>();
      const std::vector<std::byte> data = request.take_bytes();
      const auto key = request.take<stria_provider_key_t>();
      reply.add(
          ops_.send_invalidate(link, &header, data.data(), static_cast<std::uint32_t>(data.size()), &key));
      break;
    }
    case Call::fast_register:
      fast_register(request, reply);
      break;
    case Call::invalidate: {
      const auto key = request.take<stria_provider_key_t>();
      const stria_status_t status = ops_.invalidate(device_, &key);
      if (status == STRIA_OK) forget(mirrors_, key);
      reply.add(status);
      break;
    }
    case Call::get:
      move(false, request, reply);
      break;
    case Call::put:
      move(true, request, reply);
      break;
    case Call::atomic:
      atomic(request, reply);
      break;
    case Call::die:
      ::kill(::getpid(), SIGKILL);
      break;
  }
}

void FarDevice::open(Message& request, Message& reply) {
  if (auto given = Config::from_environment({{table_.variables, table_.variable_count}}))
    config_ = *std::move(given);
  stria_device_params_t params{};
  params.size = sizeof params;
  params.worker_id = request.take<std::uint64_t>();
  secret_ = request.take_bytes();
  params.job_secret = secret_.data();
  params.job_secret_bytes = static_cast<std::uint32_t>(secret_.size());
  params.sink = &sink_;
  params.services = &transport::services();
  params.config_self = &config_;
  params.config = transport::config_text;
  params.config_number = transport::config_number;
  char error[256] = "";
  const stria_status_t status = table_.open(&params, &device_, error, sizeof error);
  reply.add(status);
  if (status != STRIA_OK) {
    reply.add_text(error);
    return;
  }
  // Where the test connects what it sleeps on.
  std::uint16_t port = 0;
  wakeup_ = listen_at(port);
  reply.add(port);
}

void FarDevice::notify() {
  armed_ = false;
  if (wake_ == nullptr) wake_ = std::make_unique<Channel>(::accept4(wakeup_, nullptr, nullptr, SOCK_CLOEXEC));
  const char one = 1;
  if (::send(wake_->fd(), &one, 1, MSG_NOSIGNAL) == 1) ++wakes_;
}

void FarDevice::connect(Message& request, Message& reply) {
  const std::vector<std::byte> address = request.take_bytes();
  auto* const peer = request.take<void*>();
  stria_link_t* link = nullptr;
  char error[256] = "";
  reply.add(table_.connect(device_, address.data(), static_cast<std::uint32_t>(address.size()), peer,
                           request.take<int>(), &link, error, sizeof error));
  reply.add(reinterpret_cast<std::uint64_t>(link));
  reply.add_text(error);
}

std::vector<std::int64_t> take_numbers(Message& request) {
  const std::vector<std::byte> bytes = request.take_bytes();
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

void FarDevice::fast_register(Message& request, Message& reply) {
  stria_link_t* const link = take_link(request);
  const auto access = request.take<unsigned>();
  const auto id = request.take<std::uint32_t>();
  const bool has_layout = request.take<bool>();
  const auto beside = request.take<std::uint32_t>();
  std::vector<std::byte>& whole = registered_.emplace_back().memory;
  const std::vector<std::byte> bytes = request.take_bytes();
  whole.resize(beside);  // allocated at a multiple of kAlignment
  whole.insert(whole.end(), bytes.begin(), bytes.end());
  const std::span<std::byte> memory = std::span(whole).subspan(beside);
  const std::vector<std::int64_t> lengths = take_numbers(request), places = take_numbers(request);
  stria_payload_t payload{nullptr, memory.data(), static_cast<std::int64_t>(memory.size()), 0, 0};
  if (has_layout) {
    registered_.back().layout = *datatype::Layout::indexed(lengths, places, datatype::Layout::bytes(1));
    payload.layout = &registered_.back().layout;
    payload.count = 1;
  } else {
    payload.length = payload.count;
  }
  stria_provider_key_t key{};
  const stria_status_t status = ops_.fast_register(device_, link, &payload, access, &key);
  reply.add(status);
  if (status != STRIA_OK) {
    registered_.pop_back();
    return;
  }
  reply.add(key);
  mirrors_.push_back({id, memory.data(), bytes, key});
}

void FarDevice::move(bool write, Message& request, Message& reply) {
  stria_link_t* const link = take_link(request);
  const auto key = request.take<stria_provider_key_t>();
  const auto offset = request.take<std::uint64_t>();
  auto transfer = std::make_unique<Transfer>();
  transfer->device = this;
  transfer->id = request.take<std::uint64_t>();
  transfer->reads = !write;
  const auto length = request.take<std::int64_t>();
  transfer->bytes = request.take_bytes();
  transfer->base.done = done;
  const stria_payload_t local{nullptr, transfer->bytes.data(), length, 0, length};
  const stria_status_t status = write ? ops_.put(link, &local, &key, offset, &transfer->base)
                                      : ops_.get(link, &local, &key, offset, &transfer->base);
  reply.add(status);
  reply.add_bytes(transfer->bytes.data(), write || status == STRIA_IN_PROGRESS ? 0 : transfer->bytes.size());
  if (status == STRIA_IN_PROGRESS) static_cast<void>(transfer.release());
}

void FarDevice::done(stria_completion_t* base, stria_status_t status) {
  const std::unique_ptr<Transfer> ended(reinterpret_cast<Transfer*>(base));
  Message message(Frame::upcall);
  message.add(Upcall::done);
  message.add(ended->id);
  message.add(status);
  message.add_bytes(ended->bytes.data(), ended->reads ? ended->bytes.size() : 0);
  ended->device->upcall(message);
}

void FarDevice::atomic(Message& request, Message& reply) {
  stria_link_t* const link = take_link(request);
  const auto key = request.take<stria_provider_key_t>();
  auto atomic = request.take<stria_remote_atomic_t>();
  auto transfer = std::make_unique<Transfer>();
  transfer->device = this;
  transfer->id = request.take<std::uint64_t>();
  transfer->reads = true;
  transfer->bytes.resize(sizeof(std::uint64_t));
  transfer->base.done = done;
  atomic.result = reinterpret_cast<std::uint64_t*>(transfer->bytes.data());
  const stria_status_t status = ops_.atomic(link, &atomic, &key, &transfer->base);
  std::uint64_t before = 0;
  std::memcpy(&before, transfer->bytes.data(), sizeof before);
  reply.add(status);
  reply.add(before);
  if (status == STRIA_IN_PROGRESS) static_cast<void>(transfer.release());
}

const stria_provider_t& provider() {
  const char* name = std::getenv("STRIA_TEST_PROVIDER");
  const char* path = std::getenv("STRIA_PROVIDER_PATH");
  std::vector<const stria_provider_t*> builtins;
#ifdef STRIA_TEST_SHM
  builtins.push_back(&shm::shm_provider());
#endif
  auto found = transport::find_provider(name == nullptr ? "" : name, path == nullptr ? "" : path, builtins);
  if (!found) throw std::runtime_error(found.error().context);
  static const auto loaded = *std::move(found);
  return *loaded->table;
}

int run(std::uint16_t port) {
  const stria_provider_t& table = provider();
  const int listening = listen_at(port);
  std::printf("listening at %u\n", unsigned{port});
  std::fflush(stdout);
  std::signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (::fork() == 0) {
      ::close(listening);
      FarDevice(table, fd).serve();
      std::_Exit(0);
    }
    ::close(fd);
  }
}

}  // namespace
}  // namespace stria::contract::far

int main(int argc, char** argv) {
  try {
    return stria::contract::far::run(
        static_cast<std::uint16_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "contract_far: %s\n", problem.what());
    return 1;
  }
}
