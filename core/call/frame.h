/* frame.h: the call frame that a handler gets, built in one block and then frozen. */
#ifndef CCW_CALL_FRAME_H
#define CCW_CALL_FRAME_H

#include <ccw/ccw.h>

typedef struct ccw_frame ccw_frame;

/* Builds a frame over buffers and attributes, which must outlive it. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_frame_build(ccw_buffer *const *operands, int64_t operand_count, ccw_buffer *const *results,
    int64_t result_count, const ccw_attributes *attributes, ccw_frame **out_frame);

/* The frame to copy for a run; api, ctx and stage are still to be set. */
const XLA_FFI_CallFrame *ccw_frame_abi(const ccw_frame *frame);

/* Takes the data out of its operands and results: what is left are their types. */
void ccw_frame_drop_data(ccw_frame *frame);

void ccw_frame_free(ccw_frame *frame);

/* Adds a frame field by field, as memory. */
void ccw_frame_explain(const XLA_FFI_CallFrame *frame, ccw_text *text);

/* "execute"; "unknown" for a number that is no stage. */
const char *ccw_stage_name(XLA_FFI_ExecutionStage stage);

#endif
