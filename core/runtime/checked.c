#include "runtime/checked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/mix.h"
#include "base/text.h"
#include "call/problems.h"
#include "call/signature.h"
#include "runtime/place.h"

/* An operand or a result. A token has no memory, and then no data. */
typedef struct side {
  ccw_buffer *buffer;
  unsigned char *data;
  int64_t bytes;
  int64_t piece; /* of the guarded region */
  bool is_result;
  bool is_aliased;   /* an operand that is a result too, or that result */
  bool is_unwritten; /* a result of which some elements seem to be */
} side;

/* Elements of a result that were never written. */
typedef struct unwritten {
  int64_t count, first;
} unwritten;

struct ccw_checked {
  size_t block; /* bytes of this, with the sides */
  const ccw_handler *handler;
  const XLA_FFI_CallFrame *frame;
  ccw_guard *guard;
  uint64_t seed; /* of the pattern */
  struct timespec begin;
  int64_t operand_count, count;
  side sides[]; /* operands, results */
};

/* ---- making ---------------------------------------------------------------------------------------------------------- */

static void add_side(ccw_checked *checked, ccw_buffer *buffer, bool is_result)
{
  side *s = &checked->sides[checked->count];
  *s =
      (side){buffer, ccw_buffer_data(buffer), ccw_buffer_shape(buffer)->bytes, checked->count, is_result, false, false};
  ++checked->count;
  if (!is_result || s->bytes == 0) return;
  for (int64_t i = 0; i < checked->operand_count; ++i) {
    side *operand = &checked->sides[i];
    if (operand->data != s->data || operand->bytes != s->bytes) continue;
    operand->piece = s->piece;
    operand->is_aliased = s->is_aliased = true;
  }
}

/* What another side has a piece for is none of its own. */
static bool has_piece(const ccw_checked *checked, int64_t i) { return checked->sides[i].piece == i; }

static ccw_status new_guard(ccw_checked *checked)
{
  size_t size = (size_t)checked->count * sizeof(int64_t);
  int64_t *sizes = ccw_allocate(size);
  if (!sizes) return ccw_no_memory(size);
  for (int64_t i = 0; i < checked->count; ++i) sizes[i] = has_piece(checked, i) ? checked->sides[i].bytes : 0;
  ccw_status status = ccw_guard_new(sizes, checked->count, (size_t)checked->count * sizeof(unwritten), &checked->guard);
  ccw_release(sizes, size);
  return status;
}

static unsigned char *copy_of(const ccw_checked *checked, const side *s)
{
  return ccw_guard_piece(checked->guard, s->piece);
}

/* Has the frame point to the copies, where they lie now. */
static void place(const ccw_checked *checked)
{
  for (int64_t i = 0; i < checked->count; ++i) {
    const side *s = &checked->sides[i];
    int64_t operands = checked->operand_count;
    XLA_FFI_Buffer *buffer = i < operands ? checked->frame->args.args[i] : checked->frame->rets.rets[i - operands];
    if (s->data) buffer->data = copy_of(checked, s);
  }
}

ccw_status ccw_checked_new(const ccw_handler *handler, const XLA_FFI_CallFrame *frame, ccw_buffer *const *operands,
    int64_t operand_count, ccw_buffer *const *results, int64_t result_count, ccw_checked **out_checked)
{
  size_t block = sizeof(ccw_checked) + (size_t)(operand_count + result_count) * sizeof(side);
  ccw_checked *checked = ccw_allocate(block);
  if (!checked) return ccw_no_memory(block);
  *checked = (ccw_checked){.block = block, .handler = handler, .frame = frame, .operand_count = operand_count};
  for (int64_t i = 0; i < operand_count; ++i) add_side(checked, operands[i], false);
  for (int64_t i = 0; i < result_count; ++i) add_side(checked, results[i], true);
  ccw_status status = new_guard(checked);
  if (status.code) {
    ccw_checked_free(checked);
    return status;
  }
  place(checked);
  *out_checked = checked;
  return ccw_ok();
}

void ccw_checked_free(ccw_checked *checked)
{
  if (!checked) return;
  ccw_guard_free(checked->guard);
  ccw_release(checked, checked->block);
}

/* ---- the pattern ----------------------------------------------------------------------------------------------------- */

/* Word `k` of the pattern of a result. A handler that writes the same in two runs writes in one of them what is not the
 * pattern, when that is turned over in the other. */
