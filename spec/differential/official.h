// official.h: OFFICIAL(number, use, pattern) is a function that tries a pattern of XLA's own header on a buffer.
#ifndef OFFICIAL_H
#define OFFICIAL_H

#include <type_traits>
#include <utility>

#include "patterns.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
namespace m = xla::ffi::match;

// Whether there is a Match for the two.
template <typename Buffer, typename Pattern, typename = void> struct Refines : std::false_type {
};
template <typename Buffer, typename Pattern>
struct Refines<Buffer, Pattern,
    std::void_t<decltype(ffi::Match("x", std::declval<Buffer>(), std::declval<const Pattern &>()))>> : std::true_type {
};

enum Use { any, typed, result, only_verify };

inline int code_of(const ffi::Error &error) { return error.success() ? 0 : static_cast<int>(*error.errc()); }

template <typename Buffer> const void *data_of(Buffer buffer) { return buffer.untyped_data(); }
template <typename Buffer> const void *data_of(ffi::Result<Buffer> buffer) { return buffer->untyped_data(); }

// Match on the buffer as an argument or as a result.
template <Use use, typename Buffer, typename Pattern> auto match(Buffer buffer, const Pattern &pattern)
{
  if constexpr (use == result)
    return ffi::Match("x", ffi::Result<Buffer>(buffer), pattern);
  else
    return ffi::Match("x", buffer, pattern);
}

template <Use use, typename Buffer, typename Pattern> outcome try_on(Buffer buffer, const Pattern &pattern, sizes &s)
{
  outcome o = {};
  o.verified = code_of(ffi::Verify("x", buffer, pattern));
  o.after_verify = s;
  s = {UNTOUCHED, UNTOUCHED, UNTOUCHED};
  o.matched = NOTHING_TO_REFINE_TO;
  if constexpr (use != only_verify && Refines<Buffer, Pattern>::value) {
    auto refined = match<use>(buffer, pattern);
    o.matched = refined.has_value() ? 0 : code_of(refined.error());
    if (refined.has_value()) o.data = data_of(*refined);
  }
  o.after_match = s;
  return o;
}

// A pattern has commas.
#define OFFICIAL(number, use, ...)                                                          \
  outcome official_##number(XLA_FFI_Buffer *x)                                              \
  {                                                                                         \
    sizes s = {UNTOUCHED, UNTOUCHED, UNTOUCHED};                                            \
    using Buffer = std::conditional_t<use == typed, ffi::Buffer<ffi::F32>, ffi::AnyBuffer>; \
    return try_on<use>(Buffer(x), __VA_ARGS__, s);                                          \
  }

#endif
