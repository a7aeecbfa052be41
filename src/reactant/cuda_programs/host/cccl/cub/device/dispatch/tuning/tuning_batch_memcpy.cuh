// Nothing is tuned for GPUs here.
#pragma once
#include <cub/config.cuh>
CUB_NAMESPACE_BEGIN
namespace detail { namespace batch_memcpy { template <class...> struct policy_hub; } }
CUB_NAMESPACE_END
