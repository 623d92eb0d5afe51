"""jax_matrix.py LIBRARY FOLDER ROOT LUA: what handlers may do, in every way in which JAX calls them.

LIBRARY is spec/handlers/jax_matrix.c, ROOT the folder of the sources, LUA that of ccw's Lua modules. Prints a line a row, the
name, a tab, and "ok", what the row says, or "FAILED" and why. FOLDER/HANDLER.out gets the bytes of the eager results.

A row is a function of ROWS, or a handler of MAPPED in one of the ways of WAYS. What must begin without JAX having begun runs
in a process of its own, made by fork, so that JAX is imported once.
"""
import faulthandler
import functools
import gc
import json
import os
import re
import signal
import socket
import sys
import traceback
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no thread before the forks
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # to compile takes most of the time
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402
from jax._src.core import abstract_token  # noqa: E402, there is no public name for it

library, folder, root, lua = sys.argv[1:]
sys.path.insert(0, root + "/scripts/jax")
import ccw_handlers  # noqa: E402
import lua_handlers  # noqa: E402

jax.config.update("jax_enable_x64", True)
F32, S32, S64 = np.float32, np.int32, np.int64
BUNDLES = {name: {"instantiate": "count_instantiate", "execute": name} for name in ("count", "count_from", "strange_count")}


def register():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = ccw_handlers.register(library, bundles=BUNDLES)
        for name, handler in lua_handlers.load(root + "/spec/handlers/in_lua.lua", lua).items():
            jax.ffi.register_ffi_target(name, handler, platform="cpu")
    return names, [str(warning.message) for warning in caught]


def of(dtype, *shape):
    return jax.ShapeDtypeStruct(shape, dtype)


def call(target, results, *operands, vmap_method=None, aliases=None, side_effect=False, **attributes):
    return jax.ffi.ffi_call(target, results, vmap_method=vmap_method, input_output_aliases=aliases,
                            has_side_effect=side_effect)(*operands, **attributes)


def census(what):
    return int(call("census", of(S64), what=what))


def failure(f, *operands):
    """The text of what f raises."""
    try:
        jax.block_until_ready(f(*operands))
    except jax.errors.JaxRuntimeError as error:
        return str(error)
    raise AssertionError("it succeeded")


# ---- handlers of one array -------------------------------------------------------------------------------------------


def mapped_plus(name):
    return (lambda x, method: call(name, of(F32, *x.shape), x, by=F32(0.5), vmap_method=method)), lambda x: x + F32(0.5)


def mapped_double(name):
    return (lambda x, method: call(name, of(F32, *x.shape), x, vmap_method=method)), lambda x: 2 * x


def mapped_split(name):
    return (lambda x, method: call(name, (of(S32, *x.shape), of(F32, *x.shape)), x, vmap_method=method),
            lambda x: (x.astype(S32), x - x.astype(S32).astype(F32)))


def mapped_in_place(name):
    return (lambda x, method: call(name, (of(F32, *x.shape), of(S32, *x.shape)), x, vmap_method=method, aliases={0: 0}),
            lambda x: (x + F32(1), np.ones(x.shape, S32)))


def mapped_after(name):
    return (lambda x, method: call(name, (abstract_token, of(F32, *x.shape)), jax.lax.create_token(), x,
                                   vmap_method=method)[1]), lambda x: x


def mapped_squares(name):
    return (lambda x, method: call(name, of(F32, *x.shape), x, vmap_method=method)), lambda x: x * x


def mapped_halves(when, name="halve_later"):
    return (lambda x, method: call(name, of(F32, *x.shape), x, how=S32(when), vmap_method=method)), lambda x: x / 2


# name: (f(x, vmap_method), what numpy says of x)
MAPPED = {
    "plus": mapped_plus("plus"), "double_row": mapped_double("double_row"), "split": mapped_split("split"),
    "in_place": mapped_in_place("in_place"), "after": mapped_after("after"),
    "square_by_threads": mapped_squares("square_by_threads"),
    "halve_later before_return": mapped_halves(0), "halve_later in_pool": mapped_halves(1),
    "halve_later in_thread": mapped_halves(2),
    "LuaPlus": mapped_plus("LuaPlus"), "LuaDoubleRow": mapped_double("LuaDoubleRow"), "LuaSplit": mapped_split("LuaSplit"),
    "LuaInPlace": mapped_in_place("LuaInPlace"), "LuaAfter": mapped_after("LuaAfter"),
    "LuaSquareByThreads": mapped_squares("LuaSquareByThreads"),
    "LuaHalveLater before_return": mapped_halves(0, "LuaHalveLater"),
    "LuaHalveLater in_pool": mapped_halves(1, "LuaHalveLater"),
}
RANK_ONE = ("double_row", "LuaDoubleRow")
NOT_MAPPED = ("after", "LuaAfter")  # JAX maps no tokens


