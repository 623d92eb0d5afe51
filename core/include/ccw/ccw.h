/* ccw.h: the workbench library. Values become a call, a call runs.
 *
 *   ccw_library *library;    ccw_library_open("./libscale.so", &library);
 *   ccw_handler *scale;      ccw_library_handler(library, "Scale", &scale);
 *   ccw_shape shape;         ccw_shape_make(XLA_FFI_DataType_F32, (int64_t[]){4}, 1, &shape);
 *   ccw_buffer *x, *y;       ccw_buffer_new(&shape, true, &x);  ccw_buffer_new(&shape, false, &y);
 *   ccw_call *call;          ccw_call_prepare(scale, &x, 1, &y, 1, NULL, NULL, &call);
 *   ccw_status status =      ccw_call_run(call);
 *
 * Conventions. A function that can fail returns a ccw_status and writes its outputs, which come last and are named
 * out_x, on success only. Values that are shared (types, buffers, attributes, handlers, libraries) are counted: NAME_new
 * and its like give a reference, NAME_retain another, NAME_release gives one back and accepts NULL; counting is safe from
 * any thread. Shapes, scalars and options are plain structs, passed as they are. Text is bytes with a length. Sizes and
 * positions are 64-bit and counted from 0.
 */
#ifndef CCW_H
#define CCW_H

#include <stdbool.h>

#include "binding.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CCW_API __attribute__((visibility("default")))

/* The version of the library, "0.1.0". */
CCW_API const char *ccw_version(void);

/* Whether C++ exceptions out of handlers are caught. They are, unless there was no C++ compiler when this was built. */
CCW_API bool ccw_catches_exceptions(void);

/* ==== memory ===========================================================================================================
 *
 * All memory of this library comes from one allocator, which a test can replace in order to count or to fail. */

typedef struct ccw_allocator {
  /* `size` bytes, aligned as malloc does; zeroed where asked. NULL: there are none. */
  void *(*allocate)(void *context, size_t size, bool zeroed);
  /* Gives back what allocate gave for that size. */
  void (*release)(void *context, void *memory, size_t size);
  void *context;
} ccw_allocator;

typedef struct ccw_memory_use {
  uint64_t allocations; /* so far */
  int64_t blocks;       /* live now */
  int64_t bytes;        /* live now */
} ccw_memory_use;

/* Puts another allocator in the place of the present one, which is returned. Blocks that are live go to the new one when
 * they are released: hand them, and everything else, on to the allocator that was there before. Not while other threads
 * use the library. */
CCW_API ccw_allocator ccw_memory_replace(ccw_allocator allocator);

/* What is in use, and how many allocations there have been. */
CCW_API ccw_memory_use ccw_memory_in_use(void);

/* ==== text =============================================================================================================
 *
 * Text under construction. Start with {0}. When memory runs out the text is marked as failed and stays as it is. */

typedef struct ccw_text {
  char *data; /* always ends with a NUL, once anything was added */
  size_t length;
  size_t capacity;
  bool failed;
} ccw_text;

/* Adds text, as by printf. */
CCW_API void ccw_text_add(ccw_text *text, const char *format, ...) CCW_PRINTF(2, 3);

/* Adds bytes as they are. */
CCW_API void ccw_text_add_bytes(ccw_text *text, const char *bytes, size_t length);

/* Adds a double-quoted string as Lua reads it: a backslash before '"' and '\', \n for a newline, \xHH for other control
 * bytes and for bytes that are not UTF-8. */
CCW_API void ccw_text_add_quoted(ccw_text *text, const char *bytes, size_t length);

/* The text so far, "" where there is none. */
CCW_API const char *ccw_text_data(const ccw_text *text);

/* RESOURCE_EXHAUSTED where something could not be added. */
CCW_API CCW_MUST_USE ccw_status ccw_text_status(const ccw_text *text);

/* Frees the text and makes it empty. */
CCW_API void ccw_text_free(ccw_text *text);

/* The names nearest to a wanted one, nearest first. */
enum { CCW_NEAR_MOST = 3, CCW_NEAR_LENGTH = 64 };

typedef struct ccw_near {
  const char *wanted; /* borrowed */
  size_t wanted_length;
  size_t count;
  struct {
    char name[CCW_NEAR_LENGTH];
    size_t distance; /* letters that are wrong */
  } best[CCW_NEAR_MOST];
} ccw_near;

/* Starts a search for names near to the wanted one. Offer every name there is then. */
CCW_API ccw_near ccw_near_to(const char *wanted, size_t length);

/* Takes note of a name, if it is near: a third of its letters wrong at the most, whatever their case. */
CCW_API void ccw_near_offer(ccw_near *near, const char *name, size_t length);

/* Adds "; near: a, b", or nothing. */
CCW_API void ccw_near_print(const ccw_near *near, ccw_text *text);

/* ==== dtype and scalar =================================================================================================
 *
 * A dtype is an element type of XLA; the list is CCW_DTYPES in xla_ffi.h. A scalar is a number with its dtype, held in
 * the widest type of its class so that nothing is lost: an s64 keeps its 64 bits, an f8 is a double. */

typedef XLA_FFI_DataType ccw_dtype;

typedef enum ccw_class {
  CCW_CLASS_NONE, /* not a dtype */
  CCW_CLASS_PRED,
  CCW_CLASS_SIGNED,
  CCW_CLASS_UNSIGNED,
  CCW_CLASS_FLOAT,
  CCW_CLASS_COMPLEX,
  CCW_CLASS_TOKEN,
} ccw_class;

typedef struct ccw_scalar {
  ccw_dtype dtype;
  union {
    bool pred;
    int64_t s;   /* signed */
    uint64_t u;  /* unsigned */
    double f;    /* float */
    double c[2]; /* complex: real, imaginary */
  } as;
} ccw_scalar;

/* "f32"; "invalid" for a number that is no dtype. */
CCW_API const char *ccw_dtype_name(ccw_dtype dtype);

/* The dtype of that name, INVALID where there is none. */
CCW_API ccw_dtype ccw_dtype_from_name(const char *name, size_t length);

/* Bits of an element in memory, 0 for token and for what is no dtype. */
CCW_API int ccw_dtype_bits(ccw_dtype dtype);

/* Its class, NONE for what is no dtype. */
CCW_API ccw_class ccw_dtype_class(ccw_dtype dtype);

/* Converts to another dtype. Floats round to nearest, ties to even, and overflow as the format says (infinity, NaN or its
 * largest value). To pred: everything but zero is true.
 * INVALID_ARGUMENT: a fraction, NaN or an infinity for an integer dtype; an imaginary part for a real one; a token.
 * OUT_OF_RANGE: a number that an integer dtype does not hold. */
CCW_API CCW_MUST_USE ccw_status ccw_scalar_convert(ccw_scalar scalar, ccw_dtype dtype, ccw_scalar *out_scalar);

/* Converts a number as people write it, without a dtype of their own, to the dtype that is wanted of it. An integer must fit, in
 * a float too, which must hold it exactly; a float rounds to another, and only overflow is refused; 2.0 is 2, a fraction is no
 * integer. A number is no pred, and a pred no number.
 * INVALID_ARGUMENT: it is none of that dtype. OUT_OF_RANGE: it does not fit. */
CCW_API CCW_MUST_USE ccw_status ccw_scalar_fit(ccw_scalar scalar, ccw_dtype dtype, ccw_scalar *out_scalar);

/* Reads an element of that dtype, which is one, out of memory at any address. */
CCW_API ccw_scalar ccw_scalar_load(ccw_dtype dtype, const void *memory);

/* Writes a number as an element of its dtype, to memory at any address. */
CCW_API void ccw_scalar_store(ccw_scalar scalar, void *memory);

/* The same dtype and number; 0.0 is -0.0, and a NaN equals nothing. */
CCW_API bool ccw_scalar_equal(ccw_scalar a, ccw_scalar b);

/* Adds the number alone: "0.1", "-3", "true", "(1, -0.0)". The shortest that reads back as the same element. */
CCW_API void ccw_scalar_print(ccw_scalar scalar, ccw_text *text);

/* ==== shape and type ===================================================================================================
 *
 * A shape is the type of an array: a dtype and its extents. It is immutable and copied by value. Rank 0 is a scalar; a
 * zero extent makes an empty array, which is legal everywhere. Sizes are checked once, when the shape is made, so that
 * code that holds a shape never has to ask again. A type is a shape or a tuple of types; its text is "f32[2,3]",
 * "token[]", "(f32[32], (f32[64], f32[128]))". */

