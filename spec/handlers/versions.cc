// versions.cc: one source for the headers of every generation of XLA's C++ binding, about everything that a handler may ask of its
// runtime. What a generation has not got is left out.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"
#if XLA_FFI_API_MINOR >= 4
#include "xla/ffi/api/collectives_api.h"
#include "xla/ffi/api/record_api.h"
#endif

namespace ffi = xla::ffi;
using ffi::Error;
using ffi::ErrorOr;
using ffi::ExecutionStage;
using ffi::Ffi;

using X = ffi::BufferR1<ffi::F32>;
using Y = ffi::Result<X>;
using Numbers = ffi::BufferR1<ffi::S64>;
using Out = ffi::Result<Numbers>;

static Error wrong(const char *text) { return Error(ffi::ErrorCode::kInternal, text); }
static Error aborted(std::string text) { return Error(ffi::ErrorCode::kAborted, std::move(text)); }

// ---- buffers, attributes, the identity of a call

static Error scale(X x, Y y, float s)
{
  for (int64_t i = 0; i < x.dimensions()[0]; ++i) y->typed_data()[i] = s * x.typed_data()[i];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Scale, scale, Ffi::Bind().Arg<X>().Ret<X>().Attr<float>("s"));

static Error identity(ffi::RunId id, int32_t ordinal, Out y)
{
  y->typed_data()[0] = id.run_id;
  y->typed_data()[1] = ordinal;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Identity, identity, Ffi::Bind().Ctx<ffi::RunId>().Ctx<ffi::DeviceOrdinal>().Ret<Numbers>());

