"""Handlers written with ccw/handler.h, for JAX.

    import ccw_handlers
    ccw_handlers.register("libhandlers.so")  # everything in it
    jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, s=np.float32(2))

Handlers of several stages belong together by their names: `counter_instantiate`, and so on for prepare, initialize and
execute, is a stage of `counter`. Other names are told: bundles={"counter": {"instantiate": "make", "execute": "run"}}.

JAX gets to know types before the targets that use them, and both when it has a backend: registering the types of a library
without one leaves a CPU backend that cannot be used. register() makes the backend, so that what has to come first comes
before it: jax.distributed.initialize, and the number of devices.
"""
import ctypes
import os
import struct
import warnings

import jax

STAGES = ("instantiate", "prepare", "initialize", "execute")


def symbols(path):
    """The names that a shared library exports. ValueError: it is no library for 64 bits."""
    with open(path, "rb") as file:
        elf = file.read()
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path}: no ELF library for 64 bits, little endian")
    at, = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]
    names = []
    for _, kind, _, _, start, length, link, _, _, entry in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        texts = sections[link][4]
        for place in range(start + entry, start + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", elf, place)
            if section != 0:  # it is defined here
                names.append(elf[texts + name : elf.index(b"\0", texts + name)].decode())
    return names


def plan(names, bundles=None):
    """What those symbols mean: targets, {name: {stage: symbol}}, and types, [name]. KeyError: a bundle names no handler."""
    def after(prefix):
        return [name[len(prefix):] for name in names if name.startswith(prefix)]

    handlers = after("ccw_signature_")
    targets = {name: dict(stages) for name, stages in (bundles or {}).items()}
    taken = {symbol for stages in targets.values() for symbol in stages.values()}
    for symbol in taken:
        if symbol not in handlers:
            raise KeyError(f"there is no handler {symbol}; there are {', '.join(sorted(handlers))}")
    for symbol in handlers:
        if symbol in taken:
            continue
        name, _, stage = symbol.rpartition("_")
        if stage in STAGES and (name in handlers or name + "_execute" in handlers) and name not in (bundles or {}):
            targets.setdefault(name, {})[stage] = symbol
        elif symbol not in (bundles or {}):
            targets.setdefault(symbol, {})["execute"] = symbol
    return targets, after("ccw_type_id_")


def register(path, bundles=None, platform="cpu", prefix=""):
    """Registers all handlers of a library and their types, under `prefix` and the name, and gives the names. Those that this
    JAX refuses are left out, with a warning. OSError: the library cannot be loaded. KeyError: a bundle names no handler."""
    jax.devices()
    path = os.path.abspath(path)
    names = symbols(path)
    library = ctypes.CDLL(path)  # for good: JAX keeps the addresses
    targets, types = plan(names, bundles)

    def capsule(symbol):
        return jax.ffi.pycapsule(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, symbol))))

    for name in types:
        parts = {"type_id": capsule("ccw_type_id_" + name)}
        if "ccw_type_info_" + name in names:  # state; what the user owns has none
            parts["type_info"] = capsule("ccw_type_info_" + name)
        unique = f"{path}: {prefix}{name}"  # two libraries may have a `counter` each
        jax.ffi.register_ffi_type(unique, parts, platform=platform)
    registered = []
    for name, stages in sorted(targets.items()):
        capsules = {stage: capsule(symbol) for stage, symbol in stages.items()}
        try:
            jax.ffi.register_ffi_target(prefix + name, capsules, platform=platform)
            registered.append(prefix + name)
        except jax.errors.JaxRuntimeError as error:
            warnings.warn(str(error), stacklevel=2)
    return registered