def numbers(*shape):
    return (np.arange(1, 1 + np.prod(shape)) * 0.37).astype(F32).reshape(shape)


def equal(ours, expected):
    ours, expected = jax.tree.leaves(ours), jax.tree.leaves(expected)
    assert len(ours) == len(expected), f"{len(ours)} results, expected {len(expected)}"
    for y, z in zip(ours, expected):
        y = np.asarray(y)
        assert (y.dtype, y.shape) == (z.dtype, z.shape) and y.tobytes() == z.tobytes(), f"got {y}, expected {z}"


def eager(name, f, expected):
    x = numbers(200)
    y = f(x, None)
    equal(y, expected(x))
    with open(f"{folder}/{name}.out", "wb") as file:
        file.write(b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(y)))


def jit(_, f, expected):
    x, g = numbers(200), jax.jit(lambda x: f(x, None))
    equal(g(x), expected(x))
    equal(g(x), expected(x))


def vmap_sequential(_, f, expected):
    x, g = numbers(10, 30), jax.vmap(lambda x: f(x, "sequential"))
    equal(g(x), expected(x))
    equal(jax.jit(g)(x), expected(x))


def vmap_broadcast_all(name, f, expected):
    x, g = numbers(10, 30), jax.vmap(lambda x: f(x, "broadcast_all"))
    if name in RANK_ONE:
        text = failure(g, x)
        assert text.startswith("INVALID_ARGUMENT: ") and "got f32[10,30]" in text, text
        return
    equal(g(x), expected(x))
    equal(jax.jit(g)(x), expected(x))


