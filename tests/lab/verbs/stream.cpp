// Numbered messages from one guest to the other, for what happens to them when the cable is out or the peer
// is gone.
//   lab_stream serve              takes one connection, expects every number in order; the sender closes
//   lab_stream send SECONDS       sends one about every millisecond, waits for each; says how it ended:
//                                 "sent N" with 0, "failed after S s: WHY" with 3
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/lab/verbs/pair.hpp"

namespace stria::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint16_t kPort = 7723;
constexpr std::size_t kMessage = 4096;
constexpr std::size_t kReceives = 32;
constexpr std::uint64_t kLast = ~std::uint64_t{0};
constexpr int kResolveMs = 5000;
// 4.096 µs * 2^19 = 2.1 s until a packet is sent again: with 6 retries 15 s until the peer counts as gone.
constexpr std::uint8_t kAckTimeout = 19;

void set_patience(rdma_cm_id* id) {
  std::uint8_t exponent = kAckTimeout;
  rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof exponent);
}

double since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

void must(bool good, const char* step) {
  if (!good) throw std::runtime_error(std::string(step) + ": " + std::strerror(errno));
}

sockaddr_in address_of(const char* variable) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  const char* text = std::getenv(variable);
  must(text != nullptr && inet_pton(AF_INET, text, &address.sin_addr) == 1, variable);
  return address;
}

/// Waits for a completion, or the news that the connection is gone: a queue pair that died meanwhile may have
/// swallowed the work request.
template <class Wait>
Ended wait_for(rdma_cm_id* id, Wait&& wait, std::string& why) {
  constexpr int kRounds = 300;  // of 100 ms
  for (int round = 0; round < kRounds; ++round) {
    const Ended ended = wait(100);
    why = ended.name();
    if (ended.status >= 0) return ended;
    pollfd news{id->channel->fd, POLLIN, 0};
    rdma_cm_event* event = nullptr;
    if (poll(&news, 1, 0) == 1 && rdma_get_cm_event(id->channel, &event) == 0) {
      const rdma_cm_event_type what = event->event;
      rdma_ack_cm_event(event);
      // A neighbour that does not answer is no end: the cable may come back before the retries are over.
      if (what == RDMA_CM_EVENT_UNREACHABLE) continue;
      why = rdma_event_str(what);
      return {};
    }
  }
  return {};
}

/// Waits until the peer has closed the connection. The side that sent the last message closes: were it the
/// receiver, its end could reach siw's sender while the message's own transmission is still returning, and
/// the message that arrived would be reported as failed.
void wait_for_close(rdma_cm_id* id) {
  constexpr int kPatienceMs = 10000;
  pollfd news{id->channel->fd, POLLIN, 0};
  must(poll(&news, 1, kPatienceMs) == 1, "the sender closes");
  rdma_cm_event* event = nullptr;
  must(rdma_get_cm_event(id->channel, &event) == 0, "rdma_get_cm_event");
  rdma_ack_cm_event(event);
}

std::uint64_t& number_in(Region& memory, std::size_t slot) {
  return *reinterpret_cast<std::uint64_t*>(memory.data() + slot * kMessage);
}

int serve() {
  rdma_cm_id* listener = nullptr;
  sockaddr_in address = address_of("STRIA_LAB_ADDRESS");
  must(rdma_create_id(nullptr, &listener, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  must(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&address)) == 0, "rdma_bind_addr");
  set_patience(listener);
  must(rdma_listen(listener, 1) == 0, "rdma_listen");
  std::puts("listening");
  std::fflush(stdout);
  rdma_cm_id* asked = nullptr;
  must(rdma_get_request(listener, &asked) == 0, "rdma_get_request");
  int result = 0;
  {
    End end(asked, Options{}, nullptr);
    Region memory(asked->pd, kMessage * kReceives, IBV_ACCESS_LOCAL_WRITE, std::byte{0});
    for (std::size_t i = 0; i < kReceives; ++i)
      must(end.post_receive(memory.piece(i * kMessage, kMessage)) == 0, "receive");
    rdma_conn_param given = connection_parameters();
    must(rdma_accept(asked, &given) == 0, "rdma_accept");
    for (std::uint64_t wanted = 0;; ++wanted) {
      std::string why;
      const Ended got = wait_for(
          asked, [&](int ms) { return end.received(ms); }, why);
      const std::uint64_t number = number_in(memory, wanted % kReceives);
      if (got.status != IBV_WC_SUCCESS || (number != wanted && number != kLast)) {
        std::printf("instead of number %llu: %s, %llu\n", static_cast<unsigned long long>(wanted),
                    why.c_str(), static_cast<unsigned long long>(number));
        result = 3;
        break;
      }
      if (number == kLast) {
        std::printf("received %llu\n", static_cast<unsigned long long>(wanted));
        wait_for_close(asked);
        break;
      }
      must(end.post_receive(memory.piece(wanted % kReceives * kMessage, kMessage)) == 0, "receive");
    }
  }
  rdma_destroy_id(listener);
  return result;
}

int send(double seconds) {
  rdma_cm_id* id = nullptr;
  sockaddr_in target = address_of("STRIA_LAB_PEER");
  must(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  set_patience(id);
  must(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&target), kResolveMs) == 0,
       "rdma_resolve_addr");
  must(rdma_resolve_route(id, kResolveMs) == 0, "rdma_resolve_route");
  End end(id, Options{}, nullptr);
  Region memory(id->pd, kMessage, 0, std::byte{0});
  rdma_conn_param given = connection_parameters();
  must(rdma_connect(id, &given) == 0, "rdma_connect");
  ibv_qp_attr made{};
  ibv_qp_init_attr asked{};
  must(ibv_query_qp(end.qp(), &made, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT, &asked) == 0, "ibv_query_qp");
  std::printf("flowing: acknowledgement timeout %d, retries %d\n", made.timeout, made.retry_cnt);
  std::fflush(stdout);
  const Clock::time_point began = Clock::now();
  for (std::uint64_t number = 0;; ++number) {
    const bool last = since(began) > seconds;
    number_in(memory, 0) = last ? kLast : number;
    const Clock::time_point posted = Clock::now();
    must(end.send(memory.piece(0, kMessage)) == 0, "send");
    std::string why;
    const Ended ended = wait_for(
        id, [&](int ms) { return end.sent(ms); }, why);
    if (ended.status != IBV_WC_SUCCESS) {
      std::printf("failed after %.1f s: %s\n", since(posted), why.c_str());
      return 3;
    }
    if (last) {
      std::printf("sent %llu\n", static_cast<unsigned long long>(number));
      rdma_disconnect(id);
      return 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace
}  // namespace stria::lab

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "serve" && argc == 2) return stria::lab::serve();
    if (what == "send" && argc == 3) return stria::lab::send(std::atof(argv[2]));
    std::fputs("lab_stream serve | send SECONDS\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lab_stream: %s\n", error.what());
    return 1;
  }
}
