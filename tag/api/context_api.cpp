// stria.h: status, configuration, context, mappable memory, memory that goes away.
#include <deque>
#include <mutex>

#include "base/format.hpp"
#include "base/log.hpp"
#include "tag/api/builtins.hpp"
#include "tag/api/convert.hpp"
#include "tag/known_variables.hpp"
#include "tag/mappable.hpp"
#include "transport/memory_hooks.hpp"

using namespace stria;
using namespace stria::tag;

namespace {
constexpr const char* kVersion = STRIA_PROJECT_VERSION;

/// What stria_config_get() shows: a snapshot of the configuration, which the next call renews after
/// stria_config_set().
struct ConfigView {
  std::mutex mutex;
  VariableGroups variables;
  std::deque<Config> snapshots;  // all are kept, as texts that were handed out stay valid
  bool stale = true;

  std::size_t count() {
    if (stale) variables = known_variables(builtin_providers());
    std::size_t all = 0;
    for (const Variables group : variables) all += group.size();
    return all;
  }
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
stria_status_t stria_last_error_status(void) {
  return transport::to_c(last_error_status());
}
const char* stria_version(void) {
  return kVersion;
}

size_t stria_config_count(void) {
  size_t count = 0;
  (void)at_boundary("stria_config_count", [&] {
    ConfigView& view = config_view();
    const std::lock_guard lock(view.mutex);
    count = view.count();
    return STRIA_OK;
  });
  return count;
}

stria_status_t stria_config_get(size_t index, stria_config_variable_t* out) {
  return at_boundary("stria_config_get", [&] {
    if (out == nullptr) return refuse_null("stria_config_get", {{"out", out}});
    ConfigView& view = config_view();
    const std::lock_guard lock(view.mutex);
    if (const std::size_t count = view.count(); index >= count)
      return refuse(Status::invalid, "stria_config_get: index {} is not below {}, the number of variables",
                    index, count);
    if (view.stale) {
      auto config = Config::from_environment(view.variables);
      if (!config) return refuse(config.error());
      view.snapshots.push_back(*std::move(config));
      view.stale = false;
    }
    const Variable& variable = view.snapshots.back().variable(index);
    const VarValue& value = view.snapshots.back().value(index);
    *out = {variable.name,    variable.default_value, variable.unit,
            variable.meaning, value.text.c_str(),     value.origin.c_str()};
    return STRIA_OK;
  });
}

stria_config_level_t stria_config_level(size_t index) {
  stria_config_level_t level = STRIA_CONFIG_EXPERT;
  (void)at_boundary("stria_config_level", [&] {
    ConfigView& view = config_view();
    const std::lock_guard lock(view.mutex);
    (void)view.count();
    for (const Variables group : view.variables) {
      if (index < group.size()) {
        level = static_cast<stria_config_level_t>(group[index].level);
        break;
      }
      index -= group.size();
    }
    return STRIA_OK;
  });
  return level;
}

stria_status_t stria_config_set(const char* name, const char* value, const char* origin) {
  return at_boundary("stria_config_set", [&] {
    if (any_null(name, value)) return refuse_null("stria_config_set", {{"name", name}, {"value", value}});
    auto done = set_config_override(known_variables(builtin_providers()), name, value,
                                    origin == nullptr ? "application" : origin);
    if (!done) return refuse(done.error());
    ConfigView& view = config_view();
    const std::lock_guard lock(view.mutex);
    view.stale = true;
    return STRIA_OK;
  });
}

stria_status_t stria_context_open(const stria_context_params_t* params, stria_context_t** out) {
  return at_boundary("stria_context_open", [&] {
    if (out == nullptr) return refuse_null("stria_context_open", {{"out", out}});
    *out = nullptr;
    if (params != nullptr && params->size != sizeof(*params))
      return refuse(Status::invalid,
                    "stria_context_open: size is {}, this library's stria_context_params_t has {}; set it to "
                    "sizeof(stria_context_params_t)",
                    params->size, sizeof(*params));
    if (params != nullptr && (params->job_secret == nullptr) != (params->job_secret_bytes == 0))
      return refuse(Status::invalid, "stria_context_open: job_secret is {}, but job_secret_bytes is {}",
                    params->job_secret == nullptr ? "NULL" : "given", params->job_secret_bytes);
    auto context = open_context(params, builtin_providers());
    if (!context) return refuse(context.error());
    *out = reinterpret_cast<stria_context_t*>(context->release());
    return STRIA_OK;
  });
}

stria_status_t stria_context_close(stria_context_t* context) {
  if (context == nullptr) return STRIA_OK;
  if (const unsigned open = as_context(context)->workers; open != 0) {
    const stria_status_t refused =
        refuse(Status::invalid,
               "stria_context_close: {} of its workers {} open; close them first, the context stays as it is",
               open, open == 1 ? "is" : "are");
    log::error("{}", last_error());
    return refused;
  }
  delete as_context(context);
  return STRIA_OK;
}

stria_status_t stria_mem_alloc(stria_context_t* context, uint64_t bytes, void** out) {
  return at_boundary("stria_mem_alloc", [&] {
    if (any_null(context, out)) return refuse_null("stria_mem_alloc", {{"context", context}, {"out", out}});
    *out = nullptr;
    Context& asked = *as_context(context);
    const auto memory = asked.memory.allocate(asked.providers, bytes);
    if (!memory) return refuse(memory.error().status, "stria_mem_alloc: {}", memory.error().context);
    *out = *memory;
    tag::Mappable::add(*out, bytes);
    return STRIA_OK;
  });
}

stria_status_t stria_mem_free(stria_context_t* context, void* memory) {
  if (memory == nullptr) return STRIA_OK;
  if (context == nullptr) return refuse_null("stria_mem_free", {{"context", context}});
  Context& asked = *as_context(context);
  if (asked.memory.free(asked.providers, memory) == Status::ok) return STRIA_OK;
  return refuse(Status::invalid,
                "stria_mem_free: {} is not the beginning of memory that stria_mem_alloc() gave", memory);
}

stria_status_t stria_set_memory_hooks(const stria_memory_hooks_t* hooks) {
  return at_boundary("stria_set_memory_hooks", [&] {
    const auto set = transport::set_memory_hooks(hooks);
    return set ? STRIA_OK : refuse(set.error());
  });
}

void stria_memory_released(const void* memory, uint64_t bytes) {
  transport::memory_released(memory, bytes);
}

}  // extern "C"
