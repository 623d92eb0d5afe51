# collect.py: runs inside Python, in a dictionary of its own, and finds the handlers in an extension module.
#
# Reads `module` (a name, or the path of a .so), `path` (folders to search first), `environment` (the site-packages of a
# virtual environment, searched before Python's own) and `last` (a folder to search last). Leaves `file`, `handlers`, a list
# of (name, stage, capsule), and `error`, with `missing` when it is the module itself that is not there. named(name) adds
# what the module has under one more name. Of the module's functions it calls those alone that take nothing and say that
# they give handlers, or, by name, that say nothing.
import importlib
import importlib.util
import os
import re
import sys

STAGES = {"instantiate", "prepare", "initialize", "execute", "record"}

# The signature of a function that takes nothing and says that it returns a capsule or a dictionary, as pybind11 and
# nanobind write it.
GIVES_HANDLERS = re.compile(
    r"(def )?\w+\(\) *-> *([\w.]*\.)?(capsule|CapsuleType|PyCapsule|dict|Dict)(\[.*\])?:?\s*$")

file, handlers, types, error, missing = "", [], [], "", ""


def printable(words):
    return words.encode("utf-8", "backslashreplace").decode()


def text(e):
    try:
        return printable(type(e).__name__ + ": " + str(e))
    except BaseException:
        return printable(type(e).__name__)


def is_capsule(x):
    return type(x).__name__ == "PyCapsule"


def is_bundle(x):
    return isinstance(x, dict) and "execute" in x and all(k in STAGES and is_capsule(v) for k, v in x.items())


def is_type(x):
    """What jax.ffi.register_ffi_type takes."""
    return isinstance(x, dict) and is_capsule(x.get("type_id")) and is_capsule(x.get("type_info", x["type_id"]))


def find(path, x):
    """Adds (path, stage, capsule) to `found`; the path is the tuple of names that led there. Types go to `types`."""
    if "\n" in path[-1]:
        return  # no name that could be listed
    if is_type(x):
        types.append((path[-1], x["type_id"], x.get("type_info")))
        return
    if is_capsule(x):
        found.append((path, "execute", x))
    elif is_bundle(x):
        found.extend((path, stage, capsule) for stage, capsule in x.items())
    elif isinstance(x, dict) and len(path) < 4:
        for key, value in x.items():
            if isinstance(key, str):
                find(path + (key,), value)


def name_all():
    """A handler is called by the last of its names, where that is one handler's only, else by as many as it takes."""
    paths = {path for path, _, _ in found}

    def name(path):
        for length in range(1, len(path) + 1):
            if sum(other[-length:] == path[-length:] for other in paths) == 1:
                return ".".join(path[-length:])
        return ".".join(path)

    handlers.extend((name(path), stage, capsule) for path, stage, capsule in found)
    found.clear()


def is_function(x):
    return callable(x) and not isinstance(x, type)


def signature(f):
    """The first line of what a function says of itself; "" where it says nothing."""
    nanobind = getattr(f, "__nb_signature__", None)
    words = nanobind[0][0] if nanobind and len(nanobind) == 1 else getattr(f, "__doc__", None)
    return words.strip().split("\n")[0] if isinstance(words, str) else ""


def load(name):
    if not name.endswith(".so"):
        return importlib.import_module(name)
    if not os.path.exists(name):
        raise FileNotFoundError("no such file")
    for known in list(sys.modules.values()):  # an extension module may not be initialised twice
        known_file = getattr(known, "__file__", None)
        if isinstance(known_file, str) and os.path.exists(known_file) and os.path.samefile(known_file, name):
            return known
    plain = os.path.basename(name).split(".")[0]
    spec = importlib.util.spec_from_file_location(plain, name)
    result = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(result)
    return result


def collect():
    for name in dir(loaded):
        try:
            x = None if name.startswith("__") else getattr(loaded, name, None)
            find((name,), x() if is_function(x) and GIVES_HANDLERS.match(signature(x)) else x)
        except BaseException:
            pass  # asked for by name, it will say why
    name_all()


def named(name):
    x = getattr(loaded, name, None)
    if is_function(x):
        says = signature(x)
        if says and not GIVES_HANDLERS.match(says):
            raise TypeError("a function that does not say that it takes nothing and gives a handler, as in \"" +
                            name + "() -> capsule\"; it says " + repr(says))
        x = x()
    if is_capsule(x) or is_bundle(x):
        find((name,), x)
        name_all()


def search_in():
    for folder in reversed(path):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    if environment and environment not in sys.path:
        own = [i for i, folder in enumerate(sys.path) if folder.endswith(("site-packages", "dist-packages"))]
        sys.path.insert(own[0] if own else len(sys.path), environment)
    if last and last not in sys.path:
        sys.path.append(last)
    importlib.invalidate_caches()


found = []
search_in()
try:
    loaded = load(module)
    file = printable(getattr(loaded, "__file__", None) or module)
    collect()
except BaseException as e:  # SystemExit too: a module may not end this process
    error = text(e)
    of_itself = isinstance(e, ModuleNotFoundError) and e.name and (module + ".").startswith(e.name + ".")
    if of_itself or (isinstance(e, FileNotFoundError) and module.endswith(".so") and not os.path.exists(module)):
        missing = "yes"
