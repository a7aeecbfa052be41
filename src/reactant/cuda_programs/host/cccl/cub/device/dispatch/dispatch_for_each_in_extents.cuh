// cub::DeviceFor::ForEachInExtents is not on this device: a program that calls it does not compile.
#pragma once
#include <cub/config.cuh>
CUB_NAMESPACE_BEGIN
namespace detail { namespace for_each_in_extents { template <class...> struct dispatch_t; } }
CUB_NAMESPACE_END
