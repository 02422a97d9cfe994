#include "transport/uct/domain.hpp"

#include <span>
#include <vector>

#include "base/format.hpp"
#include "transport/uct/choosing.hpp"
#include "transport/uct/packets.hpp"
#include "transport/uct/released.hpp"

namespace stria::uct {
namespace {

using Resources = Released<uct_tl_resource_desc_t*, uct_release_tl_resource_list>;
using Components = Released<uct_component_h*, uct_release_component_list>;

/// The memory domains of a component; empty also when UCX does not list them.
std::vector<uct_md_resource_desc_t> domains_of(uct_component_h component) {
  uct_component_attr_t about{};
  about.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &about) != UCS_OK) return {};
  std::vector<uct_md_resource_desc_t> out(about.md_resource_count);
  about.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  about.md_resources = out.data();
  if (out.empty() || uct_component_query(component, &about) != UCS_OK) return {};
  return out;
}

/// Turns UCX's cache of registrations off. The cache would keep a registration after its key was ended, and
/// would watch the process's memory for changes. Domains without such a cache have neither variable.
void leave_out_cache(void* config) noexcept {
  for (const char* const name : {"REG_METHODS", "IB_REG_METHODS"})
    if (uct_config_modify(config, name, "direct") == UCS_OK) return;
}

}  // namespace

Error failure(ucs_status_t status, const std::string& what) {
  return {status == UCS_ERR_UNREACHABLE ? Status::unreachable : Status::io_error,
          fmt::format("uct: {}: {}", what, ucs_status_string(status))};
}

Result<std::unique_ptr<Domain>> Domain::find(const Settings& settings) {
  uct_component_h* list = nullptr;
  unsigned count = 0;
  if (const ucs_status_t status = uct_query_components(&list, &count); status != UCS_OK)
    return failure(status, "UCX lists no components");
  const Components components(list);
  std::unique_ptr<Domain> made(new Domain);
  made->transport_ = settings.transport.empty() ? std::string(kDefaultTransport) : settings.transport;
  for (unsigned i = 0; i < count; ++i) {
    auto found = made->find_in(list[i], settings);
    if (!found) return std::move(found).error();
    if (!*found) continue;
    made->component_ = list[i];
    made->read_abilities();
    return made;
  }
  return Error{
      Status::unsupported,
      fmt::format("uct: UCX has no transport {}{}{} here (STRIA_UCT_TRANSPORT, STRIA_UCT_DEVICE); it has: {}",
                  made->transport_, settings.device.empty() ? "" : " on device ", settings.device,
                  made->device_)};
}

Domain::~Domain() {
  if (handle_ != nullptr) uct_md_close(handle_);
}

/// Looks in the component for a domain with the wanted transport and device. True: handle_ is that domain,
/// opened. False: the resources that were found are appended to `device_`, for find()'s error message.
Result<bool> Domain::find_in(uct_component_h component, const Settings& settings) {
  for (const uct_md_resource_desc_t& domain : domains_of(component)) {
    uct_md_config_t* config = nullptr;
    if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) continue;
    const UctConfig held(config);
    leave_out_cache(config);
    if (uct_md_open(component, domain.md_name, config, &handle_) != UCS_OK) {
      handle_ = nullptr;
      continue;
    }
    uct_tl_resource_desc_t* list = nullptr;
    unsigned count = 0;
    if (uct_md_query_tl_resources(handle_, &list, &count) != UCS_OK || list == nullptr) count = 0;
    const Resources resources(list);
    const std::span<const uct_tl_resource_desc_t> all(list, count);
    if (const int index = choose_resource(all, transport_, settings.device); index >= 0) {
      const uct_tl_resource_desc_t& chosen = all[static_cast<std::size_t>(index)];
      device_ = chosen.dev_name;
      type_ = chosen.dev_type;
      return true;
    }
    list_resources(all, device_);
    uct_md_close(handle_);
    handle_ = nullptr;
  }
  return false;
}

void Domain::read_abilities() noexcept {
  uct_md_attr_t about{};
  if (uct_md_query(handle_, &about) != UCS_OK) {
    needs_registration_ = true;
    return;
  }
  needs_registration_ = (about.cap.flags & UCT_MD_FLAG_NEED_MEMH) != 0;
  constexpr std::uint64_t kKeys = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_RKEY;
  if ((about.cap.flags & kKeys) == kKeys && about.rkey_packed_size <= kUcxKeyMost)
    key_bytes_ = static_cast<std::uint32_t>(about.rkey_packed_size);
}

uct_mem_h Domain::add(const void* memory, std::uint64_t bytes, Use use, bool insist) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  if (!insist && !refused_.allow(begin, begin + bytes, true)) return nullptr;
  constexpr unsigned kLocal =
      UCT_MD_MEM_ACCESS_LOCAL_READ | UCT_MD_MEM_ACCESS_LOCAL_WRITE | UCT_MD_MEM_FLAG_HIDE_ERRORS;
  const unsigned flags = use == Use::remote ? UCT_MD_MEM_ACCESS_ALL | kLocal : kLocal;
  uct_mem_h out = nullptr;
  if (uct_md_mem_reg(handle_, const_cast<void*>(memory), bytes, flags, &out) != UCS_OK) {
    refused_.refused(begin, begin + bytes, true);
    return nullptr;
  }
  refused_.worked(begin, begin + bytes, true);
  return out;
}

bool Domain::write_key(uct_mem_h memory, void* key) noexcept {
  return uct_md_mkey_pack(handle_, memory, key) == UCS_OK;
}

bool Domain::read_key(const void* key, uct_rkey_bundle_t& out) noexcept {
  return uct_rkey_unpack(component_, key, &out) == UCS_OK;
}

}  // namespace stria::uct
