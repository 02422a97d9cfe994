#include "tests/contract/far_provider.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "datatype/layout.hpp"
#include "tests/contract/far_wire.hpp"

namespace stria::contract {
namespace {

using far::Call, far::Frame, far::Message, far::Mirror, far::Upcall;
struct FarDevice;

struct FarLink {
  FarDevice* device;
  std::uint64_t handle;
  std::string path, fallback;
};

struct Transfer {
  std::uint64_t id;
  stria_payload_t local;  ///< of a get
  stria_completion_t* completion;
};

std::vector<std::byte> packed(const stria_services_t& services, const stria_payload_t& payload) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(payload.length));
  if (!bytes.empty()) services.pack(&payload, bytes.data());
  return bytes;
}

struct FarDevice {
  explicit FarDevice(int fd) : channel(fd) {}
  ~FarDevice() {
    if (wake >= 0) ::close(wake);
  }
  FarDevice(const FarDevice&) = delete;
  FarDevice& operator=(const FarDevice&) = delete;

  /// Sends a request and serves the upcalls that come before its reply.
  Message call(const Message& request) {
    far::send_changes(channel, mirrors);
    channel.send(request);
    for (;;) {
      Message message = channel.receive();
      switch (message.take<Frame>()) {
        case Frame::memory:
          far::take_change(message, mirrors);
          break;
        case Frame::upcall: {
          const Message answer = upcall(message);
          far::send_changes(channel, mirrors);
          channel.send(answer);
          break;
        }
        case Frame::reply:
          return message;
        default:
          throw std::runtime_error("the far device: a frame that nobody waits for");
      }
    }
  }
  stria_status_t status_of(const Message& request) { return call(request).take<stria_status_t>(); }
  stria_link_t* link(std::uint64_t handle) {
    if (handle == 0) return nullptr;
    auto& known = links[handle];
    if (known == nullptr) known = std::make_unique<FarLink>(FarLink{this, handle, "", ""});
    return reinterpret_cast<stria_link_t*>(known.get());
  }
  Message upcall(Message& message);
  void take_wakes(std::uint64_t sent) {
    for (char one = 0; wakes < sent && ::recv(wake, &one, 1, 0) == 1;) ++wakes;
  }

  far::Channel channel;
  const stria_sink_t* sink = nullptr;
  const stria_services_t* services = nullptr;
  int wake = -1;
  std::uint64_t wakes = 0;
  std::uint32_t next_mirror = 1;
  std::uint64_t next_transfer = 1;
  std::list<Mirror> mirrors;
  std::list<Transfer> transfers;
  std::map<std::uint64_t, std::unique_ptr<FarLink>> links;
};

FarDevice& device_of(stria_device_t* device) {
  return *reinterpret_cast<FarDevice*>(device);
}
FarLink& link_of(stria_link_t* link) {
  return *reinterpret_cast<FarLink*>(link);
}
Message request_on(stria_link_t* link, Call call) {
  Message request(Frame::request, call);
  request.add(link_of(link).handle);
  return request;
}

Message FarDevice::upcall(Message& message) {
  Message answer(Frame::returned);
  const auto kind = message.take<Upcall>();
  if (kind == Upcall::done) {
    const auto id = message.take<std::uint64_t>();
    const auto status = message.take<stria_status_t>();
    const std::vector<std::byte> bytes = message.take_bytes();
    const auto at =
        std::find_if(transfers.begin(), transfers.end(), [&](const Transfer& one) { return one.id == id; });
    if (at == transfers.end()) throw std::runtime_error("the far device: a completion of nothing");
    const Transfer ended = *at;
    transfers.erase(at);
    if (!bytes.empty()) services->unpack(&ended.local, bytes.data());
    ended.completion->done(ended.completion, status);
    return answer;
  }
  auto* const cookie = message.take<void*>();
  switch (kind) {
    case Upcall::deliver: {
      const auto header = message.take<stria_header_t>();
      const auto buffered = message.take<std::uint32_t>();
      const std::vector<std::byte> bytes = message.take_bytes();
      const stria_packet_t packet{&header, bytes.data(), static_cast<std::uint32_t>(bytes.size()), buffered,
                                  0};
      static_cast<void>(sink->deliver(sink->self, cookie, &packet));
      break;
    }
    case Upcall::peer_up: {
      const auto worker = message.take<std::uint64_t>();
      answer.add(sink->peer_up(sink->self, worker, link(message.take<std::uint64_t>())));
      break;
    }
    case Upcall::link_down:
      sink->link_down(sink->self, cookie, message.take<stria_status_t>());
      break;
    case Upcall::link_changed:
      sink->link_changed(sink->self, cookie);
      break;
    case Upcall::done:
      break;
  }
  return answer;
}