enum { CCW_MAX_RANK = 32, CCW_MAX_TUPLE_DEPTH = 32 };

typedef struct ccw_shape {
  ccw_dtype dtype;
  int32_t rank;
  int64_t count;              /* elements: the product of dims, 1 for rank 0 */
  int64_t bytes;              /* in memory; elements of less than a byte are packed, the last byte padded */
  int64_t dims[CCW_MAX_RANK]; /* row-major, slowest first */
} ccw_shape;

/* Makes a shape of `rank` extents, read from `dims` (NULL is fine for rank 0).
 * INVALID_ARGUMENT: no dtype, a rank too high, an extent below zero, a token with a rank.
 * OUT_OF_RANGE: the size in bits does not fit in 63 bits. */
CCW_API CCW_MUST_USE ccw_status ccw_shape_make(
    ccw_dtype dtype, const int64_t *dims, int32_t rank, ccw_shape *out_shape);

/* The same dtype and extents. */
CCW_API bool ccw_shape_equal(const ccw_shape *a, const ccw_shape *b);

/* Reads the text of an array's type, "f32[2,3]". Spaces may stand between its parts.
 * INVALID_ARGUMENT, OUT_OF_RANGE: it is none; the message shows where. */
CCW_API CCW_MUST_USE ccw_status ccw_shape_parse(const char *text, size_t length, ccw_shape *out_shape);

/* Adds "f32[2,3]". */
CCW_API void ccw_shape_print(const ccw_shape *shape, ccw_text *text);

typedef struct ccw_type ccw_type;

/* Reads the text of a type, an array's or a tuple's, in the same way and with the same errors. */
CCW_API CCW_MUST_USE ccw_status ccw_type_parse(const char *text, size_t length, ccw_type **out_type);

/* The type of an array. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_type_of_shape(const ccw_shape *shape, ccw_type **out_type);

/* Another reference, and one less. */
CCW_API ccw_type *ccw_type_retain(ccw_type *type);
CCW_API void ccw_type_release(ccw_type *type);

/* The shape of an array type, borrowed; NULL for a tuple. */
CCW_API const ccw_shape *ccw_type_shape(const ccw_type *type);

/* Elements of a tuple, 0 for an array. */
CCW_API int64_t ccw_type_size(const ccw_type *type);

/* Element `i` of a tuple, borrowed. */
CCW_API ccw_type *ccw_type_element(const ccw_type *type, int64_t i);

/* The same type. */
CCW_API bool ccw_type_equal(const ccw_type *a, const ccw_type *b);

/* Adds the type's text, which ccw_type_parse reads back. */
CCW_API void ccw_type_print(const ccw_type *type, ccw_text *text);

/* ==== devices ===========================================================================================================
 *
 * A device has memory, streams of work, and runs code. "host" is this machine; "sim:0", "sim:1", ... are simulated GPUs, which
 * are always there; "cuda:0" and "rocm:0" are where a driver is. A device lives as long as the process, and works for any thread.
 *
 * Work is queued on streams and runs in the order of each. What fails while it runs is told by the first function that waits for
 * it; of a device that was broken by it, all say ABORTED from then on, until it is reset. */

typedef struct ccw_device ccw_device;
typedef struct ccw_stream ccw_stream;
typedef struct ccw_event ccw_event;
typedef struct ccw_module ccw_module;
typedef struct ccw_kernel ccw_kernel;
typedef struct ccw_graph ccw_graph;

typedef struct ccw_device_info {
  const char *name;     /* "sim:0" */
  const char *platform; /* canonical: whose handlers are called for what lies there */
  int32_t ordinal;
  char description[128]; /* "NVIDIA H200", "x86-64, 2 processors" */
  char architecture[32]; /* what code is compiled for: "sm_90", "gfx90a", "sim"; "" of the host */
  int64_t memory;        /* bytes; 0: unknown */
  int64_t memory_free;
  uint32_t warp_size;   /* of 0 it runs no kernels */
  uint32_t max_threads; /* of a block */
  uint32_t max_block[3], max_grid[3];
  int64_t max_shared; /* bytes of a block */
  int32_t processors;
} ccw_device_info;

/* The device of that name, "host", "sim:1", "cuda:0"; "sim" is "sim:0". Borrowed: it lives as long as the process.
 * NOT_FOUND: there is no such device, or not so many. UNAVAILABLE: its driver is not there, and what to do about it. */
CCW_API CCW_MUST_USE ccw_status ccw_device_open(const char *name, size_t length, ccw_device **out_device);

/* This machine. */
CCW_API ccw_device *ccw_device_host(void);

/* A callback for a device or, where there is none of that family, NULL and why. */
typedef void ccw_device_visitor(void *context, const char *name, ccw_device *device, ccw_status why);

/* Visits the devices that there are, and the families of which there are none. */
CCW_API void ccw_devices_visit(ccw_device_visitor *visit, void *context);

/* "sim:0". Borrowed. */
CCW_API const char *ccw_device_name(const ccw_device *device);

/* The canonical name of the platform whose handlers are called for what lies there. Borrowed. */
CCW_API const char *ccw_device_platform(const ccw_device *device);

/* Its number among those of its family, from 0. */
CCW_API int32_t ccw_device_ordinal(const ccw_device *device);

/* Has a simulated device answer to another platform, canonical: "cuda", "rocm". UNIMPLEMENTED: it is what it is. */
CCW_API CCW_MUST_USE ccw_status ccw_device_set_platform(ccw_device *device, const char *platform);

/* What is known of it. */
CCW_API ccw_device_info ccw_device_describe(ccw_device *device);

/* Something that the device cannot do, and why: number `i`; false past the end. Both are borrowed. */
CCW_API bool ccw_device_cannot(const ccw_device *device, size_t i, const char **out_what, const char **out_why);

/* Waits for all its work. */
CCW_API CCW_MUST_USE ccw_status ccw_device_synchronize(ccw_device *device);

/* Makes it the current device of this thread, for code that uses the vendor's runtime, as a handler does: cudaGetDevice. */
CCW_API CCW_MUST_USE ccw_status ccw_device_make_current(ccw_device *device);

/* Forgets its work, its memory and its failure. Memory that was taken before is gone: to give it back is fine and does nothing, to use
 * it is an error. UNIMPLEMENTED. */
CCW_API CCW_MUST_USE ccw_status ccw_device_reset(ccw_device *device);

/* Sets an option, for a simulated device: see ?device in Lua. NOT_FOUND, with names that are near; OUT_OF_RANGE. */
CCW_API CCW_MUST_USE ccw_status ccw_device_set(ccw_device *device, const char *option, double value);

/* ---- memory ---- */

/* `size` bytes of the device, with arbitrary content; NULL for none. `site` says for whom, for ccw_device_visit_memory, and is copied; it
 * may be NULL. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_device_allocate(
    ccw_device *device, size_t size, const char *site, void **out_memory);

/* Gives it back. NULL is fine. INVALID_ARGUMENT: it is none of the device's, or was given back already. */
CCW_API CCW_MUST_USE ccw_status ccw_device_release(ccw_device *device, void *memory);

/* Memory of the host from which copies to the device are quick and need not be waited for. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_device_allocate_pinned(ccw_device *device, size_t size, void **out_memory);

/* Gives it back; `size` is what was asked for. NULL is fine. */
CCW_API CCW_MUST_USE ccw_status ccw_device_release_pinned(ccw_device *device, void *memory, size_t size);

/* Whether all of these bytes are allocated there, as far as the device knows: not after a reset. */
CCW_API bool ccw_device_holds(ccw_device *device, const void *memory, size_t size);

/* A callback for what is allocated. */
typedef void ccw_allocation_visitor(void *context, const void *memory, size_t size, const char *site);

/* Visits what is allocated, the oldest first, where the device knows it. */
CCW_API void ccw_device_visit_memory(ccw_device *device, ccw_allocation_visitor *visit, void *context);

typedef enum ccw_copy_kind { CCW_COPY_TO_DEVICE, CCW_COPY_FROM_DEVICE, CCW_COPY_WITHIN } ccw_copy_kind;

/* Queues a copy; memory of the host must stay as it is until it is done. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_copy(
    ccw_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size);

/* Queues filling with a byte. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_fill(ccw_stream *stream, void *memory, int byte, size_t size);

/* Copies between memory of any two devices, the host being one, on the device's own streams, and waits for it. */
CCW_API CCW_MUST_USE ccw_status ccw_device_copy(
    ccw_device *to_device, void *to, ccw_device *from_device, const void *from, size_t size);

