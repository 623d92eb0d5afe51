"""jax_call.py LIBRARY FIFO: for each line on FIFO prints what a call of `scale` costs under jax.jit, in nanoseconds."""
import ctypes
import sys
import time

import jax
import numpy as np

jax.devices()
jax.ffi.register_ffi_target("scale", jax.ffi.pycapsule(ctypes.CDLL(sys.argv[1]).scale), platform="cpu")
call = jax.jit(lambda x: jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, s=np.float32(2)))
x = jax.numpy.array([1, 2, 3, 4], np.float32)
call(x).block_until_ready()
print("ready", flush=True)
CALLS = 2000
for _ in open(sys.argv[2]):
    start = time.perf_counter()
    for _ in range(CALLS):
        call(x).block_until_ready()
    print((time.perf_counter() - start) / CALLS * 1e9, flush=True)
