#include "osu_bench/native/native_peer.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "osu_bench/common/machine.hpp"

namespace stria::bench {

void give_up(const char* call, stria_status_t status) {
  std::fprintf(stderr, "%s: %s (%s)\n", call, stria_status_string(status), stria_last_error());
  ::_exit(1);
}

NativePeer::NativePeer(int rank, Team& team) : rank_(rank), team_(team) {
  check("stria_context_open", stria_context_open(nullptr, &context_));
  const stria_worker_params_t worker = {sizeof worker, STRIA_THREAD_SINGLE};
  check("stria_worker_open", stria_worker_open(context_, &worker, &worker_));
  std::string address(STRIA_ADDRESS_MAX, '\0');
  std::size_t bytes = address.size();
  check("stria_worker_address", stria_worker_address(worker_, address.data(), &bytes));
  address.resize(bytes);
  const std::vector<std::string> all = team_.exchange(rank_, address);
  const int half = team_.size() / 2;
  const std::string& partner = all[static_cast<std::size_t>(rank_ < half ? rank_ + half : rank_ - half)];
  const stria_endpoint_params_t endpoint = {sizeof endpoint, partner.data(), partner.size(),
                                            STRIA_CLASS_LOW_LATENCY, nullptr};
  check("stria_endpoint_open", stria_endpoint_open(worker_, &endpoint, &endpoint_));
  team_.barrier();
}

NativePeer::~NativePeer() {
  team_.barrier();  // a partner may still be draining what this one sent
  stria_endpoint_close(endpoint_);
  stria_worker_close(worker_);
  stria_context_close(context_);
}

NativePeer::Type NativePeer::make_type(const Recipe& recipe) {
  std::vector<Type> owned;
  std::vector<const stria_layout_t*> children;
  for (const Recipe& child : recipe.children()) {
    owned.push_back(make_type(child));
    children.push_back(owned.back().get());
  }
  const auto count = static_cast<std::int64_t>(recipe.displacements().size());
  const std::vector<std::int64_t> ones(recipe.displacements().size(), 1);
  stria_layout_t* made = nullptr;
  stria_status_t status = STRIA_ERR_INVALID;
  switch (recipe.kind()) {
    case Recipe::Kind::int8:
    case Recipe::Kind::int32:
    case Recipe::Kind::float32:
    case Recipe::Kind::float64:
      status = stria_layout_bytes(recipe.size(), &made);
      break;
    case Recipe::Kind::contiguous:
      status = stria_layout_contiguous(recipe.count(), children[0], &made);
      break;
    case Recipe::Kind::vector:
      status = stria_layout_vector(recipe.count(), recipe.blocklen(), recipe.stride(), children[0], &made);
      break;
    case Recipe::Kind::indexed:
      status = stria_layout_indexed(count, recipe.lengths().data(), recipe.displacements().data(),
                                    children[0], &made);
      break;
    case Recipe::Kind::composite:
      status =
          stria_layout_composite(count, ones.data(), recipe.displacements().data(), children.data(), &made);
      break;
    case Recipe::Kind::resized:
      status = stria_layout_resized(children[0], 0, recipe.stride(), &made);
      break;
  }
  check("the constructor of a layout", status);
  return Type(made);
}

Buffer NativePeer::allocate(std::size_t bytes) {
  void* memory = nullptr;
  check("stria_mem_alloc", stria_mem_alloc(context_, bytes, &memory));
  return {static_cast<std::byte*>(memory), bytes,
          [context = context_](std::byte* owned) { static_cast<void>(stria_mem_free(context, owned)); }};
}

long NativePeer::broadcast(long number) {
  return std::stol(team_.exchange(rank_, std::to_string(number)).front());
}

std::vector<double> NativePeer::gather(double mine) {
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  std::vector<double> all;
  for (const std::string& one : team_.exchange(rank_, bytes)) {
    double value = 0;
    std::memcpy(&value, one.data(), sizeof value);
    all.push_back(value);
  }
  if (rank_ != 0) all.clear();
  return all;
}

Environment NativePeer::environment() {
  // A first message each way, so that the endpoint knows its path.
  char byte = 0;
  if (rank_ < team_.size() / 2) {
    send(&byte, 1);
    recv(&byte, 1);
  } else {
    recv(&byte, 1);
    send(&byte, 1);
  }
  stria_endpoint_state_t state = {};
  state.size = sizeof state;
  check("stria_endpoint_info", stria_endpoint_info(endpoint_, &state));
  const std::vector<std::string> bound = team_.exchange(rank_, pinning());
  std::string pinned;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    pinned += (i == 0 ? "rank " : "; rank ") + std::to_string(i) + " " + bound[i];
  }
  Environment environment = {{"stria", stria_version()},
                             {"provider", std::string(state.provider) + ", " + state.path}};
  if (state.fallback[0] != '\0') environment.emplace_back("fallback", state.fallback);
  environment.emplace_back("pio_mtu", std::to_string(state.pio_mtu));
  environment.emplace_back("eager_limit", std::to_string(state.eager_limit));
  environment.emplace_back("pinning", pinned);
  return environment;
}

}  // namespace stria::bench