enum { CCW_ACCESS_DEPTH = 17 };

/* An access of host code to memory of a device, where only the device may. */
typedef struct ccw_host_access {
  const void *address;
  bool is_write;
  int32_t depth;
  uintptr_t code[CCW_ACCESS_DEPTH]; /* the instruction, then the return addresses of the functions around it */
} ccw_host_access;

/* What was noted since the last time: the first accesses to each allocation, up to `most`; how many. Only a simulated device
 * notes, and lets through; a real one ends the process. */
CCW_API int64_t ccw_device_take_accesses(ccw_device *device, ccw_host_access *accesses, int64_t most);

/* What ended the kernel that broke the device: an access, the first of its arguments that is no memory of the device, or a wait. */
typedef struct ccw_kernel_fault {
  char kernel[64];              /* its name, cut where it is longer */
  uint32_t block[3], thread[3]; /* which one, where it ran */
  const void *address;          /* NULL also where it was no access */
  const void *memory;           /* of an access: the start of the allocation that was left; NULL for none */
  size_t size;                  /* of that allocation */
  bool is_access, is_write;
  int32_t argument; /* the number of the argument that holds the address; -1: none, the kernel ran */
  int32_t depth;    /* of an access */
  uintptr_t code[CCW_ACCESS_DEPTH];
} ccw_kernel_fault;

/* The kernel that broke the device, until it is reset; false: there is none, or nobody knows. Only a simulated device does. */
CCW_API bool ccw_device_last_fault(ccw_device *device, ccw_kernel_fault *out_fault);

/* ---- streams and events ---- */

/* The device's own stream: of calls and copies for which none is named. Borrowed. */
CCW_API CCW_MUST_USE ccw_status ccw_device_stream(ccw_device *device, ccw_stream **out_stream);

/* Another stream. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_new(ccw_device *device, ccw_stream **out_stream);

/* Another reference, and one less; work that is queued still runs. Of the device's own, no more than were taken. */
CCW_API ccw_stream *ccw_stream_retain(ccw_stream *stream);
CCW_API void ccw_stream_release(ccw_stream *stream);

/* Whose it is. Borrowed. */
CCW_API ccw_device *ccw_stream_device(const ccw_stream *stream);

/* 0 of the device's own, then by age. */
CCW_API int64_t ccw_stream_number(const ccw_stream *stream);

/* What a handler gets: a CUstream, a hipStream_t, a ccw_sim_stream *; NULL on the host. */
CCW_API void *ccw_stream_handle(const ccw_stream *stream);

/* Waits for its work. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_synchronize(ccw_stream *stream);

/* Whether its work is done. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_query(ccw_stream *stream, bool *out_is_done);

/* What is queued on the stream from now on waits for the event, as it was recorded last. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_wait(ccw_stream *stream, ccw_event *event);

/* Makes an event, which happens once it was recorded on a stream. */
CCW_API CCW_MUST_USE ccw_status ccw_event_new(ccw_device *device, ccw_event **out_event);

/* Another reference, and one less. */
CCW_API ccw_event *ccw_event_retain(ccw_event *event);
CCW_API void ccw_event_release(ccw_event *event);

/* The event happens when what is queued on the stream now is done. */
CCW_API CCW_MUST_USE ccw_status ccw_event_record(ccw_event *event, ccw_stream *stream);

/* Waits for it; for one that was never recorded there is nothing to wait for. */
CCW_API CCW_MUST_USE ccw_status ccw_event_synchronize(ccw_event *event);

/* Seconds from one event to another. FAILED_PRECONDITION: one has not happened. */
CCW_API CCW_MUST_USE ccw_status ccw_event_seconds(ccw_event *from, ccw_event *to, double *out_seconds);

/* ---- code ---- */

/* A parameter of a kernel: a number or a pointer to memory of the device. */
typedef struct ccw_kernel_parameter {
  ccw_dtype dtype; /* of the number, or of what the pointer points to; INVALID: not known, or none of XLA's */
  size_t size;     /* bytes of the value */
  bool is_pointer, is_const;
} ccw_kernel_parameter;

typedef struct ccw_launch {
  uint32_t grid[3], block[3]; /* x, y, z */
  size_t shared_size;         /* bytes of dynamic shared memory */
  void *const *arguments;     /* the address of each value; they are copied */
  const size_t *sizes;        /* of each value */
  int64_t count;
} ccw_launch;

/* Loads code that was compiled for the device. NOT_FOUND: there is no such file. INVALID_ARGUMENT: it is none. */
CCW_API CCW_MUST_USE ccw_status ccw_module_load(ccw_device *device, const char *path, ccw_module **out_module);

/* Lets go of it, and of its kernels. NULL is fine. */
CCW_API void ccw_module_unload(ccw_module *module);

/* The kernel of that name, which lives as long as the module. NOT_FOUND, with the names that there are. */
CCW_API CCW_MUST_USE ccw_status ccw_module_kernel(ccw_module *module, const char *name, ccw_kernel **out_kernel);

/* Its parameters, borrowed; -1 where they are not known. */
CCW_API int64_t ccw_kernel_parameters(const ccw_kernel *kernel, const ccw_kernel_parameter **out_parameters);

/* Queues a launch. INVALID_ARGUMENT: extents of 0 or above the device's, too much shared memory, the wrong number or size of arguments; and
 * then nothing was queued, and the device works on. */
CCW_API CCW_MUST_USE ccw_status ccw_kernel_launch(ccw_kernel *kernel, const ccw_launch *launch, ccw_stream *stream);

/* Has the kernel that a simulated device runs now end as if its time were up: whoever waits for it is told CANCELLED, and the device is
 * broken until it is reset. False where none runs. A signal handler may ask. */
CCW_API bool ccw_device_interrupt(void);

/* ---- graphs ---- */

/* What is queued on the stream from now on does not run, and makes a graph. UNIMPLEMENTED. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_begin_capture(ccw_stream *stream);

/* Ends that. FAILED_PRECONDITION: something was done in between that a graph cannot hold, and what; the stream works on. */
CCW_API CCW_MUST_USE ccw_status ccw_stream_end_capture(ccw_stream *stream, ccw_graph **out_graph);

/* Queues all of it. */
CCW_API CCW_MUST_USE ccw_status ccw_graph_launch(ccw_graph *graph, ccw_stream *stream);

/* Lets go of it. NULL is fine. */
CCW_API void ccw_graph_free(ccw_graph *graph);

/* ==== compiling =========================================================================================================
 *
 * A source becomes a file of code: a library of handlers, or kernels for a device. What was compiled once is kept in a folder, $CCW_CACHE,
 * $XDG_CACHE_HOME/ccw or ~/.cache/ccw, and is found there by all that decided about it: the text, its name, the flags, the compiler, and the
 * files that were included. It holds up to 512 MiB, or $CCW_CACHE_SIZE MiB: what was used least recently goes, unless a process that lives has
 * used it. No compiler is needed to build or to start this library; each is looked for when it is wanted: $CC and
 * $CXX or the system's, NVRTC ($CCW_NVRTC), HIPRTC ($CCW_HIPRTC). The headers of ccw are found beside the library, or in $CCW_INCLUDE. */

enum { CCW_COMPILE_SECONDS = 60 };

typedef struct ccw_source {
  const char *language; /* "c" or "c++": handlers; "sim", "cuda" or "rocm": kernels */
  const char *name;     /* what messages call it, "axpy.cu"; NULL: "source.c" and the like */
  const char *text;     /* up to 64 MiB */
  size_t length;
  const char *architecture; /* of cuda "sm_90" or, for PTX, "compute_90"; of rocm "gfx90a"; NULL else */
  const char *const *flags; /* for the compiler, behind those of ccw */
  size_t flag_count;
  const char *const *kernels; /* that are wanted: "axpy", "axpy<float>", "mine::axpy" */
  size_t kernel_count;
  double time_limit;                /* seconds; 0: CCW_COMPILE_SECONDS */
  bool (*is_wanted)(void *context); /* asked now and then while a compiler runs: false ends it. NULL: it is */
  void *context;
} ccw_source;

typedef struct ccw_compiled {
  ccw_text path;    /* the file */
  ccw_text symbols; /* of each kernel that was wanted, a line each: its name for ccw_module_kernel */
  ccw_text log;     /* all that the compiler said, up to 1 MiB; after a failure, too */
  bool was_kept;    /* it had been compiled before */
} ccw_compiled;

