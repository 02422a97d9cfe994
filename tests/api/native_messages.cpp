// Messages of the library itself from one worker to another of the same process, so that nobody waits and the
// instructions of stria_send(), stria_recv(), stria_worker_progress() and stria_request_test() can be
// counted.
//   native_messages posted|there BYTES [shared]
//   posted   windows of 32, receives first
//   there    every message is in the window of its source when its receive looks for it
//   shared   the workers are open for several threads
// Prints how many messages were counted.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stria/stria.h"

/// callgrind collects inside of this function alone.
extern "C" [[gnu::noinline]] void stria_counted(void (*work)(void*), void* argument) {
  work(argument);
  asm volatile("" ::: "memory");
}

namespace {

constexpr unsigned kWindow = 32;
constexpr unsigned kWarmUp = 100;  // windows: connected, every bit of code touched
constexpr unsigned kRounds = 200;  // windows that are counted

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s: %s\n", what, stria_last_error());
  std::exit(1);
}

stria_worker_t* open_worker(stria_context_t* context, stria_thread_mode_t mode) {
  stria_worker_params_t params{};
  params.size = sizeof(params);
  params.thread_mode = mode;
  stria_worker_t* worker = nullptr;
  expect(stria_worker_open(context, &params, &worker) == STRIA_OK, "stria_worker_open");
  return worker;
}

stria_endpoint_t* open_endpoint(stria_worker_t* from, stria_worker_t* to) {
  std::array<char, STRIA_ADDRESS_MAX> address;
  std::size_t bytes = address.size();
  expect(stria_worker_address(to, address.data(), &bytes) == STRIA_OK, "stria_worker_address");
  stria_endpoint_params_t params{};
  params.size = sizeof(params);
  params.address = address.data();
  params.address_bytes = bytes;
  stria_endpoint_t* endpoint = nullptr;
  expect(stria_endpoint_open(from, &params, &endpoint) == STRIA_OK, "stria_endpoint_open");
  return endpoint;
}

class Messages {
 public:
  Messages(std::size_t bytes, stria_thread_mode_t mode)
      : bytes_(bytes), from_(bytes, 3), to_(bytes * kWindow) {
    expect(stria_context_open(nullptr, &context_) == STRIA_OK, "stria_context_open");
    sender_ = open_worker(context_, mode);
    receiver_ = open_worker(context_, mode);
    there_ = open_endpoint(sender_, receiver_);
    back_ = open_endpoint(receiver_, sender_);
    // Both know each other before a receive can name its source, and have a window before anybody looks.
    expect(stria_endpoint_connect(there_) >= STRIA_OK && stria_endpoint_connect(back_) >= STRIA_OK,
           "connect");
    for (int i = 0; i < 100; ++i) {
      (void)stria_worker_progress(sender_);
      (void)stria_worker_progress(receiver_);
    }
  }
  ~Messages() {
    stria_worker_close(sender_);
    stria_worker_close(receiver_);
    stria_context_close(context_);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void posted() {
    for (unsigned i = 0; i < kWindow; ++i)
      expect(receive(i, 0) == STRIA_IN_PROGRESS, "a receive that is posted");
    for (unsigned i = 0; i < kWindow; ++i) send(i);
    unsigned ended = 0;
    while (ended < kWindow) {
      (void)stria_worker_progress(receiver_);
      while (ended < kWindow && test(ended)) ++ended;
    }
    take_credit();
  }
  void there() {
    for (unsigned i = 0; i < kWindow; ++i) {
      send(i);
      expect(receive(i, STRIA_RECV_LOOK) == STRIA_OK && test(i), "a receive that looks");
    }
    take_credit();
  }
  bool right() const {
    for (const char byte : to_)
      if (byte != 3) return false;
    return true;
  }

 private:
  void send(unsigned i) {
    stria_send_t send{};
    send.base = from_.data();
    send.count = bytes_;
    send.tag = 7;
    expect(stria_send(there_, &send, &sending_[i]) == STRIA_OK, "a send that is over at once");
  }
  stria_status_t receive(unsigned i, unsigned flags) {
    stria_recv_t recv{};
    recv.base = &to_[i * bytes_];
    recv.count = bytes_;
    recv.match = {back_, 7, 0};
    recv.flags = flags;
    return stria_recv(receiver_, &recv, &receiving_[i]);
  }
  /// What the receiver grants comes as a packet to the sender's worker.
  void take_credit() { (void)stria_worker_progress(sender_); }
  bool test(unsigned i) {
    stria_info_t info;
    const stria_status_t status = stria_request_test(&receiving_[i], &info);
    expect(status == STRIA_IN_PROGRESS ||
               (status == STRIA_OK && info.status == STRIA_OK && info.received == bytes_),
           "an outcome");
    return status == STRIA_OK;
  }

  const std::size_t bytes_;
  std::vector<char> from_, to_;
  std::array<stria_request_t, kWindow> sending_, receiving_;
  stria_context_t* context_ = nullptr;
  stria_worker_t *sender_ = nullptr, *receiver_ = nullptr;
  stria_endpoint_t *there_ = nullptr, *back_ = nullptr;
};

struct Run {
  Messages& messages;
  bool posted;
  unsigned rounds;

  static void go(void* run) {
    auto& [messages, posted, rounds] = *static_cast<Run*>(run);
    for (unsigned i = 0; i < rounds; ++i) {
      if (posted)
        messages.posted();
      else
        messages.there();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool shared = argc == 4 && std::strcmp(argv[3], "shared") == 0;
  const bool posted = argc > 1 && std::strcmp(argv[1], "posted") == 0;
  if (argc != 3 + shared || (!posted && std::strcmp(argv[1], "there") != 0)) {
    std::fputs("usage: native_messages posted|there BYTES [shared]\n", stderr);
    return 2;
  }
  Messages messages(static_cast<std::size_t>(std::atoi(argv[2])),
                    shared ? STRIA_THREAD_MULTIPLE : STRIA_THREAD_SINGLE);
  Run run{messages, posted, kWarmUp};
  Run::go(&run);
  run.rounds = kRounds;
  stria_counted(&Run::go, &run);
  std::printf("messages %u\n", kRounds * kWindow);
  return messages.right() ? 0 : 1;
}
