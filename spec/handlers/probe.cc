// probe.cc: everything that a handler can bind with XLA's C++ binding, built with the headers of several generations. A body
// that has something to check ends the process: asking must not run it.
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using ffi::Error;
using ffi::Ffi;

static const auto never = [](auto &&...) -> Error { std::abort(); };
static const auto fine = [](auto &&...) { return Error::Success(); };

#define PROBE(name, body, ...) XLA_FFI_DEFINE_HANDLER_SYMBOL(name, body, Ffi::Bind() __VA_ARGS__);
#define STAGE_PROBE(name, stage, ...) \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, never, Ffi::Bind<ffi::ExecutionStage::stage>() __VA_ARGS__);

template <ffi::DataType dtype>
using B = ffi::Buffer<dtype>;
using R7 = ffi::Buffer<ffi::F32, 7>;
using Any = ffi::AnyBuffer;

// ---- operands: dtypes, ranks, order

PROBE(Dtypes, never, .Arg<B<ffi::PRED>>().Arg<B<ffi::S8>>().Arg<B<ffi::S16>>().Arg<B<ffi::S32>>().Arg<B<ffi::S64>>()
      .Arg<B<ffi::U8>>().Arg<B<ffi::U16>>().Arg<B<ffi::U32>>().Arg<B<ffi::U64>>().Ret<B<ffi::F16>>().Ret<B<ffi::BF16>>()
      .Ret<B<ffi::F32>>().Ret<B<ffi::F64>>().Ret<B<ffi::C64>>().Ret<B<ffi::C128>>().Ret<ffi::Token>())
PROBE(Ranks, never, .Arg<ffi::Token>().Arg<ffi::BufferR0<ffi::F32>>().Arg<ffi::BufferR1<ffi::F32>>().Arg<ffi::BufferR2<ffi::F32>>()
      .Arg<ffi::BufferR3<ffi::F32>>().Arg<R7>().Arg<Any>().Ret<Any>().Ret<ffi::BufferR4<ffi::S32>>())
PROBE(Interleaved, never, .Attr<float>("b").Ret<ffi::BufferR1<ffi::F32>>().Ctx<ffi::PlatformStream<void *>>().Arg<ffi::BufferR1<ffi::F32>>()
      .Attr<int32_t>("a").Arg<ffi::BufferR0<ffi::S32>>().Ret<B<ffi::F64>>())
PROBE(OneArg, never, .Arg<ffi::BufferR1<ffi::F32>>())
PROBE(OneAnyRet, never, .Ret<Any>())

// ---- optional and remaining ones

using X = ffi::BufferR1<ffi::F32>;
using Y = ffi::BufferR0<ffi::S32>;
PROBE(RegularOptional, never, .Arg<X>().Arg<X>().OptionalArg<Y>().Ret<X>().OptionalRet<Y>().OptionalRet<Any>())
PROBE(RegularOptionalRemaining, never, .Arg<X>().OptionalArg<Y>().OptionalArg<X>().RemainingArgs().Ret<X>().Ret<X>()
      .OptionalRet<Y>().RemainingRets())
PROBE(RegularRemaining, never, .Arg<X>().RemainingArgs().Ret<Y>().RemainingRets())
PROBE(OnlyOptional, fine, .OptionalArg<X>().OptionalArg<Y>())
PROBE(OneOptional, fine, .OptionalArg<X>())
PROBE(OneAndOptional, never, .Arg<X>().OptionalArg<Y>())
PROBE(OptionalRemaining, fine, .OptionalRet<X>().RemainingRets())
PROBE(OnlyRemaining, fine, .RemainingArgs().RemainingRets())

// ---- attributes

enum class Mode : int8_t { kA, kB };
enum class Wide : uint64_t { kC };
struct Flags { bool flag; int32_t n; int64_t big; };
struct One { std::string_view text; };
struct Outer { int64_t lo; Flags inner; One one; ffi::Dictionary late; float lo2; };
struct Mine { int x; };
struct Strange { int x; };
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Wide);
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Flags, ffi::StructMember<bool>("flag"), ffi::StructMember<int32_t>("n"),
                                      ffi::StructMember<int64_t>("big"));
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(One, ffi::StructMember<std::string_view>("text"));
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Outer, ffi::StructMember<int64_t>("lo"), ffi::StructMember<Flags>("inner"),
                                      ffi::StructMember<One>("one"), ffi::StructMember<ffi::Dictionary>("late"),
                                      ffi::StructMember<float>("lo2"));

#if XLA_FFI_API_MINOR >= 4
using Context = XLA_FFI_InvokeContext;
#else
using Context = XLA_FFI_ExecutionContext;
#endif

namespace xla::ffi {
template <>
struct AttrDecoding<Mine> {  // says nothing
  using Type = Mine;
  static std::optional<Mine> Decode(XLA_FFI_AttrType type, void *attr, DiagnosticEngine &) {
    if (type != XLA_FFI_AttrType_SCALAR || ((XLA_FFI_Scalar *)attr)->dtype != XLA_FFI_DataType_S8) return std::nullopt;
    return Mine{1};
  }
};
template <>
struct AttrDecoding<Strange> {  // says something else
  using Type = Strange;
  static std::optional<Strange> Decode(XLA_FFI_AttrType, void *, DiagnosticEngine &diagnostic) {
    return diagnostic.Emit("It is Tuesday");
  }
};
template <>
struct ArgDecoding<Mine> {
  static std::optional<Mine> Decode(XLA_FFI_ArgType, void *, DiagnosticEngine &diagnostic) {
    return diagnostic.Emit("It is Tuesday");
  }
};
template <>
struct CtxDecoding<Mine> {
  using Type = Mine;
  static std::optional<Mine> Decode(const XLA_FFI_Api *, ::Context *, DiagnosticEngine &) {
    return std::nullopt;
  }
};
}  // namespace xla::ffi

