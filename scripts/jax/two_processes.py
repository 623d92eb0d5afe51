"""two_processes.py LIBRARY: a handler on eight devices of two processes, each of which loads the library as it is.

    python scripts/jax/two_processes.py build/librecipe.so
"""
import os
import socket
import subprocess
import sys


def start(library):
    """Starts both and waits: a free port for the first, where they meet."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, library, str(port)]
    processes = [subprocess.Popen([*command, str(me)]) for me in range(2)]
    return max(abs(process.wait()) for process in processes)


def work(library, port, me):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    import ccw_handlers

    # The order matters: first the other processes, then what begins with the backend.
    jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=me)
    ccw_handlers.register(library)
    mesh = Mesh(np.array(jax.devices()), ("i",))

    def scale_and_sum(x):
        y = jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, s=np.float32(2))
        return y, jax.lax.psum(y.sum(), "i")

    # An array over all devices, of which each process makes its half: 0 to 7 and 8 to 15.
    mine = np.arange(8 * me, 8 * me + 8, dtype=np.float32)
    x = jax.make_array_from_process_local_data(NamedSharding(mesh, P("i")), mine)
    y, total = jax.jit(jax.shard_map(scale_and_sum, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P())))(x)
    parts = sorted(y.addressable_shards, key=lambda shard: shard.index[0].start)
    got = np.concatenate([np.asarray(shard.data) for shard in parts])
    assert np.array_equal(got, 2 * mine) and len(parts) == 4, got
    print(f"process {me}: {got.astype(int).tolist()} of {y.shape}, all of it {float(total)}\n", end="", flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(start(sys.argv[1]))
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
