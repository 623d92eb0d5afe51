/* glue.h: what the Lua userdata of ccw have in common.
 *
 * A userdata is a box around one reference to a value of core. The box is made first and filled by the call into core, so
 * that an error of Lua's own finds nothing unowned; it is emptied by close() and by the collector. Misuse raises Lua's
 * plain "bad argument" string, a failure of core an error object.
 */
#ifndef CCW_GLUE_H
#define CCW_GLUE_H

#include <limits.h>
#include <sys/types.h>

#include <lauxlib.h>
#include <lua.h>

#include <ccw/ccw.h>

/* The kinds of userdata. Each is the name of a metatable and, by its address, the key under which it is kept: comparing by
 * key takes a third of the time of comparing by name. */
extern const char CCW_BUFFER[], CCW_TYPE[], CCW_SCALAR[], CCW_ATTRIBUTES[], CCW_BUILDER[], CCW_HANDLER[], CCW_LIBRARY[],
    CCW_CALL[], CCW_SIGNATURE[], CCW_ERROR[], CCW_SCRATCH[], CCW_THREADS[], CCW_PROMISE[], CCW_DEVICE[], CCW_STREAM[],
    CCW_EVENT[], CCW_GRAPH[], CCW_MODULE[], CCW_KERNEL[], CCW_FILE[], CCW_ARCHIVE[], CCW_MEMBER[];

/* ---- boxes --------------------------------------------------------------------------------------------------------- */

/* Pushes an empty box of that kind and returns where its reference goes; a second place behind it is NULL, and for the kind
 * to use. */
void **new_box(lua_State *L, const char *kind);

/* The kind of the userdata at that index; NULL for anything that is not of this module. */
const char *kind_of(lua_State *L, int index);

/* The userdata of that kind at that index; NULL for anything else. */
void *test_kind(lua_State *L, int index, const char *kind);

/* The box of that kind at that index, closed or not. */
void **check_kind(lua_State *L, int index, const char *kind);

/* The reference in the box of that kind at that index, which must not be closed. */
void *check_box(lua_State *L, int index, const char *kind);

/* Gives the value on the top of the stack the metatable of that kind. */
void set_kind(lua_State *L, const char *kind);

/* Makes the metatable of a kind and leaves it on the stack: its functions and, where there are any, the methods for
 * indexing. */
void new_kind(lua_State *L, const char *kind, const luaL_Reg *functions, const luaL_Reg *methods);

/* ---- errors -------------------------------------------------------------------------------------------------------- */

/* Raises a failure as an error object, in which `handler` and `stage`, NULL where there is none, are told apart from the
 * text. Consumes the status. Never returns. */
int raise_status(lua_State *L, ccw_status status, const char *handler, const char *stage);

/* Raises a failure, or goes on. */
#define CHECK_STATUS(L, expression)                                            \
  do {                                                                         \
    ccw_status check_status_ = (expression);                                   \
    if (check_status_.code) return raise_status(L, check_status_, NULL, NULL); \
  } while (0)

/* Raises a failure as misuse of an argument: "bad argument #1 to 's32' (0.5 is not an integer, ...)". Consumes the
 * status. Never returns. */
int raise_misuse(lua_State *L, int argument, ccw_status status);

/* Pushes the text of a failure and returns 1, or 0 for success: for a caller who knows better where it is wrong. Want of
 * memory is nobody's misuse, and is raised. Consumes the status. */
int push_problem(lua_State *L, ccw_status status);

/* Success: returns 1, for what stands on the top of the stack to be returned. A failure is pushed behind it, whose box is
 * still empty, and becomes nil, its text and its code. Want of memory is raised. Consumes the status. */
int push_unless(lua_State *L, ccw_status status);

/* What messages call the value at that index: "number", "buffer". */
const char *kind_name(lua_State *L, int index);

/* Pushes the text, frees it, and raises when it is not whole. Returns 1, for the caller to return. */
int push_text(lua_State *L, ccw_text *text);

/* ---- arguments ----------------------------------------------------------------------------------------------------- */

/* The number, boolean or scalar at that index as a scalar: an integer is s64, a float f64, a boolean pred. False for
 * anything else; a string is never a number. */
bool to_scalar(lua_State *L, int index, ccw_scalar *out_scalar);

/* Pushes a scalar as Lua has it: a boolean, an integer, a float; what Lua has no type for as a scalar. */
void push_scalar(lua_State *L, ccw_scalar scalar);

/* Pushes a scalar as attributes are written: a plain number for s64 and f64, a boolean for pred, a scalar else. */
void push_attribute_number(lua_State *L, ccw_scalar scalar);

/* The dtype named at that index. */
ccw_dtype check_dtype(lua_State *L, int index);

/* The type at that index: a type, or its text, which takes the place of the text on the stack then. */
ccw_type *check_type(lua_State *L, int index);

/* The same, for an array. */
const ccw_shape *check_shape(lua_State *L, int index);

/* The shape at that index, a type or its text; false for a tuple. Nothing is put in the place of the text. */
bool to_shape(lua_State *L, int index, ccw_shape *out_shape);

/* Pushes the extents as a list. */
void push_dims(lua_State *L, const ccw_shape *shape);

/* A string that C can take as it is: it ends where its NUL is. */
const char *check_text(lua_State *L, int index);

/* An integer in a range: strings are no numbers here, and 2.0 is 2. */
int64_t check_integer(lua_State *L, int index, int64_t low, int64_t high);