/* Compiles a source, or finds what it became before. What is found stays as long as nobody removes it from the folder. Free the
 * outcome with ccw_compiled_free, after a failure, too. May be called from any thread; several processes may share the folder.
 * INVALID_ARGUMENT: it does not compile, with the errors and the lines of the source that they are about. NOT_FOUND: a kernel that was wanted is
 * not there. UNAVAILABLE: there is no such compiler, or no folder that can be written, and what to do about it. DEADLINE_EXCEEDED: it took too
 * long. CANCELLED: it was no longer wanted. A compiler ends with this process, however that ends. OUT_OF_RANGE: the source is too large. */
CCW_API CCW_MUST_USE ccw_status ccw_compile(const ccw_source *source, ccw_compiled *out_compiled);

/* Frees the texts. */
CCW_API void ccw_compiled_free(ccw_compiled *compiled);

/* ==== buffer ===========================================================================================================
 *
 * An array in memory, dense and row-major. On the host its memory starts at a multiple of 64 bytes, as a handler on XLA's CPU
 * may expect, unless it is a view into another buffer. The memory may be a device's: then elements are only to be had by
 * copying them, and functions which read or write elements are for buffers on the host. */

enum { CCW_BUFFER_ALIGNMENT = 64 };

typedef struct ccw_buffer ccw_buffer;

/* A buffer of that shape, zeroed or with arbitrary content. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_new(const ccw_shape *shape, bool zeroed, ccw_buffer **out_buffer);

/* The same on a device, with arbitrary content. `site` says for whom, see ccw_device_allocate. RESOURCE_EXHAUSTED, and what else
 * the device has to say. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_new_on(
    ccw_device *device, const ccw_shape *shape, const char *site, ccw_buffer **out_buffer);

/* Where its memory is. Borrowed, as all devices are. */
CCW_API ccw_device *ccw_buffer_device(const ccw_buffer *buffer);

/* Makes a buffer of memory that is somebody else's. At a multiple of 64 bytes it is used in place, and
 * release(context, memory) is called when it is no longer needed; elsewhere it is copied, released at once, and
 * *out_copied says so. `release` may be NULL. RESOURCE_EXHAUSTED, and then nothing was released. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_import(const ccw_shape *shape, void *memory,
    void (*release)(void *context, void *memory), void *context, bool *out_copied, ccw_buffer **out_buffer);

/* Makes a buffer of memory of a device that is lent for a while, at any address: what a handler finds in its frame. `label`, "arg 0 'x'",
 * is copied; messages call the buffer so. `lender` is whatever the caller wants to find in the loan again. Nothing may touch the
 * memory through the buffer, or a view of it, after it was recalled: ask ccw_buffer_loan. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_lend(ccw_device *device, const ccw_shape *shape, void *memory,
    const char *label, bool read_only, void *lender, ccw_buffer **out_buffer);

/* Ends the loan. */
CCW_API void ccw_buffer_recall(ccw_buffer *buffer);

typedef struct ccw_loan {
  const char *label; /* "" for memory that is not lent. Borrowed from the buffer */
  bool read_only;    /* nobody may write there */
  bool is_over;      /* it was recalled */
  void *lender;      /* as it was lent */
} ccw_loan;

/* What holds of the memory under a buffer. */
CCW_API ccw_loan ccw_buffer_loan(const ccw_buffer *buffer);

/* A buffer over the elements of `buffer` from `first` on, in a shape of the same dtype. It shares the memory and keeps it
 * alive. INVALID_ARGUMENT: another dtype. OUT_OF_RANGE: it would pass the end. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_view(
    ccw_buffer *buffer, const ccw_shape *shape, int64_t first, ccw_buffer **out_view);

/* The same elements in another shape. It shares the memory and keeps it alive. INVALID_ARGUMENT: another dtype, or another
 * number of elements. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_reshape(ccw_buffer *buffer, const ccw_shape *shape, ccw_buffer **out_view);

/* Which positions of a dim are meant: first, first + step, ... */
typedef struct ccw_range {
  int64_t first; /* from 0 */
  int64_t count; /* of 0 nothing else is looked at */
  int64_t step;  /* below 0 it goes backward */
  bool is_index; /* of a count of 1: the slice is without this dim */
} ccw_range;

/* The elements at these positions, a range for each dim. Where they lie one behind the other and start at a multiple of 64 bytes, the
 * slice shares the memory and keeps it alive; else it is packed into a new buffer on the same device, to and from which it goes
 * through the host, and *out_packed says so. What was undefined still is.
 * INVALID_ARGUMENT: another number of ranges than dims, a step of 0, a count below 0, an index of more or less than one position.
 * OUT_OF_RANGE: a position outside of its dim. RESOURCE_EXHAUSTED, and what a device has to say. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_slice(
    ccw_buffer *buffer, const ccw_range *ranges, int32_t count, bool *out_packed, ccw_buffer **out_slice);

/* A new buffer with the dims in the opposite order: what was column-major is row-major then. On the host. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_transpose(const ccw_buffer *buffer, ccw_buffer **out_buffer);

/* Reverses the bytes of each number in place, of a complex one those of either part. On the host. */
CCW_API void ccw_buffer_swap_bytes(ccw_buffer *buffer);

/* Overwrites the memory, on the host, with bytes of an open file from `offset` on, with two threads where that is worth it.
 * INVALID_ARGUMENT: a view that shares a byte with its neighbours. DATA_LOSS: the file ends before. UNAVAILABLE: it cannot be read. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_read_file(ccw_buffer *buffer, int file, int64_t offset);

/* Writes the memory, on the host, to an open file, where that stands. INVALID_ARGUMENT: a view that shares a byte with its neighbours.
 * UNAVAILABLE: it cannot be written. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_write_file(const ccw_buffer *buffer, int file);

/* Another reference, and one less. */
CCW_API ccw_buffer *ccw_buffer_retain(ccw_buffer *buffer);
CCW_API void ccw_buffer_release(ccw_buffer *buffer);

/* The shape, borrowed. */
CCW_API const ccw_shape *ccw_buffer_shape(const ccw_buffer *buffer);

/* The first element's memory; NULL for a token, and for a view of packed elements that shares a byte with its neighbours. */
CCW_API void *ccw_buffer_data(const ccw_buffer *buffer);

/* Element `i`, counted row-major; the caller keeps i within the count. A pred is true for every byte but 0. */
CCW_API ccw_scalar ccw_buffer_get(const ccw_buffer *buffer, int64_t i);

/* The same, wherever the buffer is: one element is copied. What its device has to say. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_fetch(const ccw_buffer *buffer, int64_t i, ccw_scalar *out_scalar);

/* Writes element `i`, converted as by ccw_scalar_convert, whose errors it returns. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_set(ccw_buffer *buffer, int64_t i, ccw_scalar scalar);

/* Writes every element. Errors of ccw_scalar_convert. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_fill(ccw_buffer *buffer, ccw_scalar scalar);

/* Element k becomes k or, with a dim of 0 or more, its position in that dim.
 * INVALID_ARGUMENT: no such dim. OUT_OF_RANGE: the dtype does not hold the numbers. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_iota(ccw_buffer *buffer, int32_t dim);

/* Element k becomes a number drawn from `seed` and k alone: floats uniform in [low, high) and then rounded, integers and
 * pred in low .. high inclusive. INVALID_ARGUMENT: low above high, or a token. OUT_OF_RANGE or INVALID_ARGUMENT: bounds that
 * the dtype does not hold. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_random(ccw_buffer *buffer, uint64_t seed, ccw_scalar low, ccw_scalar high);

/* A new buffer with every element converted. Errors of ccw_scalar_convert, with the element's position in front. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_cast(const ccw_buffer *buffer, ccw_dtype dtype, ccw_buffer **out_buffer);

/* Adds the place of element `i` as Lua reads it: "[1][3]"; nothing for rank 0. */
CCW_API void ccw_buffer_print_index(const ccw_buffer *buffer, int64_t i, ccw_text *text);

/* Copies all elements between buffers of one dtype and count. INVALID_ARGUMENT: they differ. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_copy(const ccw_buffer *from, ccw_buffer *to);

/* Marks the memory of a buffer as holding nothing that means anything, or as good again. A call that fails does so with its
 * results; what is written here afterwards is good again. Views of the same memory are undefined too. */
CCW_API void ccw_buffer_set_undefined(ccw_buffer *buffer, bool undefined);

