// stria.h: status, configuration, context, mappable memory, memory that goes away.
#include <fmt/format.h>

#include <deque>
#include <mutex>

#include "tag/api/builtins.hpp"
#include "tag/api/convert.hpp"
#include "tag/mappable.hpp"
#include "transport/memory_hooks.hpp"

using namespace stria;
using namespace stria::tag;

namespace stria::tag {
namespace {
thread_local char last_error_text[kLastErrorBytes] = "";
}  // namespace
void set_last_error(std::string_view text) noexcept {
  last_error_text[text.copy(last_error_text, sizeof(last_error_text) - 1)] = '\0';
}
stria_status_t refuse_null(const char* function, std::initializer_list<Argument> arguments) noexcept {
  for (const Argument& argument : arguments)
    if (argument.value == nullptr) return refuse(Status::invalid, "{}: {} is NULL", function, argument.name);
  return STRIA_ERR_INVALID;
}
const char* last_error() noexcept {
  return last_error_text;
}
}  // namespace stria::tag

namespace {
constexpr const char* kVersion = STRIA_PROJECT_VERSION;

/// What stria_config_get shows: a snapshot that stria_config_set refreshes.
struct ConfigView {
  std::mutex mutex;
  std::deque<Config> snapshots;  // texts handed out stay valid
  bool stale = true;
};
ConfigView& config_view() {
  static auto* view = new ConfigView;
  return *view;
}
}  // namespace

extern "C" {

const char* stria_status_string(stria_status_t status) {
  return to_string(transport::from_c(status)).data();
}
const char* stria_last_error(void) {
  return last_error();
}
const char* stria_version(void) {
  return kVersion;
}

size_t stria_config_count(void) {
  return kVarCount;
}

stria_status_t stria_config_get(size_t index, stria_config_variable_t* out) {
  return at_boundary([&] {
    if (index >= kVarCount || out == nullptr)
      return refuse(Status::invalid, "configuration variable {} of {}", index, kVarCount);
    ConfigView& view = config_view();
    const std::lock_guard lock(view.mutex);
    if (view.stale) {
      auto config = Config::from_environment();
      if (!config) return refuse(config.error());
      view.snapshots.push_back(*std::move(config));
      view.stale = false;
    }
    const VarSpec& spec = config_table()[index];
    const VarValue& value = view.snapshots.back().value(index);
    *out = {spec.name, spec.default_value, spec.unit, spec.meaning, value.text.c_str(), value.origin.c_str()};
    return STRIA_OK;
  });
}

stria_status_t stria_config_set(const char* name, const char* value, const char* origin) {
  return at_boundary([&] {
    if (any_null(name, value)) return refuse_null("stria_config_set", {{"name", name}, {"value", value}});
    auto done = set_config_override(name, value, origin == nullptr ? "application" : origin);
    if (!done) return refuse(done.error());
    ConfigView& view = config_view();
    const std::lock_guard lock(view.mutex);
    view.stale = true;
    return STRIA_OK;
  });
}

stria_status_t stria_context_open(const stria_context_params_t* params, stria_context_t** out) {
  return at_boundary([&] {
    if (out == nullptr) return refuse_null("stria_context_open", {{"out", out}});
    *out = nullptr;
    if (params != nullptr && params->size != sizeof(*params))
      return refuse(Status::invalid, "stria_context_params_t of {} bytes, this library knows {}",
                    params->size, sizeof(*params));
    auto context = open_context(params, builtin_providers());
    if (!context) return refuse(context.error());
    *out = reinterpret_cast<stria_context_t*>(context->release());
    return STRIA_OK;
  });
}

void stria_context_close(stria_context_t* context) {
  if (context == nullptr) return;
  STRIA_CHECK(as_context(context)->workers == 0, "a context is closed after its workers");
  delete as_context(context);
}

stria_status_t stria_mem_alloc(stria_context_t* context, uint64_t bytes, void** out) {
  return at_boundary([&] {
    if (any_null(context, out)) return refuse_null("stria_mem_alloc", {{"context", context}, {"out", out}});
    for (const stria_provider_t* provider : as_context(context)->providers) {
      char error[512] = "";
      const stria_status_t status = provider->mem_alloc(bytes, out, error, sizeof(error));
      if (status == STRIA_OK) {
        tag::Mappable::add(*out, bytes);
        return status;
      }
      if (status != STRIA_ERR_UNSUPPORTED)
        return refuse(transport::from_c(status), "{} bytes of memory that peers can map: {}", bytes, error);
    }
    return refuse(Status::unsupported, "no provider in use has memory that peers can map");
  });
}

stria_status_t stria_mem_free(stria_context_t* context, void* memory) {
  if (memory == nullptr) return STRIA_OK;
  if (context == nullptr) return refuse_null("stria_mem_free", {{"context", context}});
  for (const stria_provider_t* provider : as_context(context)->providers) {
    if (provider->mem_free(memory) == STRIA_OK) return STRIA_OK;
  }
  return refuse(Status::invalid, "this memory was not allocated by stria_mem_alloc");
}

stria_status_t stria_set_memory_hooks(const stria_memory_hooks_t* hooks) {
  return at_boundary([&] {
    const auto set = transport::set_memory_hooks(hooks);
    return set ? STRIA_OK : refuse(set.error());
  });
}

void stria_memory_released(const void* memory, uint64_t bytes) {
  transport::memory_released(memory, bytes);
}

}  // extern "C"
