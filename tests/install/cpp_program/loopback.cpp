// A program outside the tree, in C++: a composite layout out, plain bytes in, and an error that says what was
// wrong.
#include <array>
#include <cstdio>
#include <cstring>
#include <stria/stria.hpp>

namespace st = stria::api;

struct Particle {
  int id;
  double position[3];
  char mark;
};

int main() try {
  const st::Layout shape =
      st::Layout::resized(st::Layout::composite(std::array<st::Layout::Part, 2>{
                              st::Layout::Part{1, offsetof(Particle, id), st::Layout::of<int>()},
                              st::Layout::Part{3, offsetof(Particle, position), st::Layout::of<double>()}}),
                          0, sizeof(Particle));
  std::vector<Particle> particles(100);
  for (int i = 0; i < 100; ++i)
    particles[static_cast<std::size_t>(i)] = {i, {i + 0.25, i + 0.5, i + 0.75}, 'x'};
  constexpr std::size_t kPacked = sizeof(int) + 3 * sizeof(double);
  std::vector<std::byte> arrived(particles.size() * kPacked);

  st::Context context;
  st::Worker worker(context);
  st::Endpoint self(worker, worker.address());
  st::Request sending;
  st::Request receiving;
  st::Info info{};
  st::check(worker.recv(arrived, {.tag = 9}, receiving), "recv");
  st::check(self.send({particles.data(), shape, particles.size()}, 9, sending, {.immediate = 3}), "send");
  st::check(worker.wait(receiving, &info), "wait");
  st::check(worker.wait(sending), "wait");

  int wrong = info.length == arrived.size() && info.immediate == 3 ? 0 : 1;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    wrong += std::memcmp(&arrived[i * kPacked], &particles[i].id, sizeof(int)) != 0;
    wrong += std::memcmp(&arrived[i * kPacked + sizeof(int)], particles[i].position, 3 * sizeof(double)) != 0;
  }
  try {
    st::Layout::contiguous(-1, shape);
    ++wrong;
  } catch (const st::Error& error) {
    wrong += error.status() != STRIA_ERR_INVALID || std::strlen(error.what()) < 30;
  }
  std::printf("stria %s: %s\n", st::version().c_str(), wrong ? "WRONG" : "the particles arrived");
  return wrong != 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
