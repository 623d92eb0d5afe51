"""npy_arrays.py write FOLDER: arrays that numpy saves, for npy_spec.lua to read; a line each on standard output, with tabs:
file, member of a .npz or -, the type that it has in ccw, a file of the elements as they lie in memory there, and the dtype that has to be
named or -.

npy_arrays.py check FOLDER: the same, the other way round: such lines come on standard input, and what numpy makes of them is compared.
"""
import sys

import ml_dtypes
import numpy as np

OWN = {"pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8, "u16": np.uint16,
       "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64,
       "c128": np.complex128}
NAMED = {"bf16": "bfloat16", "f8e5m2": "float8_e5m2", "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn",
         "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e4m3fnuz": "float8_e4m3fnuz",
         "f8e3m4": "float8_e3m4", "f4e2m1fn": "float4_e2m1fn", "f8e8m0fnu": "float8_e8m0fnu", "s1": "int1", "s2": "int2",
         "s4": "int4", "u1": "uint1", "u2": "uint2", "u4": "uint4"}
BITS = {"f4e2m1fn": 4, "s1": 1, "s2": 2, "s4": 4, "u1": 1, "u2": 2, "u4": 4}
TYPES = {**OWN, **{name: getattr(ml_dtypes, numpy_name) for name, numpy_name in NAMED.items()}}
SHAPES = [(), (1,), (5,), (0,), (2, 3), (3, 0, 2), (2, 1, 3, 4)]
random = np.random.default_rng(7)


def in_memory(array, name):
    """The elements row by row; of less than a byte packed, the first in the lowest bits."""
    raw = np.ascontiguousarray(array).tobytes()
    if name not in BITS:
        return raw
    bits = BITS[name]
    packed = bytearray((len(raw) * bits + 7) // 8)
    for i, code in enumerate(raw):
        packed[i * bits // 8] |= (code & (1 << bits) - 1) << i * bits % 8
    return bytes(packed)


def draw(name, shape):
    size = int(np.prod(shape, dtype=np.int64))
    dtype = np.dtype(TYPES[name])
    if name in BITS:
        codes = random.integers(0, 2 ** BITS[name], size, dtype=np.uint8)
    else:
        codes = random.integers(0, 2 if name == "pred" else 256, size * dtype.itemsize, dtype=np.uint8)
    return codes.view(dtype).reshape(shape)


def write(folder):
    count = 0

    def note(file, member, array, name):
        nonlocal count
        raw = f"{count}.raw"
        count += 1
        with open(f"{folder}/{raw}", "wb") as f:
            f.write(in_memory(array, name))
        text = f"{name}[{','.join(map(str, array.shape))}]"
        print(file, member, text, raw, name if name in NAMED else "-", sep="\t")

    def save(array, name, how="", version=None, original=None):
        file = f"{name}-{'x'.join(map(str, array.shape))}{how}.npy"
        with open(f"{folder}/{file}", "wb") as f:
            np.lib.format.write_array(f, array, version=version)
        note(file, "-", array if original is None else original, name)

    for name in TYPES:
        for shape in SHAPES:
            save(draw(name, shape), name)
        array = draw(name, (4, 3, 5))
        save(np.asfortranarray(array), name, "-fortran", original=array)
        if name in OWN and np.dtype(OWN[name]).itemsize > 1:
            save(array.astype(array.dtype.newbyteorder(">")), name, "-big", original=array)
            big = np.asfortranarray(array.astype(array.dtype.newbyteorder(">")))
            save(big, name, "-big-fortran", original=array)
    save(draw("f32", (70, 130, 66)).transpose(2, 0, 1), "f32", "-turned")
    large = draw("f64", (300, 260))
    save(np.asfortranarray(large), "f64", "-fortran", original=large)
    for version in (1, 0), (2, 0), (3, 0):
        save(draw("f32", (6,)), "f32", f"-{version[0]}", version)

    arrays = {"w": draw("f32", (40, 30)), "a folder/x": draw("s8", ()), "empty": draw("c64", (0, 3)), "é": draw("u16", (7,)),
              "zeros": np.zeros(100000, np.float64), "half": draw("bf16", (3,))}
    kinds = {"w": "f32", "a folder/x": "s8", "empty": "c64", "é": "u16", "zeros": "f64", "half": "bf16"}
    np.savez(f"{folder}/stored.npz", **arrays)
    np.savez_compressed(f"{folder}/deflated.npz", **arrays)
    np.savez(f"{folder}/none.npz")
    for file in "stored.npz", "deflated.npz":
        for member, array in arrays.items():
            note(file, member, array, kinds[member])


def check(folder):
    good = 0
    archives = {}
    for line in sys.stdin.buffer.read().decode().splitlines():
        file, member, text, raw, named = line.split("\t")
        name, dims = text[:-1].split("[")
        shape = tuple(int(d) for d in dims.split(",") if d)
        if file.endswith(".npz"):
            array = archives.setdefault(file, np.load(f"{folder}/{file}"))[member]
        else:
            array = np.load(f"{folder}/{file}")
        if named != "-":
            array = array.view(TYPES[name])
        with open(f"{folder}/{raw}", "rb") as f:
            expected = f.read()
        if array.dtype != TYPES[name] or array.shape != shape or in_memory(array, name) != expected:
            print(f"{file} {member}: expected {text}, got {array.dtype} {array.shape} {array!r}")
        else:
            good += 1
    for file, archive in archives.items():
        print(file, *sorted(archive.files), sep=" ")
    print(good, "equal")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
