"""text_jax.py CALLS HLO: what jaxlib takes for the modules of text.lua, in seconds of the processor, best of three, a line each: to parse the
StableHLO of CALLS and to print it, and to parse the module of HLO.
"""
import sys
import time

from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

try:
    from jaxlib._hlo import hlo_module_from_text
except ImportError:
    from jaxlib._jax import hlo_module_from_text


def best(f):
    seconds = []
    for _ in range(3):
        start = time.process_time()
        result = f()
        seconds.append(time.process_time() - start)
    return min(seconds), result


stablehlo, hlo = (open(path).read() for path in sys.argv[1:3])
with mlir.make_ir_context():
    parsing, module = best(lambda: ir.Module.parse(stablehlo))
    printing, _ = best(lambda: str(module))
print(parsing, printing, best(lambda: hlo_module_from_text(hlo))[0], flush=True)