def shard_map(_, f, expected):
    x, mesh = numbers(8 * 40), Mesh(np.array(jax.devices()), ("i",))
    assert mesh.size == 8
    g = jax.jit(jax.shard_map(lambda x: f(x, None), mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    for _ in range(3):
        equal(g(x), expected(x))


WAYS = {"eager": eager, "jit": jit, "vmap sequential": vmap_sequential, "vmap broadcast_all": vmap_broadcast_all,
        "shard_map over 8 devices": shard_map}

# ---- rows of their own -----------------------------------------------------------------------------------------------

ROWS = {}


def row(name):
    def keep(f):
        ROWS[name] = f
        return f
    return keep


@row("C21: a row handler mapped over rows is called once a row")
def _():
    before = census("rows_doubled")
    jax.block_until_ready(jax.vmap(lambda x: MAPPED["double_row"][0](x, "sequential"))(numbers(10, 10)))
    assert census("rows_doubled") - before == 10


@row("C21: mapped at once it gets what it cannot take")
def _():
    return failure(jax.vmap(lambda x: MAPPED["double_row"][0](x, "broadcast_all")), numbers(10, 10))


@row("C42: the argument of a call in place stays as it was, unless it is donated")
def _():
    x = jax.numpy.asarray(numbers(40))
    f = jax.jit(lambda x: MAPPED["in_place"][0](x, None))
    equal(f(x), MAPPED["in_place"][1](numbers(40)))
    equal(x, numbers(40))
    where = x.unsafe_buffer_pointer()
    y, same = jax.jit(lambda x: MAPPED["in_place"][0](x, None), donate_argnums=0)(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() == where and int(same[0]) == 1


def bumps(f):
    before = census("bumped")
    jax.block_until_ready(jax.jit(f)(F32(1)))
    return census("bumped") - before


def bump(side_effect):
    return call("bump", of(S64), side_effect=side_effect)


@row("C48: with a side effect two equal calls run, used or not")
def _():
    assert bumps(lambda x: (bump(True), bump(True), x)[2]) == 2
    assert bumps(lambda x: bump(True) + bump(True)) == 2


@row("C48: without one those that are not used do not run")
def _():
    assert 1 <= bumps(lambda x: bump(False) + bump(False)) <= 2  # XLA may merge them
    return str(bumps(lambda x: (bump(False), bump(False), x)[2]))


def count(v, side_effect=False, name="count"):
    return call(name, of(S64), v=v, side_effect=side_effect)


def count_from(x, v, method=None, name="count_from"):
    return call(name, of(S64, *x.shape), x, v=v, vmap_method=method)


def counters_in_c():
    """Made, and deleted."""
    return census("counters_made"), census("counters_deleted")


def counters_in_lua():
    return tuple(map(int, call("LuaCensus", of(S64, 2), side_effect=True)))


def state_rows(word, name, name_from, counters):
    """The rows on state, for handlers of these names."""
    one, many = functools.partial(count, name=name), functools.partial(count_from, name=name_from)

    @row(f"{word}, jit: an executable has its own, and counts on")
    def _():
        f, g = jax.jit(lambda: one(40)), jax.jit(lambda: one(40) + 0)
        assert [int(f()), int(f()), int(f()), int(g()), int(f())] == [40, 41, 42, 40, 43]

    @row(f"{word}, eager: calls that are alike share an executable")
    def _():
        assert [int(one(v)) for v in (70, 70, 80, 70, 80)] == [70, 71, 80, 72, 81]

    @row(f"{word}: every call site has its own")
    def _():
        f = jax.jit(lambda: (one(10, True), one(10, True)))
        assert [tuple(map(int, f())) for _ in range(2)] == [(10, 10), (11, 11)]

    @row(f"{word}, vmap sequential: a call each, one state")
    def _():
        f = jax.vmap(lambda x: many(x, 20, "sequential"))
        x = 100 * np.arange(10)
        equal(jax.jit(f)(x), x + 20 + np.arange(10))

    @row(f"{word}, vmap broadcast_all: one call")
    def _():
        x = 100 * np.arange(10)
        equal(jax.jit(jax.vmap(lambda x: many(x, 30, "broadcast_all")))(x), x + 30)

    @row(f"{word}, shard_map over 8 devices: one state for all of them")
    def _():
        before, _ = counters()
        mesh = Mesh(np.array(jax.devices()), ("i",))
        f = jax.jit(jax.shard_map(lambda x: many(x, 50), mesh=mesh, in_specs=P("i"), out_specs=P("i")))
        for run in range(2):
            assert sorted(np.asarray(f(np.zeros(8, S64)))) == list(range(50 + 8 * run, 58 + 8 * run))
        return f"made {counters()[0] - before}"

    @row(f"C57, {word}: as many are deleted as were made")
    def _():
        f = jax.jit(lambda: one(1))
        f()
        made, deleted = counters()
        assert made > deleted, f"{made} made, {deleted} deleted while there are executables"
        del f
        jax.clear_caches()
        gc.collect()
        made, deleted = counters()
        assert made == deleted > 0, f"{made} made, {deleted} deleted"

    @row(f"C60, {word}: a failing instantiate is reported with its stage, and nothing runs")
    def _():
        made, _ = counters()
        texts = {failure(lambda: one(-1)), failure(jax.jit(lambda: one(-1))), failure(jax.jit(lambda: one(-1)))}
        assert census("ran_after_failure") == 0 and counters()[0] == made
        text, = texts
        return text


state_rows("state", "count", "count_from", counters_in_c)
state_rows("state in Lua", "LuaCount", "LuaCountFrom", counters_in_lua)


@row("C60: state that was made before the failure is deleted, and another attempt works")
def _():
    made, deleted = census("counters_made"), census("counters_deleted")
    text = failure(lambda: count(-2))
    assert (census("counters_made") - made, census("counters_deleted") - deleted) == (1, 1)
    assert int(count(1000)) == 1000
    return text


@row("C60: an attribute that instantiate does not know fails there")
def _():
    return failure(lambda: call("count", of(S64), v=1, w=2))


@row("state that no instantiate made is refused")
def _():
    return failure(lambda: call("stateless_count", of(S64)))


@row("state of another type than instantiate made is refused")
def _():
    return re.sub(r"\d+", "N", failure(lambda: call("strange_count", of(S64), v=1)))


@row("C59: XLA on the CPU calls instantiate and execute alone")
def _():
    names = ("instantiated", "prepared", "initialized", "executed")
    before = [census(name) for name in names]
    f = jax.jit(lambda x: call("staged", of(F32, 4), x, anything=1))
    for _ in range(3):
        equal(f(numbers(4)), numbers(4))
    return " ".join(str(census(name) - was) for name, was in zip(names, before))


@row("threads: there are some, and they take tasks")
def _():
    before = census("tasks")
    assert int(call("thread_count", of(S64))) > 0
    f = jax.jit(lambda x: sum(MAPPED["square_by_threads"][0](x + i, None) for i in range(8)))
    x = numbers(5000)
    expected = np.zeros_like(x)
    for i in range(8):
        expected += (x + F32(i)) * (x + F32(i))
    np.testing.assert_allclose(f(x), expected, rtol=1e-5)
    assert census("tasks") > before


@row("threads: handlers on all of them at once come to their end")
def _():
    x = numbers(100000)
    f = jax.jit(lambda x: [MAPPED["square_by_threads"][0](x + i, None) for i in range(32)])
    for _ in range(3):
        for i, y in enumerate(f(x)):
            equal(y, (x + F32(i)) * (x + F32(i)))


@row("threads in Lua: handlers on all of them at once come to their end")
def _():
    x = numbers(1000)
    f = jax.jit(lambda x: [MAPPED["LuaSquareByThreads"][0](x + i, None) for i in range(16)])
    for _ in range(2):
        for i, y in enumerate(f(x)):
            equal(y, (x + F32(i)) * (x + F32(i)))


@row("promises in Lua: many at once come to their end")
def _():
    x = numbers(500)
    ways = [MAPPED["LuaHalveLater " + when][0] for when in ("before_return", "in_pool")]
    f = jax.jit(lambda x: [ways[i % 2](x + i, None) for i in range(16)])
    for _ in range(2):
        for i, y in enumerate(f(x)):
            equal(y, (x + F32(i)) / 2)


@row("futures: many at once come to their end")
def _():
    x = numbers(100000)
    ways = [MAPPED["halve_later " + when][0] for when in ("before_return", "in_pool", "in_thread")]
    f = jax.jit(lambda x: [ways[i % 3](x + i, None) for i in range(15)])
    for _ in range(2):
        for i, y in enumerate(f(x)):
            equal(y, (x + F32(i)) / 2)


@row("futures: one of eight devices fails, and the call with it")
def _():
    mesh = Mesh(np.array(jax.devices()), ("i",))

    def f(x):
        good, bad = (lambda x: mapped_halves(1)[0](x, None)), (lambda x: mapped_halves(3)[0](x, None))
        return jax.lax.cond(x[0] > 100, bad, good, x)
    g = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False))
    x = numbers(8 * 40)  # the last device has those above 100
    assert (x.reshape(8, 40)[:, 0] > 100).sum() == 1
    text = failure(g, x)
    equal(g(x / 2), x / 4)
    return text


for name, when, number in (
        ("halve_later", "with_error", 3), ("halve_later", "with_error_at_once", 4), ("halve_later", "failed_after", 5),
        ("LuaHalveLater", "with_error", 3), ("LuaHalveLater", "with_error_at_once", 4), ("LuaHalveLater", "dropped", 5)):
    @row(f"{name} {when}, eager and jit")
    def _(name=name, number=number):
        f = lambda x: MAPPED[name + " in_pool"][0](x, None)  # noqa: E731
        bad = mapped_halves(number, name)[0]
        first, second = failure(lambda: bad(numbers(40), None)), failure(jax.jit(lambda x: bad(x, None)), numbers(40))
        assert first == second, second
        equal(f(numbers(40)), numbers(40) / 2)  # and JAX goes on
        return first


def where(name):
    return call(name, of(S64, 2), side_effect=True)


for name in ("where", "LuaWhere"):
    @row(f"{name}: one run, one id above zero")
    def _(name=name):
        f = jax.jit(lambda: (where(name), where(name)))
        (id1, ordinal1), (id2, ordinal2) = np.asarray(f())
        (id3, _), _ = np.asarray(f())
        assert id1 == id2 > 0 and id3 != id1 and ordinal1 == ordinal2 == 0, (id1, id2, id3, ordinal1, ordinal2)

    @row(f"{name}, shard_map over 8 devices: each has its ordinal")
    def _(name=name):
        mesh = Mesh(np.array(jax.devices()), ("i",))
        f = jax.shard_map(lambda: where(name), mesh=mesh, in_specs=(), out_specs=P("i"), check_vma=False)
        y = np.asarray(jax.jit(f)()).reshape(8, 2)
        assert sorted(y[:, 1]) == list(range(8)) and y[:, 0].min() > 0, y
        return f"{len(set(y[:, 0]))} run id"


@row("user data: JAX has none")
def _():
    return failure(lambda: call("age", of(S64)))


@row("custom options: JAX sets none")
def _():
    try:
        return str(int(call("options", of(S64))))
    except jax.errors.JaxRuntimeError as error:
        return str(error)


@row("an extension: there is none")
def _():
    return failure(lambda: call("visited", of(S64)))


@row("a stream: refused on the CPU")
def _():
    return failure(lambda: call("streamed", of(S64)))


@row("scratch: refused on the CPU, and the handler goes on")
def _():
    return f"{int(call('scratched', of(S64)))} {failure(lambda: call('scratched_or_failed', of(S64)))}"


@row("registering: handlers that this JAX cannot run are left out, with a warning")
def _():
    return "\n".join(sorted(WARNINGS))


@row("registering: what bundles says instead of the names")
def _():
    names = ccw_handlers.register(library, prefix="told.", bundles={
        "first": {"instantiate": "count_instantiate", "execute": "count_from"}})
    assert {"told.first", "told.count", "told.plus", "told.staged"} < set(names), names
    assert not {"told.count_instantiate", "told.count_from", "told.staged_prepare"} & set(names), names
    x = np.zeros(3, S64)
    f = jax.jit(lambda x: call("told.first", of(S64, 3), x, v=60))
    equal([f(x), f(x)], [x + 60, x + 61])
    try:
        ccw_handlers.register(library, bundles={"a": {"execute": "not_there"}})
    except KeyError as error:
        assert "there is no handler not_there; there are after, " in str(error), error


# ---- processes of their own --------------------------------------------------------------------------------------------


def alone(f, *args):
    """Runs f in a process of its own, and gives what waits for it: its result, or a failure."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(90, exit=True)
        try:
            answer = json.dumps(f(*args))
        except BaseException:
            answer = json.dumps("FAILED " + traceback.format_exc())
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)

    def wait():
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return json.loads(text) if text else f"ended by {signal.Signals(-status).name}" if status < 0 else f"FAILED with {status}"
    return wait


def said(pairs):
    """Kinds and dtypes in words, by XLA's numbers."""
    kind, dtype = {1: "array", 3: "scalar"}, {0: "", 1: " pred", 5: " s64", 6: " u8", 12: " f64"}
    return ", ".join(kind[k] + dtype[d] for k, d in (np.asarray(pair).tolist() for pair in pairs))


def kind_of(v):
    return call("kind_of_v", of(S32, 2), v=v)


def kinds(*values):
    """What attributes come as, called one after the other."""
    register()
    return said([kind_of(v) for v in values])


def kinds_in_one_program(*values):
    register()
    return said(jax.jit(lambda: [kind_of(v) for v in values])())


def ask_for(target):
    register()
    return failure(lambda: call(target, of(S64)))


def early():
    """A state and its target, registered while there is no backend: case C86."""
    import ctypes
    lib = ctypes.CDLL(library)

    def capsule(name):
        return jax.ffi.pycapsule(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(lib, name))))
    jax.ffi.register_ffi_type("counter", {"type_id": capsule("ccw_type_id_counter"),
                                          "type_info": capsule("ccw_type_info_counter")}, platform="cpu")
    jax.ffi.register_ffi_target("count", {"instantiate": capsule("count_instantiate"), "execute": capsule("count")},
                                platform="cpu")
    try:
        jax.devices()
    except RuntimeError as error:
        return re.sub(r" \([^()]*\)$", "", str(error).splitlines()[0])  # without advice
    return f"works, {int(count(1))}"