/* Whether some of its elements hold nothing that means anything. */
CCW_API bool ccw_buffer_is_undefined(const ccw_buffer *buffer);

/* DATA_LOSS: a pred that is neither 0 nor 1, with its position. */
CCW_API CCW_MUST_USE ccw_status ccw_buffer_check(const ccw_buffer *buffer);

typedef struct ccw_summary {
  int64_t numbers; /* elements that are not NaN */
  int64_t nans;
  double min, max, mean; /* over the numbers; NaN where there are none. Not for complex: NaN */
} ccw_summary;

/* What a person wants to know of an array too long to print. */
CCW_API ccw_summary ccw_buffer_summarize(const ccw_buffer *buffer);

/* ==== attributes =======================================================================================================
 *
 * A dictionary of a call, sorted by name at every level, copied when it is built and then immutable. It holds what XLA's
 * runtime can hand to a handler: scalars of pred, s8 to s64, u8 to u64, f32 and f64; arrays of those but pred; strings of
 * any bytes; dictionaries. */

typedef struct ccw_attributes ccw_attributes;
typedef struct ccw_attributes_builder ccw_attributes_builder;

/* Starts a dictionary. RESOURCE_EXHAUSTED. */
CCW_API CCW_MUST_USE ccw_status ccw_attributes_begin(ccw_attributes_builder **out_builder);

/* Adds an attribute; names and contents are copied. INVALID_ARGUMENT: a dtype that no attribute has. */
CCW_API CCW_MUST_USE ccw_status ccw_attributes_add_scalar(
    ccw_attributes_builder *builder, const char *name, size_t name_length, ccw_scalar scalar);
CCW_API CCW_MUST_USE ccw_status ccw_attributes_add_array(ccw_attributes_builder *builder, const char *name,
    size_t name_length, ccw_dtype dtype, const void *elements, int64_t count);
CCW_API CCW_MUST_USE ccw_status ccw_attributes_add_string(
    ccw_attributes_builder *builder, const char *name, size_t name_length, const char *bytes, size_t length);
CCW_API CCW_MUST_USE ccw_status ccw_attributes_add_dictionary(
    ccw_attributes_builder *builder, const char *name, size_t name_length, const ccw_attributes *dictionary);

/* Sorts and freezes. The builder is gone afterwards, in every case. INVALID_ARGUMENT: a name that came twice. */
CCW_API CCW_MUST_USE ccw_status ccw_attributes_finish(ccw_attributes_builder *builder, ccw_attributes **out_attributes);

/* Throws away a builder that is not wanted any more; NULL is fine. */
CCW_API void ccw_attributes_discard(ccw_attributes_builder *builder);

/* Another reference, and one less. */
CCW_API ccw_attributes *ccw_attributes_retain(ccw_attributes *attributes);
CCW_API void ccw_attributes_release(ccw_attributes *attributes);

/* The dictionary as a handler sees it, borrowed. NULL gives an empty one. */
CCW_API const XLA_FFI_Attrs *ccw_attributes_abi(const ccw_attributes *attributes);

/* Adds "{eps = f32(1e-05), mode = "fast", n = 3}". Plain numbers are s64 (3) and f64 (1.5). */
CCW_API void ccw_attributes_print(const XLA_FFI_Attrs *attributes, ccw_text *text);

/* ==== signature ========================================================================================================
 *
 * What a handler binds, as text: contexts, operands and results by pattern, attributes by kind.
 *
 *   block_norm(@state, x: f32[r,n], w: f32[n]) -> (y: f32[r,n]) {block: s64, eps: f32}
 *   many(@stream, b: bf16[*], mask?: pred[n], ...) -> (o: f32[], ...) {op: s32 = add(0)|mul(1), at: {lo: s64, hi: s64}, ...}
 *
 * Operands and results. f32[4,n,?] has three dims: one of size 4, one of any size that is captured as n, one of any size.
 * The same name again means the same size, anywhere in the signature. s32|s64[n] takes either dtype, any[n] every one, and
 * T[n] too: a capital letter captures the dtype. [*] is any rank, [n,*] a rank of 1 or more, [*1|2] one of these. `mask?: ` is
 * an optional one (`?: ` without a name), `...` the remaining ones; both come last. `?` alone is one of which nothing is
 * known.
 * Attributes. s64 is a scalar, s32[] an array, `string` a string, {...} a dictionary that is read late, {lo: s64, hi: s64} one
 * of just these members, `pointer` an address in an s64, s32 = add(0)|mul(1) an enum (with |... an open one, which has other
 * values too), `?` unknown. Any other word is a kind of somebody's own. `...` lets further attributes be there; ...T says that
 * all of them are the members of the struct T. Names that are no identifiers are quoted: "a b": f32.
 * Contexts. @stream, @run_id, or with a type: @state(T), @user_data(T); @new_state(T) is a state that is made; @T is a context
 * of somebody's own.
 * Spaces may stand anywhere, and a comma behind the last item of a list. A family, of operands, of results or of attributes,
 * of which a signature binds nothing is not looked at: any number of them is accepted, as XLA does. */

typedef struct ccw_signature ccw_signature;

/* The text of the kind of that name, "s32 = add(0)|mul(1)"; NULL where there is none. It stays until the next question. */
typedef const char *ccw_kind_finder(void *context, const char *name);

/* Reads the text of a signature. `find` is asked for kinds by name; NULL knows none. A kind that is not found is somebody's
 * own, CCW_FORM_TYPE. INVALID_ARGUMENT, OUT_OF_RANGE: it is none; the message shows where. */
CCW_API CCW_MUST_USE ccw_status ccw_signature_parse(
    const char *text, size_t length, ccw_kind_finder *find, void *context, ccw_signature **out_signature);

/* Another reference, and one less. */
CCW_API ccw_signature *ccw_signature_retain(ccw_signature *signature);
CCW_API void ccw_signature_release(ccw_signature *signature);

/* Adds the text, which ccw_signature_parse reads back: contexts, operands, results, attributes, with every kind spelt out. */
CCW_API void ccw_signature_print(const ccw_signature *signature, ccw_text *text);

/* What stands in front of the operands, "" where there is nothing. Borrowed. */
CCW_API const char *ccw_signature_name(const ccw_signature *signature);

/* The signature as the binding of a handler, in the order in which it was declared. It has no handler, and of the types of
 * contexts and states only the names, as ccw_type_info. Borrowed. */
CCW_API const ccw_binding *ccw_signature_binding(const ccw_signature *signature);

/* A name that stands for a size or, a letter, for a dtype; one struct for each name of a signature. */
typedef struct ccw_signature_capture {
  const char *name;
  bool is_letter;
  int64_t number; /* of the captures of this signature, from 0 */
} ccw_signature_capture;

typedef struct ccw_signature_dim {
  int64_t size;                         /* -1: not given */
  const ccw_signature_capture *capture; /* NULL: none; any size, where none is given either */
} ccw_signature_dim;

/* What an operand or a result must be, finer than a binding can say it. */
typedef struct ccw_signature_pattern {
  bool is_unknown;                     /* nothing is known of it */
  uint64_t dtypes;                     /* bit n: the dtype of number n; all bits: any */
  const ccw_signature_capture *letter; /* captures the dtype; NULL: not captured */
  uint64_t ranks;                      /* bit n: rank n, up to CCW_MAX_RANK */
  int64_t size;                        /* of dims, from dim 0 on; the rank may be higher */
  const ccw_signature_dim *dims;
} ccw_signature_pattern;

/* The pattern of parameter `i` of the binding, NULL for what is no operand and no result. Borrowed. */
CCW_API const ccw_signature_pattern *ccw_signature_pattern_of(const ccw_signature *signature, int64_t i);

/* Adds the pattern or the kind of parameter `i` as it stands in the text: "f32[r,n]", "@stream", "s64", "...". */
CCW_API void ccw_signature_print_parameter(const ccw_signature *signature, int64_t i, ccw_text *text);

/* How many parameters of that word there are. */
CCW_API int64_t ccw_signature_count(const ccw_signature *signature, ccw_word word);

/* Checks a call: shapes of operands and of results, and attributes (NULL: none). `who` begins the message; NULL: the
 * signature's name. INVALID_ARGUMENT: all that is wrong, a line each. */
CCW_API CCW_MUST_USE ccw_status ccw_signature_check(const ccw_signature *signature, const char *who,
    const ccw_shape *const *operands, int64_t operand_count, const ccw_shape *const *results, int64_t result_count,
    const XLA_FFI_Attrs *attributes);

