"""jax_calls.py KERNELS OFFICIAL FOLDER ROOT LUA: the calls of jax_spec.lua through jax.ffi.ffi_call, eager and jitted.

Reads FOLDER/NAME.in (raw bytes), writes FOLDER/NAME.out: the bytes of all results, or the name of the error code. ROOT is
that of the sources, LUA the folder of ccw's Lua modules.
"""
import ctypes
import sys

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.devices()  # targets may be registered only when there is a backend
kernels, official, folder, root, lua = sys.argv[1:]
sys.path.insert(0, root + "/scripts/jax")
import lua_handlers  # noqa: E402


def register(path, names):
    library = ctypes.CDLL(path)
    for name in names:
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")


def read(name, dtype):
    return np.fromfile(f"{folder}/{name}.in", dtype=dtype)


def like(*shapes):
    return [jax.ShapeDtypeStruct(shape, dtype) for dtype, shape in shapes]


def run(name, target, results, operands, **attributes):
    def call(*args):
        return jax.ffi.ffi_call(target, results)(*args, **attributes)

    outputs = []
    for f in (call, jax.jit(call)):
        try:
            outputs.append(b"".join(np.asarray(y).tobytes() for y in jax.tree.leaves(f(*operands))))
        except jax.errors.JaxRuntimeError as error:  # its text starts with the code
            outputs.append(str(error).split(":")[0].encode())
    assert outputs[0] == outputs[1], f"{name}: eager and jitted differ: {outputs}"
    open(f"{folder}/{name}.out", "wb").write(outputs[0])


F32, F64, S32 = np.float32, np.float64, np.int32
x, b, c = read("x", F32), read("b", F32), read("c", F32)
everything = dict(
    b=True, s8=np.int8(-8), s16=np.int16(-16), s32=np.int32(-32), s64=-64, u8=np.uint8(8), u16=np.uint16(16),
    u32=np.uint32(32), u64=np.uint64(64), f32=F32(0.5), f64=0.25, text="a\0b", array_s32=np.array([1, 2, 3], S32),
    array_f32=np.array([0.5, 1], F32), array_u8=np.array([200, 100], np.uint8), inner=dict(x=7))

register(kernels, ["scale", "add_mod", "axpy", "reduce", "attribute_zoo"])
run("scale", "scale", like((F32, x.shape))[0], [x], s=F32(0.1))
run("add_mod", "add_mod", like((F32, c.shape))[0], [b, c])
m = x[:498].reshape(6, 83)
run("axpy", "axpy", like((F64, m.shape))[0], [m.astype(F64), m.astype(F64)], a=0.1)
run("reduce", "reduce", like((F32, (6,)))[0], [m], how=S32(1))
run("reduce_dtype", "reduce", like((F32, (6,)))[0], [m.astype(S32)], how=S32(1))
run("reduce_how", "reduce", like((F32, (6,)))[0], [m], how=S32(7))
zoo = dict(
    flag=True, a=np.int8(-1), b=np.int16(-2), c=S32(-3), d=-4, e=np.uint8(5), f=np.uint16(6), g=np.uint32(7), h=np.uint64(8),
    i=F32(9.5), j=10.5, text="eleven", counts=np.array([5, 7], S32), weights=np.array([0.5, 0.25], F32), sky=S32(2),
    limits=dict(lo=-15, hi=15), part=50.0, more=dict(inner=17, other="x"))
zoo["odd name"] = 18
run("attribute_zoo", "attribute_zoo", like((F64, (19,)))[0], [], **zoo)
for name, handler in lua_handlers.load(root + "/spec/handlers/in_lua.lua", lua).items():
    jax.ffi.register_ffi_target(name, handler, platform="cpu")
run("LuaAddMod", "LuaAddMod", like((F32, c.shape))[0], [b, c])
run("LuaZoo", "LuaZoo", like((F64, (8,)))[0], [], flag=True, a=np.int8(-1), b=F32(0.1), text="abc", w=np.array([1, 2], S32),
    op=S32(1), r=dict(lo=-5))
run("LuaRows", "LuaRows", like((F32, (6,)), (S32, ())), [m, x, x])
run("LuaRows_bad", "LuaRows", like((F32, (5,)), (S32, ())), [m, x, x])
run("LuaFail", "LuaFail", like((F32, x.shape))[0], [x])
run("LuaRaise", "LuaRaise", like((F32, x.shape))[0], [x])
run("scale_f64", "scale", like((F32, x.shape))[0], [x], s=0.1)
register(official, ["Scale", "AddMod", "AllAttributes", "SumAll", "Split", "FourToThree", "Fail"])
run("Scale", "Scale", like((F32, x.shape))[0], [x], s=F32(0.1))
run("AddMod", "AddMod", like((F32, c.shape))[0], [b, c])
run("AllAttributes", "AllAttributes", like((F64, (16,)))[0], [], **everything)
run("SumAll", "SumAll", like((F32, ()), (F32, ()), (F32, ())), [x[i : i + 10] for i in range(0, 120, 10)])
run("Split", "Split", like((F32, x.shape), (S32, x.shape)), [x])
run("FourToThree", "FourToThree", like((F32, (1,)), (F32, (1,)), (F32, (1,))), [x[:32], x[32:96], x[96:224], x[224:480]])
for code in range(1, 17):
    run(f"Fail{code}", "Fail", like((F32, (1,)))[0], [], code=np.int32(code), message="text")
