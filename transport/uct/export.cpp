// The one symbol that libstria_provider_uct.so exports: the table of the uct provider.
#include "transport/uct/uct.hpp"

extern "C" STRIA_API const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = stria::uct::uct_provider();