/* The shapes of the regular results, ccw_signature_count(signature, CCW_WORD_RET) of them, as the operands determine them;
 * optional and remaining ones are left out. INVALID_ARGUMENT: the operands do not fit, or a dtype, rank or dim is not
 * determined by them; the message names it. OUT_OF_RANGE: a size that is too large. */
CCW_API CCW_MUST_USE ccw_status ccw_signature_results(const ccw_signature *signature, const char *who,
    const ccw_shape *const *operands, int64_t operand_count, ccw_shape *out_results);

/* Checks a signature that somebody declared against what the binary tells of itself: it may say more, and nothing else.
 * Contexts and names of operands are not compared. INVALID_ARGUMENT: all that disagrees, a line each. */
CCW_API CCW_MUST_USE ccw_status ccw_signature_agree(
    const ccw_signature *declared, const ccw_signature *told, const char *who);

/* ==== comparison ======================================================================================================*/

typedef struct ccw_comparison {
  bool close;     /* |a - b| <= atol + rtol * |b|, or within max_ulp; else equal */
  bool bitwise;   /* equal means equal bits: -0.0 is not 0.0, a NaN equals the same NaN */
  bool equal_nan; /* a NaN equals a NaN */
  double rtol, atol;
  int64_t max_ulp; /* close also where the two are at most that many representable numbers apart; 0: not asked */
} ccw_comparison;

typedef struct ccw_difference {
  bool dtype, shape; /* these differ, and nothing further was looked at */
  int64_t count;     /* elements that differ */
  int64_t first;     /* the first of them, row-major, -1 where there is none */
  int64_t worst;     /* the one furthest apart; a NaN is further than any number */
  double distance;   /* of the worst: |a - b| */
  double relative;   /* of the worst: |a - b| / |b| */
} ccw_difference;

/* Compares two buffers element by element. It cannot fail: nothing is allocated. */
CCW_API ccw_difference ccw_buffer_compare(const ccw_buffer *a, const ccw_buffer *b, const ccw_comparison *comparison);

/* ==== handler, library, registry =======================================================================================
 *
 * A handler is the functions of one custom call by stage, with what they say of themselves: the API version that they were
 * built for and their traits. It comes out of a library, or out of a bundle of pointers. */

typedef struct ccw_handler ccw_handler;
typedef struct ccw_library ccw_library;

/* Makes a handler of function pointers and asks its execute function (and instantiate, for the type of its state) for
 * metadata, as XLA does when a handler is registered. `library`, or NULL, is kept loaded as long as the handler lives.
 * INVALID_ARGUMENT: no execute function, no answer to the question, or a version that is not spoken here.
 * Other codes: what the function answered. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_new(const char *name, const XLA_FFI_Handler_Bundle *bundle,
    XLA_FFI_Handler_Traits traits, ccw_library *library, ccw_handler **out_handler);

enum { CCW_STAGE_COUNT = 5 };

/* Makes one handler of several, by stage: each gives its execute function, and is retained; NULL where there is none for a stage.
 * The signature is that of the one for execute. Errors of ccw_handler_new. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_of_stages(
    const char *name, ccw_handler *const handlers[CCW_STAGE_COUNT], ccw_handler **out_handler);

/* Another reference, and one less. */
CCW_API ccw_handler *ccw_handler_retain(ccw_handler *handler);
CCW_API void ccw_handler_release(ccw_handler *handler);

typedef struct ccw_handler_info {
  const char *name;    /* borrowed from the handler */
  const char *library; /* the library's path, "" where there is none; borrowed */
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
  int major, minor;   /* API version that it claims */
  int64_t state_type; /* type id of the state that instantiate makes, else 0 */
} ccw_handler_info;

/* What is known of a handler. */
CCW_API ccw_handler_info ccw_handler_describe(const ccw_handler *handler);

/* The signature of a handler, as far as it is known: NULL where it is not. Borrowed. */
CCW_API ccw_signature *ccw_handler_signature(const ccw_handler *handler);

/* Tells a handler its signature, which it retains. The first one stays: a handler that has one keeps it. */
CCW_API void ccw_handler_set_signature(ccw_handler *handler, ccw_signature *signature);

/* The signature of a handler, borrowed, from wherever it is known without calling the handler: it was told, the library
 * carries it as data, or somebody asked in another process, see ccw_library_tell. A handler keeps what was found.
 * UNAVAILABLE: not known, but its library can be asked. INVALID_ARGUMENT: the library carries damaged data.
 * NOT_FOUND: asking has shown that it is no handler. FAILED_PRECONDITION: not known, and why. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_find_signature(ccw_handler *handler, ccw_signature **out_signature);

/* Asks a handler of the official C++ binding for its signature, which is borrowed and which it keeps: its execute function is
 * called with frames that it cannot take, and says what it expected; '?' is what cannot be told in this way. The body runs
 * only where nothing is bound that could be wrong. All the same the handler may crash or hang: ask in a process that may.
 * FAILED_PRECONDITION: it is not of that binding. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_ask(ccw_handler *handler, ccw_signature **out_signature);

/* The signature of the function of one stage, with a reference: what its binary tells of it, whatever was declared. Errors of
 * ccw_handler_find_signature; NOT_FOUND: also for a stage without a function. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_stage_signature(
    ccw_handler *handler, XLA_FFI_ExecutionStage stage, ccw_signature **out_signature);

/* Whether asking a function of the handler has shown that it binds a type which was not registered: ccw_library_tell_type. */
CCW_API bool ccw_handler_lacks_type(const ccw_handler *handler);

/* Makes a handler of the function of one stage. NOT_FOUND: there is none. Errors of ccw_handler_new. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_of_stage(
    ccw_handler *handler, XLA_FFI_ExecutionStage stage, ccw_handler **out_handler);

/* The library that the function of a stage came out of, NULL for none. Borrowed. */
CCW_API ccw_library *ccw_handler_library(const ccw_handler *handler, XLA_FFI_ExecutionStage stage);

/* Adds where the code of a stage lies, "+0x1a40" in its own library, "other.so+0x1a40" in another: the same in every
 * process that loads them. Its name where it lies in none. */
CCW_API void ccw_handler_place(const ccw_handler *handler, XLA_FFI_ExecutionStage stage, ccw_text *out_place);

/* A function to be a handler: it gets frames that fit the signature, with every number, dtype, rank, dim and attribute that
 * this one says. What it returns leaves the handler with the handler's name and the stage in front. */
typedef ccw_status ccw_function(void *context, XLA_FFI_CallFrame *frame);

/* Makes a handler out of a function and a signature, a true XLA_FFI_Handler of one stage that any runtime can call from any
 * thread, as long as the handler lives. It answers the question for metadata, and refuses frames that do not fit with a report
 * of all that is wrong; in the stage instantiate operands need no data. release(context), NULL for nothing to do, is called at
 * the handler's end. Contexts are for the function to ask for, and state for it to make: `state`, borrowed as long as the
 * handler lives, is its type, NULL where the signature has no @new_state.
 * RESOURCE_EXHAUSTED, and then the context was not released. */
CCW_API CCW_MUST_USE ccw_status ccw_handler_of_function(const char *name, ccw_signature *signature,
    XLA_FFI_ExecutionStage stage, const XLA_FFI_TypeId *state, ccw_function *function, void (*release)(void *context),
    void *context, ccw_handler **out_handler);

/* Loads a shared library: the file of that path or, where there is no such file, the library of that name as the
 * dynamic linker finds it. All symbols are bound at once, and kept to the library. Its code stays in the process; a file
 * that has changed since it was loaded is loaded anew beside it, and what the old code registered by itself the new code
 * may register again.
 * NOT_FOUND: no such file. PERMISSION_DENIED: it may not be read. INVALID_ARGUMENT: not a shared library.
 * FAILED_PRECONDITION: a library that it needs, or a symbol, is missing; the message names it. */
CCW_API CCW_MUST_USE ccw_status ccw_library_open(const char *path, ccw_library **out_library);

/* Loads a Python extension module and takes the handlers out of its capsules; calls none. `module` is "klujax_cpp" or a
 * path that ends in .so. It is sought in the folders of `path` (may be NULL; `path_size` of them), in PYTHONPATH, in the
 * site-packages of VIRTUAL_ENV and of Python itself, and in the folder `last` (may be NULL).
 * UNAVAILABLE: there is no libpython to load it into. NOT_FOUND: no such module. FAILED_PRECONDITION: it cannot be
 * imported, with Python's own message. */
