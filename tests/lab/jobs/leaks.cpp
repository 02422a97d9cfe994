// Whether the library gives back what it takes from the device: two workers of this process talk over
// whatever providers are configured, and the kernel's count of queue pairs, regions, queues and connections
// after few rounds is that after many. (It does not count windows; a region with a window left on it cannot
// go, and is counted.)
//   lab_leaks CONNECTIONS RENDEZVOUS
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stria/stria.hpp"

namespace st = stria::api;

namespace {

constexpr std::size_t kLong = 100000;
constexpr int kFew = 20;

/// What the kernel says, but for how many connection ids are in their waiting time after the end.
std::string resources() {
  std::FILE* asked = ::popen("rdma resource show", "r");
  if (asked == nullptr) throw std::runtime_error("rdma resource show does not start");
  std::string said;
  std::array<char, 512> part;
  while (std::fgets(part.data(), part.size(), asked) != nullptr) said += part.data();
  if (::pclose(asked) != 0 || said.find(" qp ") == std::string::npos)
    throw std::runtime_error("rdma resource show says: " + said);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  return said;
}

struct Side {
  Side() : worker(context) {}
  st::Context context;
  st::Worker worker;
  std::optional<st::Endpoint> to;
};

/// A message of `bytes` from one to the other, whole.
void pass(Side& from, Side& to, std::size_t bytes) {
  const std::vector<std::byte> out(bytes, std::byte{0x5a});
  std::vector<std::byte> in(bytes);
  st::Request sending;
  st::Request receiving;
  st::check(to.worker.recv(std::span<std::byte>(in), {.tag = 1}, receiving), "recv");
  st::check(from.to->send(std::span<const std::byte>(out), 1, sending), "send");
  while (sending.active() || receiving.active()) {
    from.worker.progress();
    to.worker.progress();
  }
  st::check(sending.test(), "send");
  st::check(receiving.test(), "recv");
  if (in != out) {
    const auto first = std::mismatch(in.begin(), in.end(), out.begin()).first - in.begin();
    const auto wrong = std::count_if(in.begin(), in.end(), [](std::byte b) { return b != std::byte{0x5a}; });
    throw std::runtime_error(std::to_string(wrong) + " of " + std::to_string(bytes) +
                             " bytes are wrong, the first at " + std::to_string(first));
  }
}

void connect(Side& a, Side& b) {
  a.to.emplace(a.worker, b.worker.address());
  b.to.emplace(b.worker, a.worker.address());
  pass(a, b, 8);
  pass(b, a, kLong);
}

/// Runs `round` often; what is held after a few rounds is what is held after all.
template <class Round>
void steady(const char* what, int rounds, Round&& round) {
  std::string early;
  for (int i = 0; i < rounds; ++i) {
    if (i == kFew) early = resources();
    round();
  }
  std::string late;
  for (int patience = 0; patience < 50; ++patience) {
    late = resources();
    if (late == early) {
      std::printf("%d %s: %s\n", rounds, what, late.c_str());
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  throw std::runtime_error(std::string(what) + " leave behind:\n  after " + std::to_string(kFew) + ": " +
                           early + "\n  after " + std::to_string(rounds) + ": " + late);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::atoi(argv[1]) <= kFew || std::atoi(argv[2]) <= kFew) {
    std::fprintf(stderr, "lab_leaks CONNECTIONS RENDEZVOUS   each more than %d\n", kFew);
    return 2;
  }
  try {
    steady("connections", std::atoi(argv[1]), [] {
      Side a;
      Side b;
      connect(a, b);
      a.to.reset();
      b.to.reset();
    });
    Side a;
    Side b;
    connect(a, b);
    std::printf("by %s, %s\n", a.to->state().provider, a.to->state().path);
    steady("rendezvous", std::atoi(argv[2]), [&] { pass(a, b, kLong); });
    a.to.reset();
    b.to.reset();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lab_leaks: %s\n", error.what());
    return 1;
  }
}
