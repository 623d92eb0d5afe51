/* lies.c: handlers whose signatures are carried as data, and damaged. */
#include "plain.h"

#define HANDLER(name)                                   \
  EXPORT XLA_FFI_Error *name(XLA_FFI_CallFrame *frame); \
  XLA_FFI_Error *name(XLA_FFI_CallFrame *frame) { return answer_metadata(frame) ? NULL : NULL; }

#define CARRIES(name, size, text)                      \
  HANDLER(name)                                        \
  EXPORT extern const char ccw_signature_##name[size]; \
  const char ccw_signature_##name[size] = text;

CARRIES(honest, sizeof "honest(x: f32[n]) {k: kind}", "honest(x: f32[n]) {k: kind}")
CARRIES(unended, 10, "unended(f3")
CARRIES(ended_twice, 16, "ended_twice()")
CARRIES(damaged, sizeof "damaged(x: f33[n])", "damaged(x: f33[n])")
CARRIES(binary, sizeof "\xFF\x01\x80", "\xFF\x01\x80")
CARRIES(nothing, 1, "")
CARRIES(circular, sizeof "circular() {a: here}", "circular() {a: here}")
CARRIES(bad_kind, sizeof "bad_kind() {a: unended_kind}", "bad_kind() {a: unended_kind}")

EXPORT extern const char ccw_kind_kind[13], ccw_kind_here[11], ccw_kind_there[10], ccw_kind_unended_kind[3];
const char ccw_kind_kind[13] = "s32 = one(1)";
const char ccw_kind_here[11] = "{b: there}", ccw_kind_there[10] = "{c: here}";
const char ccw_kind_unended_kind[3] = "s32";

/* A function, where data is expected. */
HANDLER(code)
EXPORT void ccw_signature_code(void);
void ccw_signature_code(void) {}

/* Sizes, and places, that are beyond the library. */
HANDLER(beyond)
HANDLER(sizeless)
HANDLER(nowhere)
__asm__(".section .rodata\n"
        ".globl ccw_signature_beyond\n.type ccw_signature_beyond, @object\n.size ccw_signature_beyond, 0x40000000\n"
        "ccw_signature_beyond: .asciz \"beyond()\"\n"
        ".globl ccw_signature_sizeless\n.type ccw_signature_sizeless, @object\n"
        "ccw_signature_sizeless: .asciz \"sizeless()\"\n"
        ".globl ccw_signature_nowhere\n.type ccw_signature_nowhere, @object\n.size ccw_signature_nowhere, 8\n"
        "ccw_signature_nowhere = 0x1234\n"
        ".text");
