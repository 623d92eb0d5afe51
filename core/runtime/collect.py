# collect.py: runs inside Python, in a dictionary of its own, and finds the handlers in an extension module.
#
# Reads `module` (a name, or the path of a .so) and `path` (folders to search first). Leaves `file`, `handlers`, a list of
# (name, stage, capsule), and `error`, with `missing` when it is the module itself that is not there. named(name) adds what
# the module has under one more name. It calls no handler.
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

file, handlers, error, missing = "", [], "", ""


def text(e):
    words = type(e).__name__ + ": " + str(e)
    return words.encode("utf-8", "backslashreplace").decode()


def is_capsule(x):
    return type(x).__name__ == "PyCapsule"


def is_bundle(x):
    return isinstance(x, dict) and "execute" in x and all(k in STAGES and is_capsule(v) for k, v in x.items())


def take(name, x, depth=0):
    if is_capsule(x):
        handlers.append((name, "execute", x))
    elif is_bundle(x):
        handlers.extend((name, stage, capsule) for stage, capsule in x.items())
    elif isinstance(x, dict) and depth < 3:
        for key, value in x.items():
            if isinstance(key, str):
                take(key, value, depth + 1)


def is_function(x):
    return callable(x) and not isinstance(x, type)


def signature(f):
    nanobind = getattr(f, "__nb_signature__", None)
    text = nanobind[0][0] if nanobind and len(nanobind) == 1 else getattr(f, "__doc__", None)
    return text.strip().split("\n")[0] if isinstance(text, str) else ""


def load(name):
    if not name.endswith(".so"):
        return importlib.import_module(name)
    plain = os.path.basename(name).split(".")[0]
    spec = importlib.util.spec_from_file_location(plain, name)
    result = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(result)
    return result


def collect():
    for name in dir(loaded):
        x = None if name.startswith("__") else getattr(loaded, name, None)
        if is_function(x) and GIVES_HANDLERS.match(signature(x)):
            try:
                x = x()
            except Exception:
                continue  # asked for by name, it will say why
        take(name, x)


def named(name):
    x = getattr(loaded, name, None)
    if is_function(x):
        x = x()
    if is_capsule(x) or is_bundle(x):
        take(name, x)


sys.path[:0] = [folder for folder in path if folder not in sys.path]
importlib.invalidate_caches()
try:
    loaded = load(module)
    file = getattr(loaded, "__file__", None) or module
    collect()
except BaseException as e:  # SystemExit too: a module may not end this process
    error = text(e)
    if isinstance(e, ModuleNotFoundError) and e.name and (module + ".").startswith(e.name + "."):
        missing = "yes"
