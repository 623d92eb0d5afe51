"""recipe.py LIBRARY: handlers of ccw/handler.h in JAX, from one call to eight devices. Several processes: two_processes.py.

    cc -shared -fPIC -O2 -Icore/include scripts/jax/recipe.c -o build/librecipe.so
    python scripts/jax/recipe.py build/librecipe.so
"""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"  # one CPU as eight devices; before JAX has a backend

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

import ccw_handlers

if len(sys.argv) != 2:
    sys.exit(__doc__)

# Everything in the library: targets by their names, types of state before them, all of it after the first backend.
print(ccw_handlers.register(sys.argv[1]))  # ['counter', 'scale']

# ---- A handler without state ----

x = np.arange(4, dtype=np.float32)


def scale(x, s, **options):
    # JAX does not know what comes out: say its shape. Attributes have the types of the binding: 2 would be s64, 2.0 f64.
    return jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype), **options)(x, s=np.float32(s))


print(scale(x, 2))  # [0. 2. 4. 6.]
print(jax.jit(lambda x: scale(x, 3) + 1)(x))  # [ 1.  4.  7. 10.]

# JAX compares attributes as Python does, by which 1, True, 1.0 and np.float32(1) are the same: of those in one program, and of all
# calls outside of jit, each arrives as the type that came first. Give an attribute one type, always.

# ---- With state ----

# The executable owns the state: made when it is compiled, deleted with it, one for each place of a call. XLA may merge calls
# that nothing tells apart, and drops one whose result is not used: has_side_effect=True keeps them all.
count = jax.ffi.ffi_call("counter", jax.ShapeDtypeStruct((), np.int32), has_side_effect=True)
tick = jax.jit(lambda: count(first=np.int32(40)))
print(int(tick()), int(tick()), int(tick()))  # 40 41 42
print(*map(int, jax.jit(lambda: (count(first=np.int32(7)), count(first=np.int32(7))))()))  # 7 7

# ---- vmap ----

# "sequential" calls once a row. "broadcast_all" calls once, with the axis in front, which the handler has to take: `any` as
# its rank does here. Without a method vmap refuses.
rows = np.ones((3, 2), np.float32)
print(jax.vmap(lambda x: scale(x, 2, vmap_method="sequential"))(rows).tolist())  # [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
print(jax.vmap(lambda x: scale(x, 2, vmap_method="broadcast_all"))(rows).shape)  # (3, 2)

# ---- Several devices ----

# Inside shard_map the handler sees the part of its device. Outside of it XLA would gather everything for the call.
mesh = Mesh(np.array(jax.devices()), ("i",))
sharded = jax.jit(jax.shard_map(lambda x: scale(x, x.shape[0]), mesh=mesh, in_specs=P("i"), out_specs=P("i")))
y = sharded(np.ones(16, np.float32))
print(y.sum(), len(y.addressable_shards))  # 32.0 8