CCW_API CCW_MUST_USE ccw_status ccw_library_open_python(
    const char *module, const char *const *path, size_t path_size, const char *last, ccw_library **out_library);

/* Another reference, and one less. */
CCW_API ccw_library *ccw_library_retain(ccw_library *library);
CCW_API void ccw_library_release(ccw_library *library);

/* The path that the library was loaded from, or the module's file; borrowed. */
CCW_API const char *ccw_library_path(const ccw_library *library);

/* The handler of that name: an exported function, or a capsule of a Python module.
 * NOT_FOUND, with names that are near. INVALID_ARGUMENT: not a function; errors of ccw_handler_new. */
CCW_API CCW_MUST_USE ccw_status ccw_library_handler(ccw_library *library, const char *name, ccw_handler **out_handler);

/* Adds the place of the function of a stage of that name, as by ccw_handler_place, without calling it. Errors of
 * ccw_library_handler; NOT_FOUND: also for a stage without a function. */
CCW_API CCW_MUST_USE ccw_status ccw_library_place(
    ccw_library *library, const char *name, XLA_FFI_ExecutionStage stage, ccw_text *out_place);

/* The signature of the function of that name, with a reference, as by ccw_handler_find_signature and without calling it.
 * Errors of both. */
CCW_API CCW_MUST_USE ccw_status ccw_library_find_signature(
    ccw_library *library, const char *name, ccw_signature **out_signature);

/* Remembers what was found out about the function at a place by asking in another process: the text of its signature or, where
 * that is NULL, why there is none; neither, for what is no handler. The place "" is everything of which nothing else was told:
 * from then on nothing is left to ask. Errors of ccw_signature_parse. */
CCW_API CCW_MUST_USE ccw_status ccw_library_tell(
    ccw_library *library, const char *place, const char *signature, const char *why);

/* Remembers that the function at a place did not survive the question, since it binds a type which is not registered; "" where
 * its name is not known. Calls of it are refused until there are more types than there were: then it can be asked again. */
CCW_API CCW_MUST_USE ccw_status ccw_library_tell_type(ccw_library *library, const char *place, const char *type);

/* How another process loads the same library: adds the path or "python:" and the module, then the folders in which a module
 * is sought first, a NUL behind each. FAILED_PRECONDITION: it cannot, since the file has changed. */
CCW_API CCW_MUST_USE ccw_status ccw_library_origin(const ccw_library *library, ccw_text *out_origin);

/* A callback for names; returns false to stop. */
typedef bool ccw_name_visitor(void *context, const char *name);

/* Visits the names that could be handlers: exported functions, or the capsules of a Python module. */
CCW_API CCW_MUST_USE ccw_status ccw_library_names(const ccw_library *library, ccw_name_visitor *visit, void *context);

/* The same for the file of a shared library, which is read and not loaded, so that none of its code runs.
 * NOT_FOUND, INVALID_ARGUMENT: as ccw_library_open. */
CCW_API CCW_MUST_USE ccw_status ccw_library_file_names(const char *path, ccw_name_visitor *visit, void *context);

/* A callback for a name and the signature that is carried for it: NULL where none is, or where the data is damaged, and then
 * `problem` tells how. Both are borrowed. Returns false to stop. */
typedef bool ccw_signature_visitor(void *context, const char *name, const ccw_signature *signature, ccw_status problem);

/* Visits the names in the file of a shared library with the signatures that it carries as data. The file is read and not
 * loaded, so that none of its code runs. Errors of ccw_library_file_names. */
CCW_API CCW_MUST_USE ccw_status ccw_library_file_signatures(
    const char *path, ccw_signature_visitor *visit, void *context);

/* What the library registered by itself while it was loaded, one line each, "scale on Host", and what it tried to and
 * was refused; "" for most. Borrowed. */
CCW_API const char *ccw_library_registered(const ccw_library *library);
CCW_API const char *ccw_library_refused(const ccw_library *library);

enum { CCW_PLATFORM_SIZE = 32 };

/* The canonical name of a platform: lower case, "cpu" is "host", "gpu" is "cuda", "oneapi" is "sycl". INVALID_ARGUMENT: not of
 * printable ASCII without spaces, or of more than 31 bytes. */
CCW_API CCW_MUST_USE ccw_status ccw_platform_canonical(
    const char *platform, size_t length, char out_platform[CCW_PLATFORM_SIZE]);

/* Registers a handler under a name for a platform, which is made canonical. The same handler again is fine; another one under
 * a taken name is refused unless `replace`.
 * INVALID_ARGUMENT: a name that is taken by another handler, or empty; a platform that has no such name. */
CCW_API CCW_MUST_USE ccw_status ccw_registry_add(const char *name, size_t name_length, const char *platform,
    size_t platform_length, ccw_handler *handler, bool replace);

/* Looks a handler up and gives a reference to it.
 * NOT_FOUND: the message says on which platforms the name is registered, and names that are near. */
CCW_API CCW_MUST_USE ccw_status ccw_registry_find(
    const char *name, size_t name_length, const char *platform, size_t platform_length, ccw_handler **out_handler);

/* Registration number `i` in the order of names and platforms: adds the name and the canonical platform to texts and gives a
 * reference to the handler. False past the end, and then nothing is given. */
CCW_API bool ccw_registry_at(size_t i, ccw_text *out_name, ccw_text *out_platform, ccw_handler **out_handler);

/* ==== types of state and user data =====================================================================================
 *
 * State and user data pass through the runtime as pointers, and each has a type: a name, and an id that the runtime gives to
 * the variable in which the handlers of that type look for it. Types stay registered until the process ends. */

/* Registers a type under a name. *type_id is 0, and gets an id that is free, or is an id of the caller's. `info`, NULL for types
 * of user data, says how state of that type ends; it is copied. The same name with the same id again is fine.
 * INTERNAL, as in XLA: the name has another id. INVALID_ARGUMENT: no name, or no type_id. */
CCW_API CCW_MUST_USE ccw_status ccw_state_type_register(
    const char *name, size_t name_length, XLA_FFI_TypeId *type_id, const XLA_FFI_TypeInfo *info);

/* The id of the type of that name, 0 where there is none. */
CCW_API int64_t ccw_state_type_find(const char *name, size_t name_length);

/* Type number `i`, the newest first: adds its name to a text; *out_is_state: it may be state. False past the end. */
CCW_API bool ccw_state_type_at(size_t i, ccw_text *out_name, int64_t *out_id, bool *out_is_state);

/* Registers a type with the variables, or the functions without parameters that give their addresses, of those names in a
 * library. `id_symbol` and `info_symbol` may be NULL: then ccw_type_id_NAME and ccw_type_info_NAME are sought, and what C++
 * calls NAME::id and NAME::info; without an info it is a type of user data. Where they are sought and another type has the
 * name, the file's name goes in front, "libmine.so: NAME". Adds the name under which it is registered to `out_name`.
 * NOT_FOUND, with what could be meant. Errors of ccw_state_type_register. */
CCW_API CCW_MUST_USE ccw_status ccw_library_register_type(
    ccw_library *library, const char *name, const char *id_symbol, const char *info_symbol, ccw_text *out_name);

/* A callback for a type of a library; returns false to stop. */
typedef bool ccw_type_visitor(void *context, const char *type, bool is_registered);

/* Visits the types whose ids have variables in the library, in their order. */
CCW_API void ccw_library_types(const ccw_library *library, ccw_type_visitor *visit, void *context);

/* Gives every variable of the library that may be the id of a type, and has none, one that means nothing: in a process which
 * only asks handlers what they bind, since the official binding asserts that ids are there. */
CCW_API void ccw_library_invent_types(ccw_library *library);

/* ==== threads ==========================================================================================================*/

/* How many threads the pool has on which handlers run tasks: as many as there are processors, or as were set. */
CCW_API int64_t ccw_pool_size(void);

/* Sets how many. Threads that are one too many end after their task. INVALID_ARGUMENT: not 1 to 1024. */
CCW_API CCW_MUST_USE ccw_status ccw_pool_resize(int64_t size);

/* ==== call =============================================================================================================
 *
 * A call that is built once and run many times: handler, operands, results and attributes, in a frame that is built and
 * frozen before the first run. It is what XLA calls a call site: the handler's instantiate function runs when it is prepared,
 * and the state that this makes lives as long as the call. Running it allocates nothing. It holds its buffers, so that they
 * may be released. */