// ---- the table --------------------------------------------------------------------------------------------

stria_status_t open(const stria_device_params_t* params, stria_device_t** out, char*, std::uint32_t) {
  const char* where = std::getenv("STRIA_TEST_FAR");
  const std::string text = where == nullptr ? "" : where;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::runtime_error("STRIA_TEST_FAR is no HOST:PORT");
  const std::string host = text.substr(0, colon);
  const auto port = static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1)));
  auto device = std::make_unique<FarDevice>(far::connect_to(host, port));
  device->sink = params->sink;
  device->services = params->services;
  Message request(Frame::request, Call::open);
  request.add(params->worker_id);
  request.add_bytes(params->job_secret, params->job_secret_bytes);
  Message reply = device->call(request);
  if (reply.take<stria_status_t>() != STRIA_OK) throw std::runtime_error(reply.take_text());
  device->wake = far::connect_to(host, reply.take<std::uint16_t>());
  *out = reinterpret_cast<stria_device_t*>(device.release());
  return STRIA_OK;
}

void close(stria_device_t* device, int timeout_ms) {
  const std::unique_ptr<FarDevice> gone(&device_of(device));
  gone->mirrors.clear();  // the memory may be gone already
  Message request(Frame::request, Call::close);
  request.add(timeout_ms);
  try {
    gone->call(request);
  } catch (const std::runtime_error&) {
    // Its process ended; the test knows already.
  }
}

void capabilities(stria_device_t* device, stria_capabilities_t* out) {
  *out = device_of(device).call({Frame::request, Call::capabilities}).take<stria_capabilities_t>();
}

std::uint32_t address(stria_device_t* device, void* buffer, std::uint32_t bytes) {
  Message request(Frame::request, Call::address);
  request.add(bytes);
  Message reply = device_of(device).call(request);
  const auto needed = reply.take<std::uint32_t>();
  const std::vector<std::byte> written = reply.take_bytes();  // all of the buffer, as the far side left it
  std::vector<std::byte> mask = reply.take_bytes();
  for (std::size_t i = 0; i < written.size(); ++i)
    if (mask[i] != std::byte{0}) static_cast<std::byte*>(buffer)[i] = written[i];
  return needed;
}

stria_status_t connect(stria_device_t* device, const void* address, std::uint32_t bytes, void* peer,
                       int low_latency, stria_link_t** link, char* error, std::uint32_t error_bytes) {
  Message request(Frame::request, Call::connect);
  request.add_bytes(address, bytes);
  request.add(peer);
  request.add(low_latency);
  Message reply = device_of(device).call(request);
  const auto status = reply.take<stria_status_t>();
  *link = device_of(device).link(reply.take<std::uint64_t>());
  const std::string text = reply.take_text();
  if (error_bytes > 0) error[text.copy(error, error_bytes - 1)] = 0;
  return status;
}

void link_limits(stria_link_t* link, stria_link_limits_t* out) {
  FarLink& far = link_of(link);
  Message reply = far.device->call(request_on(link, Call::limits));
  *out = reply.take<stria_link_limits_t>();
  far.path = reply.take_text();
  far.fallback = reply.take_text();
  out->path = far.path.c_str();
  out->fallback = far.fallback.c_str();
}

void check(stria_device_t* device) {
  device_of(device).call({Frame::request, Call::check});
}

