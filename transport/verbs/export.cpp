// The one symbol of libstria_provider_verbs.so.
#include "transport/verbs/verbs.hpp"

extern "C" STRIA_API const stria_provider_t stria_provider_v1;
const stria_provider_t stria_provider_v1 = stria::verbs::verbs_provider();