typedef struct ccw_call ccw_call;

typedef struct ccw_alias {
  int64_t result;
  int64_t operand;
} ccw_alias;

typedef struct ccw_user_data {
  int64_t type_id;
  void *data; /* borrowed */
} ccw_user_data;

typedef struct ccw_call_options {
  const char *name;         /* what messages call it; NULL: the handler's name */
  const ccw_alias *aliases; /* results that may share the memory of an operand */
  int64_t alias_count;
  int64_t run_id;
  int32_t device_ordinal; /* what handlers are told: 0: the device's own, which is 0 of the host; -1: unknown */
  bool strict;            /* check results after the call, see ccw_buffer_check */
  bool as_it_is;          /* do not hold the call against the handler's signature: the handler sees what is given */
  bool checked;           /* run the handler on copies of the buffers that tell what it does wrong, see ccw_call_run */
  bool has_side_effect;   /* of a checked call: the handler may not be run more often than it is asked to */
  ccw_device *
      device; /* where it runs; NULL: where its buffers are, the host if there are none. A run on the host is the stage execute
                       * alone, elsewhere prepare and initialize come before */
  ccw_stream *stream; /* of that device; NULL: its own */
  unsigned stages;    /* of a run, 1 << XLA_FFI_ExecutionStage_EXECUTE and the like, in their order; 0: as above */
  bool by_hand;       /* no stage runs before ccw_call_run or ccw_call_stage, instantiate neither */
  bool like_xla;      /* offer what XLA's CPU offers and nothing else: no scratch memory */
  const ccw_user_data *user_data; /* what handlers find by type; the list is copied */
  int64_t user_data_count;
  ccw_attributes *custom_options; /* retained; NULL: none */
} ccw_call_options;

/* Prepares a call. All operands and results are on one device, whose platform it is then. `attributes` may be NULL (none), so may `options` (all zero).
 * An aliased result is either the operand's own buffer, which is then overwritten, or another buffer of its shape: then
 * the operand's content is copied there before each run and the handler sees the result's memory as the operand too.
 * INVALID_ARGUMENT: an operand or result that is missing, not aligned or elsewhere than the others, a result that shares memory with another operand
 * or result without a declared alias, an alias that names none or whose shapes differ: all in one message; and then all that
 * does not fit the handler's signature, if it is known: ccw_handler_signature. FAILED_PRECONDITION: the handler binds state or
 * user data of a type that is not registered. Else what its instantiate function says; nothing is left of a call that fails. */
CCW_API CCW_MUST_USE ccw_status ccw_call_prepare(ccw_handler *handler, ccw_buffer *const *operands,
    int64_t operand_count, ccw_buffer *const *results, int64_t result_count, ccw_attributes *attributes,
    const ccw_call_options *options, ccw_call **out_call);

/* Runs it and waits for its future, if it has one. A failure of the handler keeps its code and text; the name and the stage
 * stand in front of the text. When the execute function fails the results are undefined: ccw_buffer_is_undefined. On a device
 * other than the host it waits for the stream, too, whose failure is the call's.
 * UNKNOWN: also a C++ exception out of the handler, with its text. FAILED_PRECONDITION: it is running already.
 * PERMISSION_DENIED: code of the host touched memory of a simulated device; the report names operand, element, and the line of the
 * code where that is known.
 *
 * A checked call runs the handler on copies, on the host; elsewhere it is like any other. Memory around them may not be touched, operands are read only, results hold a
 * pattern. What the handler does wrong is let through, so that it comes to its end, and then the call fails, with all of it in
 * one report that names operand, element, and the line of the code where that is known. What one run does not show, such as
 * a read of the bytes right behind a buffer, shows when the handler runs again, on other copies in a forked child, which
 * happens after each run that succeeded unless the call has a side effect, or the handler is written in Lua. State that it has is
 * there as the child's own. What a failing handler did wrong follows its own text.
 * OUT_OF_RANGE: it read or wrote past an end, or in front of a beginning. PERMISSION_DENIED: it wrote to an operand.
 * DATA_LOSS: it left elements of a result unwritten. */
CCW_API CCW_MUST_USE ccw_status ccw_call_run(ccw_call *call);

/* Runs it until the handler returns, and does not wait for its future. What fails before that is reported by ccw_call_wait.
 * The outcome of a run before, for which nobody has waited, is dropped. FAILED_PRECONDITION: it is running already. */
CCW_API CCW_MUST_USE ccw_status ccw_call_start(ccw_call *call);

/* Whether a run was started whose outcome nobody has taken yet. */
CCW_API bool ccw_call_is_started(const ccw_call *call);

/* Whether there is nothing to wait for: the run that was started is complete, or none was. */
CCW_API bool ccw_call_is_done(const ccw_call *call);

/* Waits that many seconds at the most until there is nothing to wait for, and tells whether that is so. The outcome stays. */
CCW_API bool ccw_call_await(ccw_call *call, double seconds);

/* Waits for the run that was started, for that many seconds or, below 0, as long as it takes, and gives its outcome.
 * DEADLINE_EXCEEDED: it is not complete yet. FAILED_PRECONDITION: none was started. */
CCW_API CCW_MUST_USE ccw_status ccw_call_wait(ccw_call *call, double seconds);

/* Starts it and waits for it as long as that: both in one, and as quick as ccw_call_run where there is no future to wait for.
 * DEADLINE_EXCEEDED: its future is not complete yet; wait on with ccw_call_wait. */
CCW_API CCW_MUST_USE ccw_status ccw_call_run_for(ccw_call *call, double seconds);

/* Runs one stage by itself, and waits for its future: instantiate once; prepare begins an execution anew, so that the state of
 * the one before ends; initialize; execute; record. NOT_FOUND: the handler has no function for it.
 * FAILED_PRECONDITION: instantiate for a second time, or another stage before it. */
CCW_API CCW_MUST_USE ccw_status ccw_call_stage(ccw_call *call, XLA_FFI_ExecutionStage stage);

/* Has the execute function queue its work under capture, which makes a graph of it: with the operands' and results' memory as it is
 * now, that must stay. Only a handler that says that it is compatible with command buffers may be captured.
 * FAILED_PRECONDITION: it does not say so, or does what a graph cannot hold, such as to synchronise; the stream works on.
 * UNIMPLEMENTED: the device makes no graphs. What the handler says; INTERNAL where it leaves a future. */
CCW_API CCW_MUST_USE ccw_status ccw_call_capture(ccw_call *call, ccw_graph **out_graph);

/* Adds the commands that the stage record has put into the stand-in for a command buffer, a line each: launches of kernels,
 * copies, or "stream capture requested". Nothing where it has not run. */
CCW_API void ccw_call_recorded(const ccw_call *call, ccw_text *text);

/* Does what the recorded copies say. UNIMPLEMENTED: a kernel is to be launched, or the stream to be captured; then nothing was
 * done. FAILED_PRECONDITION: nothing was recorded. */
CCW_API CCW_MUST_USE ccw_status ccw_call_replay(ccw_call *call);

/* The name of the call whose handler this thread runs now, NULL for none; *out_doing is the stage, "a task" on a thread of the
 * pool, or "metadata" while a handler is asked for that. A signal handler may ask, to say where the process dies. Both are
 * borrowed. */
CCW_API const char *ccw_call_running(const char **out_doing);

/* Where the call runs whose handler has got that frame: the host in a frame of another runtime. */
CCW_API ccw_device *ccw_frame_device(const XLA_FFI_CallFrame *frame);

/* Its stream there, borrowed; NULL on the host, and in a frame of another runtime. */
CCW_API ccw_stream *ccw_frame_stream(const XLA_FFI_CallFrame *frame);

/* What messages call it. Borrowed. */
CCW_API const char *ccw_call_name(const ccw_call *call);

/* Its attributes, as they were fitted to the handler's signature. Borrowed; NULL: none. */
CCW_API ccw_attributes *ccw_call_attributes(const ccw_call *call);

/* Adds the frame of a stage field by field, as memory, in the form in which the handler gets it, and what its context answers. */
CCW_API CCW_MUST_USE ccw_status ccw_call_explain(const ccw_call *call, XLA_FFI_ExecutionStage stage, ccw_text *text);

/* Lets go of it: NULL is fine. It ends at once, and with it the state of its stages, or when the future of a run that is under
 * way is complete. */
CCW_API void ccw_call_free(ccw_call *call);

#ifdef __cplusplus
}
#endif

#endif