/* Builds attributes of a table that is_simple, without a box: nothing is raised meanwhile. Plain numbers become what the
 * signature, or NULL, says of them, and the name of an enum's value the value. Needs a few places on the stack. */
ccw_status build_simple(lua_State *L, int index, const ccw_signature *signature, ccw_attributes **out_attributes);

/* The stage of that name at that index; execute where there is none. */
XLA_FFI_ExecutionStage check_stage(lua_State *L, int index);

ccw_buffer *check_buffer(lua_State *L, int index);

/* A device, or the name of one, at that index. */
ccw_device *check_device(lua_State *L, int index);
ccw_stream *check_stream(lua_State *L, int index);

/* Push what Lua has for a device or a stream, the same value each time. */
void push_device(lua_State *L, ccw_device *device);
void push_stream(lua_State *L, ccw_stream *stream);
ccw_handler *check_handler(lua_State *L, int index);

/* Seconds of a clock that only goes forward. */
double now(void);

/* Makes room before more memory is taken: Lua's collector does not see how large buffers are. */
void collect_before(lua_State *L, int64_t bytes);

/* ---- threads ------------------------------------------------------------------------------------------------------- */

/* Handlers in Lua may be called from any thread, and a Lua state is for one thread at a time: its owner. The thread that
 * opened the module owns it, gives it up before it waits or calls a handler, and takes it back. An owner is counted, and
 * outlives its state. */
typedef struct owner owner;

/* The owner of this state. Borrowed. Raises where the state is being closed. */
owner *owner_of(lua_State *L);

/* The same by the userdata that push_owner pushes, for those who keep it as an upvalue. */
void push_owner(lua_State *L);
owner *owner_in(lua_State *L, int index);

owner *owner_retain(owner *o);
void owner_release(owner *o);

/* Gives the state up and tells what to take back: 0 where this thread did not own it. Nothing of Lua's may be used
 * meanwhile. */
int owner_give_up(owner *o);
void owner_take_back(owner *o, int depth);

/* Waits for the state and owns it, once more where this thread does so already. False where the state is closed. */
bool owner_enter(owner *o);
void owner_leave(owner *o);

/* The main thread of the state, for whoever owns it. */
lua_State *owner_main(const owner *o);

/* The hooks of a thread and of the main one. Ctrl-C sets one, to stop Lua: who waits looks whether they are as they were. For whoever
 * owns the state. */
typedef struct hooks {
  lua_Hook own, main;
} hooks;

hooks hooks_of(lua_State *L, const owner *o);
bool is_interrupted(lua_State *L, const owner *o, hooks before);

/* A thread of Lua's, with an empty stack, to run something in while this C thread owns the state; NULL: no memory. It is to be
 * put back. */
lua_State *owner_borrow_thread(owner *o);
void owner_return_thread(owner *o, lua_State *thread);

/* The thread of Lua's in which this thread runs a handler; NULL where it runs none, or where that runs a handler in C. A signal
 * handler may ask. */
lua_State *running_in_lua(void);

/* What this process was said to be about to run, NULL for nothing. A signal handler may ask. */
const char *watched(void);

/* Pushes how a child ended: "timeout" where that was not in time, else "signal N" or "exit N" of what waitpid said. */
void push_end(lua_State *L, bool in_time, int how);

/* Whether this process is a child that answers questions, whose end its parent tells of. */
bool is_worker(void);

/* ---- memory that is lent to handlers in Lua ------------------------------------------------------------------------ */

/* Raises unless what this thread runs may use a buffer with that loan, which is not over. */
void check_lender(lua_State *L, const ccw_loan *loan);

/* Says that a call begins, for which the Lua state may be given up, with a buffer of that lender's, and that it is over. */
void hold_lender(void *lender);
void let_go_of_lender(void *lender);

/* The same of any buffer, lent or not, which lives at least as long. */
void hold_buffer(ccw_buffer *buffer);
void let_go_of_buffer(ccw_buffer *buffer);

/* ---- files --------------------------------------------------------------------------------------------------------- */

/* What the system says of an errno. */
ccw_status status_of_system(int error);

/* Opens a file to be read, which must be one: no folder, pipe or device. */
ccw_status open_regular(const char *path, int *out_descriptor, int64_t *out_size);

/* The file that is to be replaced where that path is written, and its permissions; 0: there is none yet. */
ccw_status find_target(const char *path, char target[PATH_MAX], mode_t *out_mode);

/* ---- the modules --------------------------------------------------------------------------------------------------- */

CCW_API int luaopen_ccw_core(lua_State *L);
int luaopen_ccw_editor(lua_State *L);

/* ---- the parts of the module --------------------------------------------------------------------------------------- */

/* Each adds its functions to the module's table, which is on the top of the stack. */
void open_errors(lua_State *L);
void open_scalars(lua_State *L);
void open_types(lua_State *L);
void open_devices(lua_State *L);
void open_buffers(lua_State *L);
void open_attributes(lua_State *L);
void open_signatures(lua_State *L);
void open_handlers(lua_State *L);
void open_libraries(lua_State *L);
void open_calls(lua_State *L);
void open_tools(lua_State *L);
void open_child(lua_State *L);
void open_workers(lua_State *L);
void open_owner(lua_State *L);
void open_jobs(lua_State *L);
void open_promises(lua_State *L);
void open_states(lua_State *L);
void open_closures(lua_State *L);
void open_patterns(lua_State *L);
void open_compilers(lua_State *L);
void open_kernels(lua_State *L);
void open_files(lua_State *L);
void open_archives(lua_State *L);

#endif