static uint64_t pattern(uint64_t seed, const side *s, int64_t k, bool is_turned)
{
  uint64_t word = ccw_mix((seed ^ (uint64_t)s->piece << 48) + (uint64_t)k);
  return is_turned ? ~word : word;
}

/* The bits behind the last of packed elements stay what they are. */
static void keep_padding(const side *s, unsigned char *copy)
{
  const ccw_shape *shape = ccw_buffer_shape(s->buffer);
  int used = (int)(shape->count * ccw_dtype_bits(shape->dtype) % 8);
  if (used == 0 || s->bytes == 0) return;
  unsigned char kept = (unsigned char)(0xFF << used), *last = &copy[s->bytes - 1];
  *last = (unsigned char)((*last & ~kept) | (s->data[s->bytes - 1] & kept));
}

static void fill(uint64_t seed, const side *s, unsigned char *copy, bool is_turned)
{
  for (int64_t at = 0; at < s->bytes; at += 8) {
    uint64_t word = pattern(seed, s, at / 8, is_turned);
    memcpy(copy + at, &word, (size_t)(s->bytes - at < 8 ? s->bytes - at : 8));
  }
  keep_padding(s, copy);
}

/* The elements of a result, to hold against the pattern. */
typedef struct patterned {
  const side *side;
  uint64_t seed;
  int bits;
} patterned;

/* Whether element `i` at `memory` is what the pattern has there. */
static bool is_pattern(const patterned *e, const unsigned char *memory, int64_t i, bool is_turned)
{
  int64_t bit = i * e->bits, byte = bit / 8;
  uint64_t word = pattern(e->seed, e->side, byte / 8, is_turned);
  unsigned char expected[16];
  memcpy(expected, &word, 8);
  if (e->bits < 8) {
    unsigned difference = (unsigned)(expected[byte % 8] ^ memory[byte]) >> bit % 8;
    return (difference & ((1U << e->bits) - 1)) == 0;
  }
  if (expected[byte % 8] != memory[byte]) return false; /* most differ here, and the rest takes longer */
  if (e->bits > 64) {
    word = pattern(e->seed, e->side, byte / 8 + 1, is_turned);
    memcpy(expected + 8, &word, 8);
  }
  return memcmp(expected + byte % 8, memory + byte, (size_t)e->bits / 8) == 0;
}

static bool is_equal(const patterned *e, const unsigned char *a, const unsigned char *b, int64_t i)
{
  int64_t bit = i * e->bits, byte = bit / 8;
  if (e->bits >= 8) return memcmp(a + byte, b + byte, (size_t)e->bits / 8) == 0;
  return (((unsigned)(a[byte] ^ b[byte]) >> bit % 8) & ((1U << e->bits) - 1)) == 0;
}

static bool has_pattern(const side *s) { return s->is_result && !s->is_aliased && s->data; }

static patterned patterned_of(const ccw_checked *checked, const side *s)
{
  return (patterned){s, checked->seed, ccw_dtype_bits(ccw_buffer_shape(s->buffer)->dtype)};
}

/* Elements that were not written in the first run and, where there was one, in the second. Where that cannot be told of each
 * on its own only those count which are neighbours: by chance 4 bytes of the pattern come once in 2^32. */
static unwritten find_unwritten(
    const ccw_checked *checked, const side *s, const unsigned char *first, const unsigned char *second, bool each)
{
  patterned e = patterned_of(checked, s);
  int64_t count = ccw_buffer_shape(s->buffer)->count, enough = each ? 1 : (32 + e.bits - 1) / e.bits, run = 0;
  unwritten found = {0, -1};
  for (int64_t i = 0; i <= count; ++i) {
    if (i < count && is_pattern(&e, first, i, false) && (!second || is_pattern(&e, second, i, true))) {
      ++run;
      continue;
    }
    if (run >= enough) {
      found.count += run;
      if (found.first < 0) found.first = i - run;
    }
    run = 0;
  }
  return found;
}