unsigned progress(stria_device_t* device, unsigned budget) {
  Message request(Frame::request, Call::progress);
  request.add(budget);
  Message reply = device_of(device).call(request);
  device_of(device).take_wakes(reply.take<std::uint64_t>());
  return reply.take<unsigned>();
}

int event_fd(stria_device_t* device) {
  return device_of(device).wake;
}

stria_status_t arm(stria_device_t* device) {
  return device_of(device).status_of({Frame::request, Call::arm});
}

stria_status_t pio_send(stria_link_t* link, const stria_header_t* header, const void* payload,
                        std::uint32_t bytes) {
  Message request = request_on(link, Call::pio_send);
  request.add(*header);
  request.add_bytes(payload, bytes);
  return link_of(link).device->status_of(request);
}

stria_status_t eager_send(stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
  FarDevice& device = *link_of(link).device;
  Message request = request_on(link, Call::eager_send);
  request.add(*header);
  const std::vector<std::byte> bytes = packed(*device.services, *payload);
  request.add_bytes(bytes.data(), bytes.size());
  return device.status_of(request);
}

stria_status_t send_invalidate(stria_link_t* link, const stria_header_t* header, const void* payload,
                               std::uint32_t bytes, const stria_provider_key_t* key) {
  Message request = request_on(link, Call::send_invalidate);
  request.add(*header);
  request.add_bytes(payload, bytes);
  request.add(*key);
  return link_of(link).device->status_of(request);
}

stria_status_t fast_register(stria_device_t* device, stria_link_t* link, const stria_payload_t* memory,
                             unsigned access, stria_provider_key_t* key) {
  FarDevice& far = device_of(device);
  // A layout travels as its runs, from the lowest byte on.
  std::vector<std::int64_t> lengths, places;
  auto* lowest = static_cast<std::byte*>(memory->base);
  std::size_t span = static_cast<std::size_t>(memory->count);
  if (memory->layout != nullptr) {
    stria_payload_t rest = *memory;
    rest.offset = 0;
    rest.length = memory->count * static_cast<const datatype::Layout*>(memory->layout)->size();
    std::vector<iovec> runs;
    while (rest.length > 0) {
      iovec some[64];
      std::int64_t covered = 0;
      const std::size_t n = far.services->iovecs(&rest, some, 64, &covered);
      runs.insert(runs.end(), some, some + n);
      rest.offset += covered;
      rest.length -= covered;
    }
    std::byte* highest = nullptr;
    for (const iovec& run : runs) {
      auto* const at = static_cast<std::byte*>(run.iov_base);
      if (highest == nullptr || at < lowest) lowest = at;
      highest = std::max(highest, at + run.iov_len);
    }
    for (const iovec& run : runs) {
      lengths.push_back(static_cast<std::int64_t>(run.iov_len));
      places.push_back(static_cast<std::byte*>(run.iov_base) - lowest);
    }
    span = highest == nullptr ? 0 : static_cast<std::size_t>(highest - lowest);
  }
  Message request(Frame::request, Call::fast_register);
  request.add(link == nullptr ? 0 : link_of(link).handle);
  request.add(access);
  request.add(far.next_mirror);
  request.add(memory->layout != nullptr);
  request.add(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(lowest) % far::kAlignment));
  request.add_bytes(lowest, span);
  request.add_bytes(lengths.data(), lengths.size() * sizeof(std::int64_t));
  request.add_bytes(places.data(), places.size() * sizeof(std::int64_t));
  Message reply = far.call(request);
  const auto status = reply.take<stria_status_t>();
  if (status != STRIA_OK) return status;
  *key = reply.take<stria_provider_key_t>();
  far.mirrors.push_back({far.next_mirror++, lowest, {lowest, lowest + span}, *key});
  return status;
}

stria_status_t invalidate(stria_device_t* device, const stria_provider_key_t* key) {
  Message request(Frame::request, Call::invalidate);
  request.add(*key);
  const stria_status_t status = device_of(device).status_of(request);
  if (status == STRIA_OK) far::forget(device_of(device).mirrors, *key);
  return status;
}