def one_of_two(me, port):
    """Process `me` of two with four devices each: the rows of both, by name."""
    jax.config.update("jax_num_cpu_devices", 4)
    jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=me)
    register()
    assert (jax.device_count(), jax.local_device_count()) == (8, 4)
    mesh = Mesh(np.array(jax.devices()), ("i",))
    split, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
    sharded = functools.partial(jax.shard_map, mesh=mesh)
    results = {}

    def mine(y):
        """What this process has of it: {index of the first: data}."""
        return {(shard.index[0].start or 0): np.asarray(shard.data) for shard in y.addressable_shards}

    def sharded_row(f, expected):
        x = numbers(8 * 40)
        given = jax.make_array_from_callback(x.shape, split, lambda index: x[index])

        def both(x):
            y = f(x, None)
            return y, jax.lax.psum(jax.tree.leaves(y)[0].sum(), "i")
        y, total = jax.jit(sharded(both, in_specs=P("i"), out_specs=(P("i"), P())))(given)
        for leaf, wanted in zip(jax.tree.leaves(y), jax.tree.leaves(expected(x)), strict=True):
            parts = mine(leaf)
            assert sorted(parts) == [40 * (4 * me + i) for i in range(4)], sorted(parts)
            for start, part in parts.items():
                equal(part, wanted[start : start + 40])
        np.testing.assert_allclose(np.asarray(total), jax.tree.leaves(expected(x))[0].sum(), rtol=1e-5)

    for name, (f, expected) in MAPPED.items():
        results[f"{name}, two processes"] = attempt(lambda: sharded_row(f, expected))

    def own_state(name):
        f = jax.jit(sharded(lambda x: count_from(x, 50, name=name), in_specs=P("i"), out_specs=P("i")))
        x = jax.make_array_from_callback((8,), split, lambda index: np.zeros(8, S64)[index])
        assert sorted(int(part[0]) for part in mine(f(x)).values()) == list(range(50, 54))

    for word, name in {"state": "count_from", "state in Lua": "LuaCountFrom"}.items():
        results[f"{word}, two processes: each has its own"] = attempt(lambda: own_state(name))

    @functools.partial(results.__setitem__, "gathered, two processes: everyone has everything")
    @attempt
    def _():
        x = numbers(8 * 4)
        given = jax.make_array_from_callback(x.shape, split, lambda index: x[index])
        f = sharded(lambda x: jax.lax.all_gather(MAPPED["plus"][0](x, None), "i", tiled=True), in_specs=P("i"),
                    out_specs=P(), check_vma=False)
        y = jax.jit(f, out_shardings=whole)(given)
        equal(y.addressable_shards[0].data, x + F32(0.5))

    jax.distributed.shutdown()
    return results