/* Whether two runs wrote the same, as far as they wrote. */
static bool is_steady(
    const ccw_checked *checked, const side *s, const unsigned char *first, const unsigned char *second)
{
  patterned e = patterned_of(checked, s);
  for (int64_t i = 0, count = ccw_buffer_shape(s->buffer)->count; i < count; ++i)
    if (!is_equal(&e, first, second, i) && !(is_pattern(&e, first, i, false) && is_pattern(&e, second, i, true)))
      return false;
  return true;
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static void begin(ccw_checked *checked, ccw_guard_layout layout, bool is_turned)
{
  ccw_guard_arm(checked->guard, layout);
  for (int64_t i = 0; i < checked->count; ++i) {
    const side *s = &checked->sides[i];
    if (!s->data || !has_piece(checked, i)) continue;
    if (has_pattern(s))
      fill(checked->seed, s, copy_of(checked, s), is_turned);
    else
      memcpy(copy_of(checked, s), s->data, (size_t)s->bytes);
    if (!s->is_result) ccw_guard_protect(checked->guard, s->piece);
  }
  place(checked);
}

void ccw_checked_begin(ccw_checked *checked)
{
  checked->seed = ccw_mix(checked->seed); /* another one in each run */
  begin(checked, CCW_GUARD_ALIGNED, false);
  clock_gettime(CLOCK_MONOTONIC, &checked->begin);
}

static double seconds_since(const struct timespec *begin)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) * 1e-9;
}

/* Copies results back: those that are operands too, or the others. */
static void copy_back(const ccw_checked *checked, bool aliased)
{
  for (int64_t i = checked->operand_count; i < checked->count; ++i) {
    const side *s = &checked->sides[i];
    if (s->data && s->is_aliased == aliased) memcpy(s->data, copy_of(checked, s), (size_t)s->bytes);
  }
}

/* ---- the child ------------------------------------------------------------------------------------------------------- */

static bool is_child; /* and has none of its own */

/* What a child does is seen by nobody, and ends with it. */
static void be_quiet(void)
{
  static const int numbers[] = {SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGINT, SIGTERM, SIGALRM};
  is_child = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  ccw_fault_hand_on_to_none();
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) signal(numbers[i], SIG_DFL);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) _exit(1);
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) dup2(nowhere, standard);
}

/* Ends the process after that time. */
static void limit_time(double seconds)
{
  struct itimerval limit = {.it_value = {.tv_sec = (time_t)seconds, .tv_usec = 1}};
  setitimer(ITIMER_REAL, &limit, NULL);
}

static bool run_layout(
    ccw_checked *checked, ccw_guard_layout layout, double seconds, ccw_checked_again *again, void *context)
{
  limit_time(seconds);
  begin(checked, layout, true);
  return again(context);
}

/* First where the start is aligned, since a handler that takes that for granted may not survive the other. */
static void run_in_child(ccw_checked *checked, double seconds, ccw_checked_again *again, void *context)
{
  unwritten *found = ccw_guard_shared(checked->guard);
  be_quiet();
  if (!run_layout(checked, CCW_GUARD_FIRST, seconds, again, context)) _exit(0);
  for (int64_t i = 0; i < checked->count; ++i) {
    const side *s = &checked->sides[i];
    if (!s->is_unwritten) continue;
    const unsigned char *second = copy_of(checked, s);
    found[i] = find_unwritten(checked, s, s->data, second, is_steady(checked, s, s->data, second));
  }
  ccw_guard_finish(checked->guard, CCW_GUARD_FIRST);
  if (run_layout(checked, CCW_GUARD_LAST, seconds, again, context)) ccw_guard_finish(checked->guard, CCW_GUARD_LAST);
  _exit(0);
}

/* Where nothing lies behind a copy but memory that tells. */
static void run_last_in_child(ccw_checked *checked, double seconds, ccw_checked_again *again, void *context)
{
  be_quiet();
  if (run_layout(checked, CCW_GUARD_LAST, seconds, again, context)) ccw_guard_finish(checked->guard, CCW_GUARD_LAST);
  _exit(0);
}

