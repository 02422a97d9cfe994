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

/// Opens a memory domain, with UCX's cache of registrations off. Null: UCX does not open it.
uct_md_h open_domain(uct_component_h component, const char* name) noexcept {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return nullptr;
  const UctConfig held(config);
  leave_out_cache(config);
  uct_md_h out = nullptr;
  return uct_md_open(component, name, config, &out) == UCS_OK ? out : nullptr;
}

/// The transports and devices of a memory domain; empty also when UCX does not list them.
std::vector<uct_tl_resource_desc_t> resources_of(uct_md_h domain) {
  uct_tl_resource_desc_t* list = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &list, &count) != UCS_OK || list == nullptr) return {};
  const Resources held(list);
  return {list, list + count};
}

}  // namespace

Error failure(ucs_status_t status, const std::string& what) {
  return {status == UCS_ERR_UNREACHABLE ? Status::unreachable : Status::io_error,
          fmt::format("uct: {}: {}", what, ucs_status_string(status))};
}

Result<std::vector<uct_tl_resource_desc_t>> Domain::list_all() {
  uct_component_h* list = nullptr;
  unsigned count = 0;
  if (const ucs_status_t status = uct_query_components(&list, &count); status != UCS_OK)
    return failure(status, "UCX lists no components");
  const Components components(list);
  std::vector<uct_tl_resource_desc_t> out;
  for (const uct_component_h component : std::span(list, count))
    for (const uct_md_resource_desc_t& domain : domains_of(component)) {
      const uct_md_h opened = open_domain(component, domain.md_name);
      if (opened == nullptr) continue;
      const std::vector<uct_tl_resource_desc_t> all = resources_of(opened);
      out.insert(out.end(), all.begin(), all.end());
      uct_md_close(opened);
    }
  return out;
}

Result<std::unique_ptr<Domain>> Domain::find(const Wanted& wanted) {
  uct_component_h* list = nullptr;
  unsigned count = 0;
  if (const ucs_status_t status = uct_query_components(&list, &count); status != UCS_OK)
    return failure(status, "UCX lists no components");
  const Components components(list);
  std::unique_ptr<Domain> made(new Domain);
  made->transport_ = wanted.transport;
  for (unsigned i = 0; i < count; ++i) {
    if (!made->find_in(list[i], wanted)) continue;
    made->component_ = list[i];
    made->read_abilities();
    return made;
  }
  return Error{
      Status::unsupported,
      fmt::format("uct: UCX has no transport {}{}{} here (STRIA_UCT_TRANSPORT, STRIA_UCT_DEVICE); it has: {}",
                  made->transport_, wanted.device.empty() ? "" : " on device ", wanted.device,
                  made->device_)};
}

Domain::~Domain() {
  if (handle_ != nullptr) uct_md_close(handle_);
}

/// Looks in the component for a domain with the wanted transport and device. True: handle_ is that domain,
/// opened. False: the resources that were found are appended to `device_`, for find()'s error message.
bool Domain::find_in(uct_component_h component, const Wanted& wanted) {
  for (const uct_md_resource_desc_t& domain : domains_of(component)) {
    handle_ = open_domain(component, domain.md_name);
    if (handle_ == nullptr) continue;
    const std::vector<uct_tl_resource_desc_t> all = resources_of(handle_);
    if (const int index = choose_resource(all, transport_, wanted.device); index >= 0) {
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
