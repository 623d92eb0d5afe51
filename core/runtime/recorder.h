/* recorder.h: a stand-in for a command buffer, for handlers of stage RECORD.
 *
 * It offers the record extension and keeps what a handler does with it, so that one can see which commands the handler would
 * put into a GPU's command buffer, and whether it keeps to the protocol. Commands are made in one recording and updated in
 * others:
 *
 *   ccw_recorder *recorder;    ccw_recorder_new(5, &recorder);
 *   ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Create);
 *   ... the handler runs, and finds ccw_recorder_extension(recorder) in its context ...
 *   ccw_status status =        ccw_recorder_end(recorder);
 *   ccw_recorder_print(recorder, &text);
 *
 * No command runs while it is recorded. Copies can be replayed, on memory of the host; kernels cannot.
 *
 * A handler that misuses the function table gets an error that names what is wrong: INVALID_ARGUMENT; FAILED_PRECONDITION for
 * what cannot be done now, such as creating in Update; RESOURCE_EXHAUSTED for a command more than there is room for. Contexts
 * and commands are numbers that look like pointers, never used twice and never followed. What a handler wants to be copied it
 * must have: names, arguments, values.
 */
#ifndef CCW_RUNTIME_RECORDER_H
#define CCW_RUNTIME_RECORDER_H

#include <ccw/ccw.h>
#include <ccw/xla_ffi_record.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CCW_RECORDER_MOST_COMMANDS = 16 }; /* as many as XLA has room for */

typedef struct ccw_recorder ccw_recorder;

/* Makes a recorder for a handler of FFI API 0.`api_minor`. The official binding takes no version of the extension but its own,
 * so that this is 0.1 for API 0.4 and 0.2 from 0.5 on.
 * INVALID_ARGUMENT: an API before 0.4, which has no stage RECORD. */
CCW_MUST_USE ccw_status ccw_recorder_new(int api_minor, ccw_recorder **out_recorder);

/* Frees it with its commands. NULL is fine. */
void ccw_recorder_free(ccw_recorder *recorder);

/* The extension, for XLA_FFI_InvokeContext_FindExtension to find under XLA_FFI_Extension_Record while the handler runs. */
const XLA_FFI_Extension *ccw_recorder_extension(const ccw_recorder *recorder);

/* Starts a recording, in which the handler runs. Create drops the commands that there are.
 * FAILED_PRECONDITION: a recording is under way, or there is nothing to update.
 * INVALID_ARGUMENT: no such action. */
CCW_MUST_USE ccw_status ccw_recorder_begin(ccw_recorder *recorder, XLA_FFI_RecordAction action);

/* Ends a recording whose handler has succeeded. Where this fails there are no commands after Create; after Update there are
 * those of before, and what was updated stays so.
 * INVALID_ARGUMENT: the list of commands is not as it should be: there are more of them than there is room for, one is none,
 * is there twice or is missing, or stream capture was requested too; in Update, the list or the answer about stream capture is
 * another than in Create.
 * FAILED_PRECONDITION: no recording is under way. */
CCW_MUST_USE ccw_status ccw_recorder_end(ccw_recorder *recorder);

/* Ends a recording whose handler has failed, and leaves what ccw_recorder_end leaves where it fails. Does nothing where none
 * is under way. */
void ccw_recorder_cancel(ccw_recorder *recorder);

/* Does what the commands say, in an order that respects their dependencies. The addresses are the handler's responsibility.
 * UNIMPLEMENTED: a kernel is to be launched, or the stream to be captured; then nothing was done.
 * FAILED_PRECONDITION: a recording is under way, or there is none. */
CCW_MUST_USE ccw_status ccw_recorder_replay(const ccw_recorder *recorder);

/* Adds the commands, a line each:
 *   0: launch 'add' cubin (1024 bytes) grid 2x1x1 block 32x1x1 shared 0, args: device 0x7f00, host 4 bytes; after: none
 *   1: memcpy 16 bytes from 0x7f00 to 0x8f00; after: 0
 *   2: empty; after: 0, 1
 * or "stream capture requested". Nothing where nothing was recorded. */
void ccw_recorder_print(const ccw_recorder *recorder, ccw_text *text);

#ifdef __cplusplus
}
#endif

#endif
