"""text_calls.py FOLDER [LIBRARY ...]: makes calls that are written as Python.

Each N.py in the folder ends in a line that makes a call of x0, x1 and so on, and calls what comes back y. Where N.types is there it has a
line for each of these, its dtype and dims, and the call is lowered: N.mlir is what JAX prints of it. Where N.x0.npy and so on are there,
or N.run, the call is made, eagerly, with the handlers of the libraries, and N.y0 and so on are the bytes of what comes back. What fails is
in N.error.
"""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../scripts/jax"))
import ccw_handlers
import jax
import jax.numpy as jnp
import numpy as np


def call(code, operands):
    names = {f"x{i}": x for i, x in enumerate(operands)}
    exec(code, names)  # pylint: disable=exec-used
    return names["y"]


def read(path):
    return open(path, encoding="utf-8").read()


def lower(base, code):
    operands = []
    for line in read(base + ".types").splitlines():
        dtype, *dims = line.split()
        if dtype == "token":
            operands.append(jax.lax.create_token())
        else:
            operands.append(jax.ShapeDtypeStruct(tuple(map(int, dims)), jnp.dtype(dtype)))
    text = jax.jit(lambda *xs: call(code, xs)).lower(*operands).as_text()
    open(base + ".mlir", "w", encoding="utf-8").write(text)


def run(base, code):
    operands = [np.load(path) for path in sorted(glob.glob(base + ".x*.npy"))]
    results = call(code, operands)
    for i, y in enumerate(results if isinstance(results, (tuple, list)) else [results]):
        open(f"{base}.y{i}", "wb").write(np.asarray(y).tobytes())


def main(folder, *libraries):
    for library in libraries:
        ccw_handlers.register(library)
    for path in sorted(glob.glob(folder + "/*.py")):
        base, code = path[:-3], read(path)
        wide = "jax_enable_x64" in code  # some lines before: what the text says comes before its operands are made
        jax.config.update("jax_enable_x64", wide)
        try:
            (lower if os.path.exists(base + ".types") else run)(base, code)
        except Exception as error:  # of whatever kind: it is an answer
            open(base + ".error", "w", encoding="utf-8").write(str(error))


main(*sys.argv[1:])
