"""text_round_trip.py IN OUT: what jaxlib makes of the modules in IN, by its own parsers and printers, all in one process.

Both files are records, "KIND LENGTH" on a line and as many bytes. Kinds of IN, and what OUT has for each, in the same order: mlir, the
module parsed, verified and printed, and printed in generic form; export, the HLO that XLA makes of a module of StableHLO; hlo, a module of
HLO parsed and printed. What fails is a record "error". IN that is "-" stands for programs that JAX lowers and compiles itself.
"""
import sys

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

try:
    from jaxlib import _jax as xla
    from jaxlib import _hlo
    module_from_text = _hlo.hlo_module_from_text
except (ImportError, AttributeError):
    from jaxlib import _jax as xla
    module_from_text = xla.hlo_module_from_text

export = getattr(xla, "mlir").mlir_module_to_xla_computation


def records(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        end = data.index(b"\n", at)
        kind, length = data[at:end].decode().split()
        yield kind, data[end + 1:end + 1 + int(length)].decode("latin-1")
        at = end + 1 + int(length)


def answers(kind, text):
    if kind == "mlir":
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            module.operation.verify()
            yield "pretty", module.operation.get_asm()
            yield "generic", module.operation.get_asm(print_generic_op_form=True)
    elif kind == "export":
        yield "hlo", export(text, False, False).as_hlo_text()
    else:
        yield "hlo", module_from_text(text).to_string()


def jax_programs():
    jax.config.update("jax_enable_x64", True)
    shape = jax.ShapeDtypeStruct

    def full(x, n):
        return jax.ffi.ffi_call("zoo.full", (shape((2, 3), np.float32), shape((), np.int32)), has_side_effect=True,
                                input_output_aliases={0: 0}, input_layouts=[(1, 0), ()], output_layouts=[(1, 0), ()])(
            x, n, alpha=np.float32(1.5), k=7, on=True, tag='a"b\0\\\n', w=np.array([1, 2], np.int32), opt=dict(x=np.int8(1)),
            tiny=1e-5, m=np.arange(4).reshape(2, 2), nan=np.float32(np.nan), big=np.uint64(2**63 - 1))

    def plain(x, n):
        return jax.ffi.ffi_call("plain", shape((2, 3), np.float32))(x * 2) + n

    def opaque(x, n):
        return jax.ffi.ffi_call("opaque", shape((2, 3), np.float32), custom_call_api_version=2, legacy_backend_config="{\"a\": 1}")(x)

    for f in (full, plain, opaque):
        lowered = jax.jit(f).lower(np.zeros((2, 3), np.float32), np.int32(3))
        yield "pretty", lowered.as_text()
        yield "pretty", lowered.as_text(debug_info=True)
        yield "hlo", lowered.as_text("hlo")
    # what the compiler prints, for a call that is in it: those above have no handler here
    yield "hlo", jax.jit(lambda x: jax.numpy.linalg.eigh(x)[0]).lower(np.eye(3, dtype=np.float32)).compile().as_text()


def main(path, out):
    with open(out, "wb") as file:
        def write(kind, text):
            data = text.encode("latin-1", "replace")
            file.write(f"{kind} {len(data)}\n".encode() + data)

        if path == "-":
            for kind, text in jax_programs():
                write(kind, text)
            return
        for kind, text in records(path):
            try:
                for answer in answers(kind, text):
                    write(*answer)
            except Exception as error:  # of whatever kind: it is an answer
                for _ in range(2 if kind == "mlir" else 1):
                    write("error", str(error))


main(*sys.argv[1:])
