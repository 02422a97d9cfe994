#include "tests/contract/subject.hpp"

#include <cstdlib>
#include <stdexcept>

#include "tests/contract/far_provider.hpp"
#include "transport/fake/fake.hpp"
#include "transport/loader.hpp"
#ifdef STRIA_TEST_SHM
#include "transport/shm/shm.hpp"
#endif

namespace stria::contract {
namespace {

std::shared_ptr<void> nowhere() {
  return nullptr;
}

#ifdef STRIA_TEST_SHM
/// Peers are taken for far ones: other ways for the same packets, which a machine may take or not.
std::shared_ptr<void> far_caches() {
  constexpr const char* kName = "STRIA_SHM_DISTANCE";
  const char* const given = std::getenv(kName);
  const std::string before = given == nullptr ? "auto" : given;
  ::setenv(kName, "far", 1);
  return {nullptr, [before](void*) { ::setenv(kName, before.c_str(), 1); }};
}
#endif

Subject loaded_subject(const std::string& name) {
  const auto load = [name]() -> const stria_provider_t& {
    const char* path = std::getenv("STRIA_PROVIDER_PATH");
    std::vector<const stria_provider_t*> builtins;
#ifdef STRIA_TEST_SHM
    builtins.push_back(&shm::shm_provider());
#endif
    auto found = transport::find_provider(name, path == nullptr ? "" : path, builtins);
    if (!found) throw std::runtime_error(found.error().context);
    return *(*found)->table;
  };
  return {"loaded_" + name, load, nowhere, nullptr, false};
}

}  // namespace

Subject fake_subject(const char* label, const fake::FabricOptions& options) {
  return {label, []() -> const stria_provider_t& { return fake::fake_provider(); },
          [options] { return std::make_shared<fake::UseFabric>(fake::make_fabric(options)); }, nullptr,
          false};
}

std::vector<Subject> subjects() {
  std::vector<Subject> list;
  if (const char* only = std::getenv("STRIA_TEST_PROVIDER")) {
    list.push_back(loaded_subject(only));
    if (std::getenv("STRIA_TEST_FAR") == nullptr) return list;
    const char* which = std::getenv("STRIA_TEST_FAR_WORKERS");
    list.front().label = "far_" + std::string(only);
    list.front().far = &far_provider(list.front().table());
    list.front().far_is_odd = which != nullptr && std::string_view(which) == "odd";
    return list;
  }
  list.push_back(fake_subject("fake_prompt", {.delay = 0, .queue = 64}));
  list.push_back(fake_subject("fake_rough", {.seed = 11,
                                             .delay = 9,
                                             .queue = 5,
                                             .no_resource_percent = 40,
                                             .connect_delay = 7,
                                             .async_percent = 60}));
  list.push_back(fake_subject("fake_bare", {.seed = 12,
                                            .delay = 3,
                                            .death_seen_by_check_only = true,
                                            .pio = false,
                                            .get = false,
                                            .put = false,
                                            .atomics = false,
                                            .fast_register = false,
                                            .send_invalidate = false,
                                            .event_fd = false,
                                            .eager_max = 100}));
  list.push_back(fake_subject("fake_resident", {.seed = 14,
                                                .delay = 3,
                                                .async_percent = 30,
                                                .keeps = true,
                                                .maps = true,
                                                .grows_percent = 60,
                                                .far_percent = 50,
                                                .far_changes_percent = 3}));
#ifdef STRIA_TEST_SHM
  const auto shm = []() -> const stria_provider_t& { return shm::shm_provider(); };
  list.push_back({"shm", shm, nowhere, nullptr, false});
  list.push_back({"shm_far", shm, far_caches, nullptr, false});
#endif
  return list;
}

std::vector<Subject> subjects_with(bool (*declares)(const stria_provider_t& table)) {
  std::vector<Subject> list = subjects();
  std::erase_if(list, [declares](const Subject& one) {
    return !declares(one.table()) || (one.far != nullptr && !declares(*one.far));
  });
  return list;
}

std::ostream& operator<<(std::ostream& out, const Subject& subject) {
  return out << subject.label;
}

std::vector<Path> Contract::paths(const Peer& peer, stria_link_t* link) {
  std::vector<Path> list;
  if (peer.has(STRIA_CAP_PIO) && peer.limits(link).pio_max > 0) list.push_back(Path::pio);
  list.push_back(Path::buffered);
  return list;
}

std::size_t Contract::limit(const Peer& peer, stria_link_t* link, Path path) {
  return path == Path::pio ? peer.limits(link).pio_max : peer.limits(link).eager_max;
}

}  // namespace stria::contract