stria_status_t move(Call call, stria_link_t* link, const stria_payload_t& local,
                    const stria_provider_key_t& key, std::uint64_t offset, stria_completion_t* completion) {
  FarDevice& device = *link_of(link).device;
  Message request = request_on(link, call);
  request.add(key);
  request.add(offset);
  request.add(device.next_transfer);
  request.add(local.length);
  const std::vector<std::byte> bytes = packed(*device.services, local);
  request.add_bytes(bytes.data(), bytes.size());
  device.transfers.push_back({device.next_transfer, local, completion});
  const auto id = device.next_transfer++;
  Message reply = device.call(request);
  const auto status = reply.take<stria_status_t>();
  const std::vector<std::byte> got = reply.take_bytes();
  if (!got.empty()) device.services->unpack(&local, got.data());
  if (status != STRIA_IN_PROGRESS)
    device.transfers.remove_if([&](const Transfer& one) { return one.id == id; });
  return status;
}

stria_status_t get(stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                   std::uint64_t offset, stria_completion_t* completion) {
  return move(Call::get, link, *local, *key, offset, completion);
}
stria_status_t put(stria_link_t* link, const stria_payload_t* local, const stria_provider_key_t* key,
                   std::uint64_t offset, stria_completion_t* completion) {
  return move(Call::put, link, *local, *key, offset, completion);
}

stria_status_t atomic(stria_link_t* link, const stria_remote_atomic_t* atomic,
                      const stria_provider_key_t* key, stria_completion_t* completion) {
  FarDevice& device = *link_of(link).device;
  Message request = request_on(link, Call::atomic);
  request.add(*key);
  request.add(*atomic);
  request.add(device.next_transfer);
  constexpr std::int64_t kWord = sizeof *atomic->result;
  device.transfers.push_back({device.next_transfer, {nullptr, atomic->result, kWord, 0, kWord}, completion});
  const auto id = device.next_transfer++;
  Message reply = device.call(request);
  const auto status = reply.take<stria_status_t>();
  const auto before = reply.take<std::uint64_t>();
  if (status == STRIA_OK) *atomic->result = before;
  if (status != STRIA_IN_PROGRESS)
    device.transfers.remove_if([&](const Transfer& one) { return one.id == id; });
  return status;
}

}  // namespace

void kill_far_device(stria_device_t* device) {
  FarDevice& far = device_of(device);
  far.channel.send({Frame::request, Call::die});
  try {
    far.channel.receive();
  } catch (const std::runtime_error&) {
    return;  // its socket is closed, as its process has ended
  }
  throw std::runtime_error("the far device: it answers instead of dying");
}

const stria_provider_t& far_provider(const stria_provider_t& near) {
  static const stria_group_pio_t pio{sizeof pio, pio_send};
  static const stria_group_keys_t keys{sizeof keys, fast_register, invalidate, send_invalidate};
  static const stria_group_get_t gets{sizeof gets, get};
  static const stria_group_put_t puts{sizeof puts, put};
  static const stria_group_atomic_t atomics{sizeof atomics, atomic};
  static const stria_provider_t table{.size = sizeof(stria_provider_t),
                                      .version = STRIA_PROVIDER_VERSION,
                                      .name = "far",
                                      .description = "devices of another process",
                                      .open = open,
                                      .close = close,
                                      .capabilities = capabilities,
                                      .address = address,
                                      .connect = connect,
                                      .link_limits = link_limits,
                                      .eager_send = eager_send,
                                      .progress = progress,
                                      .check = check,
                                      .event_fd = event_fd,
                                      .arm = arm,
                                      .pio = near.pio == nullptr ? nullptr : &pio,
                                      .keys = near.keys == nullptr ? nullptr : &keys,
                                      .get = near.get == nullptr ? nullptr : &gets,
                                      .put = near.put == nullptr ? nullptr : &puts,
                                      .atomic = near.atomic == nullptr ? nullptr : &atomics};
  return table;
}

}  // namespace stria::contract
