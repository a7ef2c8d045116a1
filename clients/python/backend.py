"""Builds bellhop's package for Python: a build backend (PEP 517) that needs nothing but Python.

    python3 backend.py DIR        # writes the wheel and the sdist to DIR

The code is examples/everyday/bellhop.py, the file that an app may also just copy; an sdist has a copy of its own.
Types are made from it: what a name means is in MEANS, a parameter of another name is Any. Built twice from the same
files, the packages have the same bytes. BELLHOP_VERSION is the version, as `bellhop version` prints it.
"""
import ast
import base64
import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "bellhop_client"
EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip's earliest
MEANS = {
    "conn": "psycopg.Connection[Any]", "url": "Union[str, psycopg.Connection[Any]]", "id": "int", "type": "str",
    "args": "Any", "timeout": "Optional[float]", "now": "bool", "states": "Sequence[str]", "concurrency": "int",
    "lease": "float", "handlers": "Mapping[str, Callable[..., Any]]", "stop": "Optional[threading.Event]",
    "result": "Any", "error": "str", "retry": "Any", "name": "str", "event": "str", "payload": "Any",
}
GIVES = {
    "submit": "int", "look": "Job", "watch": "Iterator[Job]", "wait": "Job", "cancel": "str", "retry": "str",
    "retry_all": "int", "cancel_all": "int", "work": "None",
}
TYPED = """from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union
import threading
import psycopg
"""


def version():
    """0.1.0-dev+abc is 0.1.0.dev0+abc in Python's words."""
    known = os.path.join(HERE, "PKG-INFO")  # of an sdist
    if os.path.exists(known):
        with open(known, encoding="utf-8") as f:
            return re.search("^Version: (.+)$", f.read(), re.M).group(1)
    return os.environ.get("BELLHOP_VERSION", "0.1.0-dev").lstrip("v").replace("-dev", ".dev0")


def code():
    for path in (os.path.join(HERE, "bellhop", "__init__.py"),
                 os.path.join(HERE, "..", "..", "examples", "everyday", "bellhop.py")):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                return f.read()
    raise SystemExit("bellhop.py is neither in this sdist nor in a checkout around it")


def typed(arg, default):
    """One parameter; default is None where it has none."""
    if arg.arg == "self":
        return "self"
    means = MEANS.get(arg.arg, "Any")
    if isinstance(default, ast.Constant) and default.value is None and means != "Any" and not means.startswith("Optional"):
        means = "Optional[%s]" % means
    return "%s: %s%s" % (arg.arg, means, "" if default is None else " = ...")


def signature(f):
    """The parameters of a function, typed by their names."""
    a, words = f.args, []
    for arg, default in zip(a.args, [None] * (len(a.args) - len(a.defaults)) + a.defaults):
        words.append(typed(arg, default))
    if a.vararg:
        words.append("*%s: Any" % a.vararg.arg)
    elif a.kwonlyargs:
        words.append("*")
    for arg, default in zip(a.kwonlyargs, a.kw_defaults):
        words.append(typed(arg, default))
    if a.kwarg:
        words.append("**%s: Any" % a.kwarg.arg)
    return "(%s)" % ", ".join(words)


def stub(text):
    """The types of all that a user may name."""
    out = [TYPED]
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            out.append("def %s%s -> %s: ..." % (node.name, signature(node), GIVES.get(node.name, "Any")))
        elif isinstance(node, ast.ClassDef):
            out.append("class %s%s:" % (node.name, "(%s)" % ", ".join(map(ast.unparse, node.bases)) if node.bases else ""))
            inside = []
            for part in node.body:
                if isinstance(part, ast.AnnAssign):
                    inside.append("    " + ast.unparse(part.target) + ": " + ast.unparse(part.annotation))
                elif isinstance(part, ast.FunctionDef) and (part.name == "__init__" or not part.name.startswith("_")):
                    inside.append("    def %s%s -> %s: ..." % (part.name, signature(part), "None" if part.name == "__init__" else "Any"))
            if any("self" in line for line in inside):  # not a tuple: it has what its code sets
                inside.append("    def __getattr__(self, name: str) -> Any: ...")
            out.extend(inside or ["    ..."])
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            out.append("%s: %s" % (node.targets[0].id, {ast.Dict: "Mapping[str, str]", ast.Tuple: "Sequence[str]"}.get(type(node.value), "Any")))
    return "\n".join(out) + "\n"


def metadata():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return ("Metadata-Version: 2.1\nName: bellhop-client\nVersion: %s\n"
            "Summary: Submit, watch and do jobs of bellhop, the job scheduler on PostgreSQL\n"
            "Requires-Python: >=3.8\nRequires-Dist: psycopg>=3.1\nDescription-Content-Type: text/markdown\n\n%s" % (version(), readme))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = "%s-%s.dist-info" % (NAME, version())
    files = [("bellhop/__init__.py", code()), ("bellhop/__init__.pyi", stub(code())), ("bellhop/py.typed", ""),
             (info + "/METADATA", metadata()),
             (info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: bellhop\nRoot-Is-Purelib: true\nTag: py3-none-any\n")]
    record = []
    for name, text in files:
        sum = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append("%s,sha256=%s,%d\n" % (name, sum, len(text.encode())))
    files.append((info + "/RECORD", "".join(record) + info + "/RECORD,,\n"))
    wheel = "%s-%s-py3-none-any.whl" % (NAME, version())
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in files:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            z.writestr(entry, text)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    base = "%s-%s" % (NAME, version())
    files = {"PKG-INFO": metadata(), "bellhop/__init__.py": code()}
    for name in ("pyproject.toml", "backend.py", "README.md"):
        with open(os.path.join(HERE, name), encoding="utf-8") as f:
            files[name] = f.read()
    with open(os.path.join(sdist_directory, base + ".tar.gz"), "wb") as out, \
            gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(base + "/" + name)
            body = files[name].encode()
            entry.size, entry.mode = len(body), 0o644
            tar.addfile(entry, io.BytesIO(body))
    return base + ".tar.gz"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python3 backend.py DIR")
    os.makedirs(sys.argv[1], exist_ok=True)
    print(build_wheel(sys.argv[1]))
    print(build_sdist(sys.argv[1]))