PROBE(Scalars, never, .Attr<bool>("flag").Attr<int8_t>("s8").Attr<int16_t>("s16").Attr<int32_t>("s32").Attr<int64_t>("s64")
      .Attr<uint8_t>("u8").Attr<uint16_t>("u16").Attr<uint32_t>("u32").Attr<uint64_t>("u64").Attr<float>("f32")
      .Attr<double>("f64").Attr<std::complex<float>>("c64").Attr<std::complex<double>>("c128"))
PROBE(Arrays, never, .Attr<ffi::Span<const int8_t>>("s8").Attr<ffi::Span<const int16_t>>("s16")
      .Attr<ffi::Span<const int32_t>>("s32").Attr<ffi::Span<const int64_t>>("s64").Attr<ffi::Span<const uint8_t>>("u8")
      .Attr<ffi::Span<const uint16_t>>("u16").Attr<ffi::Span<const uint32_t>>("u32").Attr<ffi::Span<const uint64_t>>("u64")
      .Attr<ffi::Span<const float>>("f32").Attr<ffi::Span<const double>>("f64"))
PROBE(Others, never, .Attr<std::string_view>("text").Attr<ffi::Dictionary>("late").Attr<ffi::Pointer<int>>("pointer")
      .Attr<Mode>("mode").Attr<Wide>("wide").Attr<Flags>("flags").Attr<One>("one").Attr<Outer>("outer"))
PROBE(OddNames, never, .Attr<float>("b").Attr<int32_t>("ab").Attr<int64_t>("a").Attr<double>("a b")
      .Attr<bool>("\"").Attr<int8_t>("a.b").Attr<uint8_t>("A").Attr<uint16_t>("\xC3\xA9").Attr<uint32_t>("vs"))
PROBE(Twofold, never, .Attr<float>("x").Attr<float>("x").Ret<X>())
PROBE(OneString, never, .Attr<std::string_view>("text"))
PROBE(OneArray, never, .Attr<ffi::Span<const int32_t>>("list"))
PROBE(OneDictionary, never, .Attr<ffi::Dictionary>("late"))
PROBE(OneStruct, never, .Attr<Flags>("flags"))
PROBE(AllDictionary, never, .Arg<X>().Ret<X>().Attrs())
PROBE(AllStruct, never, .Arg<X>().Attrs<Outer>())
PROBE(AllOne, never, .Attrs<One>())
PROBE(OwnTypes, never, .Ctx<Mine>().Arg<Mine>().Arg<X>().Attr<Mine>("mine").Attr<Strange>("strange").Attr<float>("s"))

// ---- contexts

struct Thing { static ffi::TypeId id; };
ffi::TypeId Thing::id = {7};
PROBE(Contexts, never, .Ctx<ffi::PlatformStream<void *>>().Ctx<ffi::ScratchAllocator>().Ctx<ffi::ThreadPool>()
      .Ctx<ffi::UserData<Thing>>().Ctx<ffi::State<Thing>>().Ctx<ffi::RunId>().Ctx<ffi::DeviceOrdinal>().Arg<X>())
PROBE(Quiet, fine, .Ctx<ffi::ScratchAllocator>().Ctx<ffi::ThreadPool>())
PROBE(Nothing, fine)
PROBE(Throwing, [](auto &&...) -> Error { throw std::runtime_error("no"); })
#if XLA_FFI_API_MINOR >= 2
using Either = std::variant<int32_t, std::string_view>;
PROBE(Variant, never, .Attr<Either>("either").Attr<float>("s"))
PROBE(LateContext, never, .Ctx().Arg<X>().Ret<X>())
#endif
#if XLA_FFI_API_MINOR >= 3
PROBE(States, never, .Ctx<ffi::State<Thing>>().Ctx<ffi::Prepared<Thing>>().Ctx<ffi::Initialized<Thing>>().Arg<X>())
#endif
#if XLA_FFI_API_MINOR >= 4
struct Clock {
  using CExtension = XLA_FFI_Extension;
  using Type = int;
  static constexpr auto kName = "Clock";
  static constexpr int64_t kExtensionType = 200;
  static constexpr int32_t kMajorVersion = 1, kMinorVersion = 0;
  static Type Create(const XLA_FFI_Api *, const CExtension *) { return 1; }
};
PROBE(Extensions, never, .Ctx<ffi::RunId>().Ctx<ffi::Extension<Clock>>().Arg<X>())
#endif
#if XLA_FFI_API_MINOR >= 5
PROBE(Options, never, .Ctx<ffi::CustomOptions>().Arg<X>())
#endif

// ---- stages

STAGE_PROBE(Instantiate, kInstantiate, .Attr<int64_t>("n").Attr<float>("s"))
STAGE_PROBE(Prepare, kPrepare, .Arg<X>().Ret<Y>())
STAGE_PROBE(Initialize, kInitialize, .Arg<X>().Attr<float>("s"))
#if XLA_FFI_API_MINOR >= 4
STAGE_PROBE(Record, kRecord, .Arg<X>().Arg<Y>())
#endif