/* What lies around the copies in the first child can end it, where it is taken for an index: then there is another one. */
static void run_again(ccw_checked *checked, double seconds, ccw_checked_again *again, void *context)
{
  int ended;
  pid_t child = fork();
  if (child == 0) run_in_child(checked, seconds, again, context);
  while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
  if (child <= 0 || ccw_guard_is_finished(checked->guard, CCW_GUARD_FIRST) || !WIFSIGNALED(ended) ||
      WTERMSIG(ended) == SIGALRM)
    return;
  child = fork();
  if (child == 0) run_last_in_child(checked, seconds, again, context);
  while (child > 0 && waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
}

/* ---- the report ------------------------------------------------------------------------------------------------------ */

/* All that was found, a line each, and the code of the first. */
typedef struct report {
  const ccw_checked *checked;
  const ccw_signature *signature;
  uintptr_t execute;
  XLA_FFI_Error_Code code;
  ccw_problems problems;
} report;

static void start(report *r, int64_t i, XLA_FFI_Error_Code code)
{
  const side *s = &r->checked->sides[i];
  const ccw_operands *family = s->is_result ? &ccw_rets : &ccw_args;
  int64_t at = s->is_result ? i - r->checked->operand_count : i;
  if (r->problems.count == 0) r->code = code;
  ccw_problem_at(&r->problems, family->noun, at, ccw_signature_operand(r->signature, family, at));
}

static void say_access(report *r, int64_t i, ccw_guard_side where, bool is_write, const ccw_guard_access *access)
{
  const ccw_shape *shape = ccw_buffer_shape(r->checked->sides[i].buffer);
  ccw_text *text = &r->problems.text;
  start(r, i, where == CCW_GUARD_INSIDE ? XLA_FFI_Error_Code_PERMISSION_DENIED : XLA_FFI_Error_Code_OUT_OF_RANGE);
  ccw_text_add_access(text, shape, access->offset, is_write, ", an operand is read only");
  ccw_place_print_culprit(access->code, access->depth, r->execute, text);
}

static void say_unwritten(report *r, int64_t i, unwritten found)
{
  const ccw_buffer *buffer = r->checked->sides[i].buffer;
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  ccw_text *text = &r->problems.text;
  if (found.count == 0) return;
  start(r, i, XLA_FFI_Error_Code_DATA_LOSS);
  if (shape->rank == 0) {
    ccw_text_add(text, "was never written");
    return;
  }
  ccw_text_add(text, "%lld of %lld elements %s never written, the first is ", (long long)found.count,
      (long long)shape->count, found.count == 1 ? "was" : "were");
  ccw_buffer_print_index(buffer, found.first, text);
}

static void say_accesses(report *r, int64_t i)
{
  static const struct {
    ccw_guard_side side;
    bool is_write;
  } sorts[] = {{CCW_GUARD_INSIDE, true}, {CCW_GUARD_BEHIND, false}, {CCW_GUARD_BEHIND, true}, {CCW_GUARD_BEFORE, false},
      {CCW_GUARD_BEFORE, true}};
  ccw_guard_access access;
  for (size_t k = 0; k < sizeof sorts / sizeof *sorts; ++k)
    if (ccw_guard_find(r->checked->guard, r->checked->sides[i].piece, sorts[k].side, sorts[k].is_write, &access))
      say_access(r, i, sorts[k].side, sorts[k].is_write, &access);
}

static ccw_status make_report(const ccw_checked *checked, ccw_status status, const unwritten *found)
{
  report r = {.checked = checked,
      .signature = ccw_handler_signature(checked->handler),
      .execute = (uintptr_t)ccw_handler_describe(checked->handler).bundle.execute};
  for (int64_t i = 0; i < checked->count; ++i)
    if (has_piece(checked, i)) say_accesses(&r, i);
  for (int64_t i = checked->operand_count; i < checked->count && found; ++i) say_unwritten(&r, i, found[i]);
  ccw_status findings = ccw_problems_status(&r.problems, "", "faults");
  if (!findings.code) return status;
  if (r.code && findings.code == XLA_FFI_Error_Code_INVALID_ARGUMENT) findings.code = r.code;
  return ccw_status_join(status, findings);
}

ccw_status ccw_checked_end(ccw_checked *checked, ccw_status status, ccw_checked_again *again, void *context)
{
  double seconds = 10 * seconds_since(&checked->begin) + 5; /* a machine may have much to do */
  unwritten *found = ccw_guard_shared(checked->guard);
  bool is_doubtful = false;
  copy_back(checked, false);
  ccw_guard_forget_children(checked->guard);
  for (int64_t i = 0; i < checked->count; ++i) {
    side *s = &checked->sides[i];
    s->is_unwritten = !status.code && has_pattern(s) && find_unwritten(checked, s, s->data, NULL, true).count > 0;
    is_doubtful |= s->is_unwritten;
    found[i] = (unwritten){0, -1};
  }
  if (!status.code && again && !is_child && (is_doubtful || ccw_guard_has_gaps(checked->guard)))
    run_again(checked, seconds, again, context);
  if (!ccw_guard_is_finished(checked->guard, CCW_GUARD_FIRST))
    for (int64_t i = 0; i < checked->count; ++i)
      if (checked->sides[i].is_unwritten)
        found[i] = find_unwritten(checked, &checked->sides[i], checked->sides[i].data, NULL, false);
  copy_back(checked, true);
  return make_report(checked, status, status.code ? NULL : found);
}