static Error never(X, void *) { return wrong("the body ran"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(NeedsStream, never, Ffi::Bind().Arg<X>().Ctx<ffi::PlatformStream<void *>>());

static Error fine() { return Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(Marked, fine, Ffi::Bind(), {ffi::Traits::kCmdBufferCompatible});

// ---- threads

// As many tasks, each of which adds its number, and as many threads as there are.
static Error tasks(ffi::ThreadPool pool, Out y, int64_t count)
{
  std::mutex lock;
  std::condition_variable done;
  int64_t left = count, sum = 0;
  for (int64_t i = 1; i <= count; ++i)
    pool.Schedule([&, i] {
      std::lock_guard<std::mutex> guard(lock);
      sum += i;
      if (--left == 0) done.notify_one();
    });
  std::unique_lock<std::mutex> guard(lock);
  done.wait(guard, [&] { return left == 0; });
  y->typed_data()[0] = sum;
  y->typed_data()[1] = pool.num_threads();
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Tasks, tasks, Ffi::Bind().Ctx<ffi::ThreadPool>().Ret<Numbers>().Attr<int64_t>("count"));

// ---- scratch memory

// Two pieces: whether they came, whether they are apart, whether what was written there is there.
static Error scratch(ffi::ScratchAllocator allocator, Out y, int64_t size)
{
  auto first = allocator.Allocate(size, 16), second = allocator.Allocate(size);
  int64_t *to = y->typed_data();
  to[0] = first.has_value();
  to[1] = second.has_value();
  to[2] = first && second && *first != *second;
  to[3] = 0;
  if (!first || !second) return Error::Success();
  std::memset(*first, 1, size);
  std::memset(*second, 2, size);
  for (int64_t i = 0; i < size; ++i) to[3] += static_cast<char *>(*first)[i] + static_cast<char *>(*second)[i];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Scratch, scratch, Ffi::Bind().Ctx<ffi::ScratchAllocator>().Ret<Numbers>().Attr<int64_t>("size"));

// ---- futures

static ffi::Future at_once(X x, Y y)
{
  y->typed_data()[0] = x.typed_data()[0] + 1;
  ffi::Promise promise;
  promise.SetAvailable();
  return ffi::Future(promise);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(AtOnce, at_once, Ffi::Bind().Arg<X>().Ret<X>());

static ffi::Future later(ffi::ThreadPool pool, X x, Y y)
{
  ffi::Promise promise;
  ffi::Future future(promise);
  pool.Schedule([promise, x, y]() mutable {
    y->typed_data()[0] = x.typed_data()[0] + 2;
    promise.SetAvailable();
  });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Later, later, Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<X>().Ret<X>());

static ffi::Future fails_later(ffi::ThreadPool pool, int64_t at_once)
{
  ffi::Promise promise;
  ffi::Future future(promise);
  if (at_once)
    promise.SetError(aborted("failed at once"));
  else
    pool.Schedule([promise]() mutable { promise.SetError(Error(ffi::ErrorCode::kDataLoss, "failed in a task")); });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    FailsLater, fails_later, Ffi::Bind().Ctx<ffi::ThreadPool>().Attr<int64_t>("at_once"));

// One task for each element; the one of that number fails.
static ffi::Future counted(ffi::ThreadPool pool, Y y, int64_t bad)
{
  int64_t count = y->dimensions()[0];
  ffi::CountDownPromise promise(count);
  ffi::Future future(promise);
  for (int64_t i = 0; i < count; ++i)
    pool.Schedule([promise, y, i, bad]() mutable {
      y->typed_data()[i] = float(i);
      if (i == bad)
        promise.CountDown(aborted("task " + std::to_string(i) + " failed"));
      else
        promise.CountDown();
    });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Counted, counted, Ffi::Bind().Ctx<ffi::ThreadPool>().Ret<X>().Attr<int64_t>("bad"));

// ---- exceptions

static Error throws(Y y, int64_t what)
{
  int64_t count = y->dimensions()[0];
  for (int64_t i = 0; i < count / 2; ++i) y->typed_data()[i] = 1;
  if (what == 0) throw std::runtime_error("boom");
  if (what == 1) throw 42;
  for (int64_t i = count / 2; i < count; ++i) y->typed_data()[i] = 2;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Throws, throws, Ffi::Bind().Ret<X>().Attr<int64_t>("what"));

// ---- user data

struct Config {
  static ffi::TypeId id;
  int64_t level;
};
ffi::TypeId Config::id = {};

static Error level(Config *config, Out y)
{
  y->typed_data()[0] = config->level;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Level, level, Ffi::Bind().Ctx<ffi::UserData<Config>>().Ret<Numbers>());

// ---- stages, which write down that they ran

static std::string story;
static std::atomic<int64_t> made, ended, bodies;

// A letter for each stage that ran since it was last asked, as u8.
static Error tell(ffi::Result<ffi::BufferR1<ffi::U8>> y)
{
  for (size_t i = 0; i < size_t(y->dimensions()[0]); ++i) y->typed_data()[i] = i < story.size() ? story[i] : '.';
  story.clear();
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Tell, tell, Ffi::Bind().Ret<ffi::BufferR1<ffi::U8>>());

template <char letter>
static Error note()
{
  story += letter;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(NoteInstantiate, note<'i'>, Ffi::Bind<ExecutionStage::kInstantiate>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(NotePrepare, note<'p'>, Ffi::Bind<ExecutionStage::kPrepare>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(NoteInitialize, note<'n'>, Ffi::Bind<ExecutionStage::kInitialize>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(NoteExecute, note<'e'>, Ffi::Bind());
static Error fails() { return aborted("not today"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(FailingPrepare, fails, Ffi::Bind<ExecutionStage::kPrepare>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(FailingInitialize, fails, Ffi::Bind<ExecutionStage::kInitialize>());

// Binds attributes alone, and lets operands be as they are.
static Error only_attributes(int64_t n)
{
  story += std::to_string(n);
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    OnlyAttributes, only_attributes, Ffi::Bind<ExecutionStage::kPrepare>().Attr<int64_t>("n"));
static Error note_n(int64_t) { return note<'e'>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(NoteWithN, note_n, Ffi::Bind().Attr<int64_t>("n"));

// ---- state

#if XLA_FFI_API_MINOR >= 2
#define INFO static ffi::TypeInfo info;
#define DEFINE_INFO(type) ffi::TypeInfo type::info = ffi::MakeTypeInfo<type>();
#else
#define INFO
#define DEFINE_INFO(type)
#endif

struct Counter {
  static ffi::TypeId id;
  INFO
  explicit Counter(int64_t start) : value(start) { ++made; }
  ~Counter() { ++ended; }
  std::atomic<int64_t> value;
};
ffi::TypeId Counter::id = {};
DEFINE_INFO(Counter)

// Objects that were made, that ended, and bodies of CounterExecute that ran.
static Error counts(Out y)
{
  y->typed_data()[0] = made;
  y->typed_data()[1] = ended;
  y->typed_data()[2] = bodies;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Counts, counts, Ffi::Bind().Ret<Numbers>());

static ErrorOr<std::unique_ptr<Counter>> new_counter(int64_t start)
{
  auto counter = std::make_unique<Counter>(start);
  if (start < 0) return ffi::Unexpected<Error>(Error(ffi::ErrorCode::kInvalidArgument, "start is below 0"));
  return counter;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CounterInstantiate, new_counter, Ffi::BindInstantiate().Attr<int64_t>("start"));

static Error count(Counter *counter, Out y, int64_t start)
{
  ++bodies;
  if (counter->value >= start + 1000000) return aborted("counted enough");
  y->typed_data()[0] = counter->value++;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterExecute, count,
    Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<Numbers>().Attr<int64_t>("start"));

static Error fails_with_state(Counter *, Out, int64_t) { return aborted("state or not"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterFails, fails_with_state,
    Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<Numbers>().Attr<int64_t>("start"));

static Error throws_with_state(Counter *, Out, int64_t) { throw std::runtime_error("with state"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterThrows, throws_with_state,
    Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<Numbers>().Attr<int64_t>("start"));

#if XLA_FFI_API_MINOR >= 3
// State of every stage: each execution has its own of prepare and of initialize.
struct Plan {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  explicit Plan(int64_t size) : size(size) { ++made; }
  ~Plan() {
    ++ended;
    story += 'P';
  }
  int64_t size;
};
ffi::TypeId Plan::id = {};
ffi::TypeInfo Plan::info = ffi::MakeTypeInfo<Plan>();

struct Tables {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  explicit Tables(int64_t size) : size(size) { ++made; }
  ~Tables() {
    ++ended;
    story += 'N';
  }
  int64_t size;
};
ffi::TypeId Tables::id = {};
ffi::TypeInfo Tables::info = ffi::MakeTypeInfo<Tables>();

static ErrorOr<std::unique_ptr<Plan>> new_plan(Counter *counter, X x, int64_t)
{
  story += 'p';
  return std::make_unique<Plan>(counter->value + x.dimensions()[0]);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    StagedPrepare, new_plan, Ffi::BindPrepare().Ctx<ffi::State<Counter>>().Arg<X>().Attr<int64_t>("start"));

static ErrorOr<std::unique_ptr<Tables>> new_tables(Plan *plan, int64_t)
{
  story += 'n';
  return std::make_unique<Tables>(2 * plan->size);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    StagedInitialize, new_tables, Ffi::BindInitialize().Ctx<ffi::Prepared<Plan>>().Attr<int64_t>("start"));

static Error staged(Counter *counter, Plan *plan, Tables *tables, X, Out y, int64_t)
{
  story += 'e';
  y->typed_data()[0] = counter->value++;
  y->typed_data()[1] = plan->size;
  y->typed_data()[2] = tables->size;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(StagedExecute, staged,
    Ffi::BindExecute().Ctx<ffi::State<Counter>>().Ctx<ffi::Prepared<Plan>>().Ctx<ffi::Initialized<Tables>>().Arg<X>()
        .Ret<Numbers>().Attr<int64_t>("start"));
#endif

// ---- what is asked for late

#if XLA_FFI_API_MINOR >= 2
static Error late(ffi::Context context, Out y)
{
  auto id = context.get<ffi::RunId>();
  auto ordinal = context.get<ffi::DeviceOrdinal>();
  auto stream = context.get<ffi::PlatformStream<void *>>();
  if (id.has_error()) return id.error();
  if (ordinal.has_error()) return ordinal.error();
  y->typed_data()[0] = id->run_id;
  y->typed_data()[1] = *ordinal;
  return stream.has_error() ? stream.error() : wrong("there is a stream");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Late, late, Ffi::Bind().Ctx().Ret<Numbers>());
#endif

#if XLA_FFI_API_MINOR >= 4
// An extension of nobody's, and those that are declared, which the stage execute has not got.
struct Clock {
  using CExtension = XLA_FFI_Extension;
  using Type = int;
  static constexpr auto kName = "Clock";
  static constexpr int64_t kExtensionType = 200;
  static constexpr int32_t kMajorVersion = 1, kMinorVersion = 0;
  static Type Create(const XLA_FFI_Api *, const CExtension *) { return 1; }
};
static Error with_clock(X, int) { return wrong("the body ran"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(NeedsClock, with_clock, Ffi::Bind().Arg<X>().Ctx<ffi::Extension<Clock>>());

using Recorder = ffi::internal::RecordContextBase<ffi::internal::ErrorPolicy>;
using Recording = ffi::Extension<ffi::internal::RecordExtensionBase<Recorder>>;
static Error with_recording(X, Recorder) { return wrong("the body ran"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(NeedsRecording, with_recording, Ffi::Bind().Arg<X>().Ctx<Recording>());

// 1 where one of that number is found, 0 where it is not.
static Error finds_extension(ffi::Context context, Out y, int64_t number)
{
  XLA_FFI_InvokeContext_FindExtension_Args args = {
      XLA_FFI_InvokeContext_FindExtension_Args_STRUCT_SIZE, nullptr, context.ctx(), number, nullptr};
  if (context.api()->XLA_FFI_InvokeContext_FindExtension(&args)) return wrong("it failed");
  y->typed_data()[0] = args.extension != nullptr;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    FindsExtension, finds_extension, Ffi::Bind().Ctx().Ret<Numbers>().Attr<int64_t>("number"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(NoteRecord, note<'r'>, Ffi::BindRecord());
#endif

#if XLA_FFI_API_MINOR >= 5
// How many there are, and "n" among them.
static Error options(ffi::Dictionary options, Out y)
{
  y->typed_data()[0] = int64_t(options.size());
  auto n = options.get<int64_t>("n");
  y->typed_data()[1] = n.has_value() ? *n : -1;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Options, options, Ffi::Bind().Ctx<ffi::CustomOptions>().Ret<Numbers>());
#endif
