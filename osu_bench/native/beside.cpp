#include "osu_bench/native/beside.hpp"

#include <atomic>
#include <cstring>
#include <thread>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/floor/cores.hpp"

namespace stria::bench {
namespace {

constexpr std::uint64_t kTag = 7;
constexpr double kApartNs = 3000;  // the other thread waits by then

/// What the two threads tell each other, beside the messages.
struct Turns {
  alignas(64) std::atomic<long> posted{0};  // receives
  alignas(64) std::atomic<double> sent_at{0};
  std::atomic<bool> is_last{false};
};

std::byte mark_of(long turn) {
  return static_cast<std::byte>(turn);
}

std::vector<double> receive(Self& self, std::size_t bytes, Turns& turns) {
  std::vector<double> samples;
  const Buffer in(bytes);
  stria_worker_t* worker = self.worker.get();
  for (long turn = 1; !turns.is_last.load(); ++turn) {
    stria_request_t request;
    stria_recv_t recv{};
    recv.base = in.data();
    recv.count = bytes;
    recv.match = {self.endpoint, kTag, 0};
    need(stria_recv(worker, &recv, &request), "receiving");
    turns.posted.store(turn);
    need(stria_request_wait(worker, &request, nullptr), "receiving");
    samples.push_back((now_ns() - turns.sent_at.load()) / 1000);
    if (bytes > 0 && in.data()[bytes - 1] != mark_of(turn)) {
      fmt::print(stderr, "osu_threads: message {} is wrong\n", turn);
      std::exit(1);
    }
  }
  return samples;
}

std::vector<double> send(Self& self, std::size_t bytes, double end, Turns& turns) {
  std::vector<double> samples;
  const Buffer out(bytes);
  for (long turn = 1; !turns.is_last.load(); ++turn) {
    while (turns.posted.load() != turn) std::this_thread::yield();
    std::memset(out.data(), static_cast<int>(mark_of(turn)), bytes);
    const double begin = now_ns() + kApartNs;
    double now = now_ns();
    while (now < begin) now = now_ns();
    if (now >= end) turns.is_last.store(true);
    stria_request_t request;
    stria_send_t message{};
    message.base = out.data();
    message.count = bytes;
    message.tag = kTag;
    now = now_ns();
    turns.sent_at.store(now);
    const stria_status_t sent = stria_send(self.endpoint, &message, &request);
    samples.push_back((now_ns() - now) / 1000);
    need(sent, "sending");
    if (sent == STRIA_IN_PROGRESS) need(stria_request_wait(self.worker.get(), &request, nullptr), "sending");
  }
  return samples;
}

}  // namespace

Beside send_beside_a_wait(Self& self, std::size_t bytes, double row_ms) {
  const std::vector<int> on = cores();
  Turns turns;
  Beside beside;
  std::thread receiver([&] {
    bind_to(on[0]);
    beside.arrival_us = summarise(receive(self, bytes, turns));
  });
  std::thread sender([&] {
    bind_to(on[1 % on.size()]);
    beside.call_us = summarise(send(self, bytes, now_ns() + row_ms * 1e6, turns));
  });
  receiver.join();
  sender.join();
  return beside;
}

}  // namespace stria::bench