def attempt(f):
    """"ok", what f says, or its failure."""
    try:
        return f() or "ok"
    except Exception:
        return "FAILED " + traceback.format_exc()


def say(name, what):
    print(name, what.strip().replace("\\", "\\\\").replace("\n", "\\n"), sep="\t", flush=True)


with socket.socket() as probe:
    probe.bind(("localhost", 0))
    free_port = probe.getsockname()[1]
two = [alone(one_of_two, me, free_port) for me in range(2)]
for_kinds = {repr(value): alone(kinds, value) for value in (1, True, 1.0)}
for_kinds["np.uint8(1)"] = alone(kinds, np.uint8(1))
for_kinds["np.array([1], np.int32)"] = alone(kinds, np.array([1], S32))
mixed, jitted = alone(kinds, 1, True, 1.0), alone(kinds_in_one_program, True, 1, 1.0)
early = alone(early)
for_stages = {stage: alone(ask_for, stage + "_count") for stage in ("prepared", "initialized")}

faulthandler.dump_traceback_later(100, exit=True)  # no earlier: its thread is lost in a fork
os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"
_, WARNINGS = register()
for name, (f, expected) in MAPPED.items():
    for way, run in WAYS.items():
        if name in NOT_MAPPED and "vmap" in way:
            continue
        say(f"{name}, {way}", attempt(lambda: run(name, f, expected)))
for name, f in ROWS.items():
    say(name, attempt(f))
for value, wait in for_kinds.items():
    say(f"attributes: v={value} is", wait())
say("attributes: equal values of different types, eager, are all of the first's", mixed())
say("attributes: and so they are in one jitted program", jitted())
for stage, wait in for_stages.items():
    say(f"state, {stage}: XLA has none on the CPU, and ends the process", wait())
say("C86: a state type before the first backend", early())
first, second = two[0](), two[1]()
if isinstance(first, str) or isinstance(second, str):
    say("two processes", f"{first}\n{second}")
else:
    for name, what in first.items():
        say(name, what if what == second[name] else f"FAILED {what}\n{second[name]}")
