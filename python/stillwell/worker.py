"""A worker for any Python from 3.6 on. It receives a statement and times it. docs/worker-protocol.md has the protocol.

The text of this file is the program, `PYTHON -c TEXT --stillwell-worker=RFD,WFD`, so it needs no installation. Until the measurements
are over it imports built-in modules only. So a json.py beside the user's code shadows nothing, and sys.modules is as the user expects
it. The worker must not start threads. It must not write to the standard streams unless the user's code has failed.
"""
import gc
import itertools
import posix
import sys
import time

import _ast

ARGUMENT = "--stillwell-worker="
PARTS = ("setup", "statement", "teardown")
TEXT_BYTES_MAX = 10000  # Escaping makes at most four bytes of one. A line has at most 65 536 bytes.
FILE = "<stillwell>"
AWAIT = getattr(_ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)  # From Python 3.8 on.
CO_COROUTINE = 0x80
IS_PYPY = sys.implementation.name == "pypy"

# The standard library's timeit does the same in the same order. The CPU clock is a system call, so the wall clock is the inner one.
TEMPLATE = """{kind} inner(_it, _stillwell_wall, _stillwell_cpu):
    'setup'
    _stillwell_cpu_0 = _stillwell_cpu()
    _stillwell_wall_0 = _stillwell_wall()
    {loop}
        'statement'
    _stillwell_wall_1 = _stillwell_wall()
    _stillwell_cpu_1 = _stillwell_cpu()
    'teardown'
    return _stillwell_wall_1 - _stillwell_wall_0, _stillwell_cpu_1 - _stillwell_cpu_0
"""
# PyPy compiles a counting loop to better code than a loop over an iterator that was made elsewhere (found by pyperf).
LOOP = "while _it > 0:\n        _it -= 1" if IS_PYPY else "for _i in _it:"

if hasattr(time, "perf_counter_ns"):
    wall_clock, cpu_clock, NS_PER_TICK = time.perf_counter_ns, time.process_time_ns, 1
else:
    wall_clock, cpu_clock, NS_PER_TICK = time.perf_counter, time.process_time, 1e9
for _name, _clock in (("perf_counter", "CLOCK_MONOTONIC"), ("process_time", "CLOCK_PROCESS_CPUTIME_ID")):
    assert _clock in time.get_clock_info(_name).implementation, "time.%s() of this Python is not %s" % (_name, _clock)


def escape(text):
    """`text` as one word of the protocol."""
    data = text.encode("utf-8", "backslashreplace")
    return "".join(chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x5C else "\\x%02x" % byte for byte in data) or "\\x"


def unescape(word):
    """The text of a word. ValueError if it is not a word of the protocol."""
    first, *rest = word.split("\\x") if word != "\\x" else [""]
    return b"".join([first.encode()] + [bytes([int(part[:2].rjust(2, "?"), 16)]) + part[2:].encode() for part in rest]).decode()


def describe(error, where=""):
    """`TYPE: message` of an exception, as the word of an `error` answer."""
    try:
        message = str(error)
    except BaseException:
        message = "(its str() fails)"
    text = type(error).__name__ + (": " + message if message else "") + where
    return escape(text.encode("utf-8", "backslashreplace")[:TEXT_BYTES_MAX].decode("utf-8", "ignore"))


class Channel:
    """Lines to and from the parent. Other programs do not inherit its file descriptors."""

    def __init__(self, read_fd, write_fd):
        self.read_fd, self.write_fd, self.buffer = read_fd, write_fd, b""
        for fd in (read_fd, write_fd):
            posix.set_inheritable(fd, False)

    def _fill(self):
        data = posix.read(self.read_fd, 1 << 16)  # Python itself repeats the call after EINTR (PEP 475).
        self.buffer += data
        return bool(data)

    def read_line(self):
        """The next line without its line end. None at the end of file."""
        while b"\n" not in self.buffer:
            if not self._fill():
                return None
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace")  # The utf-8 codec is built in; Python may load ascii from the disk.

    def read_bytes(self, n_bytes):
        while len(self.buffer) < n_bytes:
            if not self._fill():
                raise EOFError("the file ends inside of the source")
        data, self.buffer = self.buffer[:n_bytes], self.buffer[n_bytes:]
        return data

    def write(self, lines):
        data = "".join(line + "\n" for line in lines).encode("utf-8")
        while data:
            data = data[posix.write(self.write_fd, data):]


class Statement:
    """A statement between its setup and its teardown, in one function like that of the standard timeit.

    The function joins the parts as syntax trees. timeit indents their text, which changes strings of several lines.
    """

    def __init__(self, sources, duplicate, namespace):
        self.namespace, self.duplicate, self.parts, self.places, self.is_async = namespace, duplicate, [], {}, False
        # Each part has its own range of lines, which tells the part of an error. No part has a line of the template. From Python 3.13 on, the
        # compiler joins two instructions of the same line, so that the loop would differ from timeit's.
        for part in PARTS:
            first_line = TEMPLATE.count("\n") + 5 + len(self.places)
            source = sources.get(part, "")
            is_async, body = parse(source, "<%s>" % part, first_line)
            self.is_async |= is_async
            self.parts.append(body)
            self.places.update((first_line + n, ("<%s>" % part, n + 1)) for n in range(len(source.splitlines()) + 1))
        self.make()

    def make(self):
        tree = compile(TEMPLATE.format(kind="async def" if self.is_async else "def", loop=LOOP), FILE, "exec", _ast.PyCF_ONLY_AST, True)
        setup, statement, teardown = self.parts
        lines = tree.body[0].body
        for block, place, body in ((lines, 6, teardown), (lines[3].body, -1, statement * self.duplicate), (lines, 0, setup)):
            if body:  # Else the string in its place does nothing, and takes no time.
                block[place:place + 1 or None] = body
        found = {}
        try:
            exec(compile(tree, FILE, "exec", 0, True), self.namespace, found)
        except SyntaxError as error:  # A function cannot have what a part alone can, such as `import *`.
            error.filename, error.lineno = self.places.get(error.lineno, (FILE, error.lineno))
            raise
        self.inner = found["inner"]

    def measure(self, loops, wall, cpu):
        """The differences of the two clocks over `loops` loops, in their units."""
        result = self.inner(loops if IS_PYPY else itertools.repeat(None, loops), wall, cpu)
        return run_coroutine(result) if self.is_async else result

    def where(self, traceback):
        """` (PART, line N)` for a traceback through one of the parts, else an empty text."""
        while traceback is not None and traceback.tb_frame.f_code.co_filename != FILE:
            traceback = traceback.tb_next
        place = traceback and self.places.get(traceback.tb_lineno)
        return " (%s, line %d)" % place if place else ""


def parse(source, name, first_line):
    """Whether a part awaits, and the nodes of its statements. A SyntaxError has the line numbers of the part."""
    moved = "\n" * (first_line - 1) + source
    try:
        # The part alone comes first: inside a function and a loop, `return` or `break` would be valid.
        code = compile(source, name, "exec", AWAIT, True)
    except SyntaxError:
        if AWAIT or "await" not in source or '"""' in source or "'''" in source:
            raise
        return True, as_coroutine(source, first_line)
    return bool(code.co_flags & CO_COROUTINE), compile(moved, FILE, "exec", _ast.PyCF_ONLY_AST, True).body


def as_coroutine(source, first_line):
    """The nodes for Python 3.6 and 3.7. They know `await` only inside functions, so the text must be indented."""
    text = "\n" * (first_line - 2) + "async def part():\n" + "".join(" " + line for line in source.splitlines(True))
    tree = compile(text, FILE, "exec", _ast.PyCF_ONLY_AST, True)
    compile(tree, FILE, "exec", 0, True)
    return tree.body[0].body


def run_coroutine(coroutine):
    """The result of a coroutine, in an event loop of its own."""
    import asyncio

    if hasattr(asyncio, "run"):
        return asyncio.run(coroutine)
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(coroutine)
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class Server:
    """Answers requests until `quit` or the end of file.

    `benchmark` has `measure(loops, wall, cpu)`. `new_namespace()` makes the globals of sources.
    """

    def __init__(self, channel, new_namespace=None, benchmark=None):
        self.channel, self.new_namespace, self.benchmark = channel, new_namespace, benchmark
        self.sources, self.gc_is_on, self.process_id = {}, None, posix.getpid()
        self.requests = {
            "list": (self.list, 0), "select": (self.select, 1), "run": (self.run, 1), "gc": (self.gc, 1), "collect": (self.collect, 0),
            "metadata": (self.metadata, 0), "quit": (lambda: ["bye"], 0),
        }
        if "_tracemalloc" in sys.builtin_module_names:
            self.requests["tracemalloc"] = (self.tracemalloc, 1)
        if new_namespace is not None:
            self.requests.update(source=(self.source, 2), compile=(self.compile, 1))

    def hello(self):
        words = ["%s=%s" % (name, escape(str(value))) for name, value in facts().items() if name != "source" or self.new_namespace]
        self.channel.write([" ".join(["stillwell", "1"] + words)])

    def serve(self):
        while self.answer_next():
            pass

    def answer_next(self):
        """Answers one request. False if it was the last one."""
        line = self.channel.read_line()
        if line is None:
            return False
        name, *words = line.split(" ")
        try:
            function, n_words = self.requests.get(name, (None, 0))
            if function is None:
                lines = ["error " + escape("unknown request")]
            elif len(words) != n_words:
                raise ValueError("%s takes %d words, not %d" % (name, n_words, len(words)))
            else:
                lines = function(*words)
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the statement are its errors, too.
            lines = [self.failed(error)]
        if posix.getpid() != self.process_id:
            posix._exit(0)  # The statement has forked, and this is the child. It must not answer the parent.
        try:
            self.channel.write(lines)
        except BrokenPipeError:  # The parent has ended.
            return False
        return lines != ["bye"]

    def failed(self, error):
        """The answer to a failed request. The whole traceback goes to standard error."""
        traceback = error.__traceback__
        where = getattr(self.benchmark, "where", lambda _: "")(traceback)
        while traceback.tb_next is not None and is_own(traceback.tb_frame.f_globals):
            traceback = traceback.tb_next
        try:
            sys.__excepthook__(type(error), error.with_traceback(traceback), traceback)
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:  # The statement has closed the streams.
            pass
        return "error " + describe(error, where)

    def list(self):
        return ["end"]

    def select(self, name):
        raise LookupError("there is no benchmark %r; send source and compile" % unescape(name))

    def source(self, part, n_bytes):
        text = self.channel.read_bytes(number(n_bytes, 0)).decode()
        if part not in PARTS:
            raise ValueError("a source is setup, statement or teardown, not %s" % part)
        self.sources[part] = text
        return ["ok"]

    def compile(self, duplicate):
        self.benchmark = None
        self.benchmark = Statement(self.sources, number(duplicate), self.new_namespace())
        return ["ok"]

    def measure(self, loops, wall, cpu):
        n_loops = number(loops)
        if self.benchmark is None:
            raise LookupError("there is nothing to run yet")
        if self.gc_is_on is not None:
            (gc.enable if self.gc_is_on else gc.disable)()
        return self.benchmark.measure(n_loops, wall, cpu)

    def run(self, loops):
        return ["time %d %d" % tuple(round(ticks * NS_PER_TICK) for ticks in self.measure(loops, wall_clock, cpu_clock))]

    def tracemalloc(self, loops):
        import _tracemalloc  # The built-in part; tracemalloc itself is a file on the disk.

        def peak_bytes():  # Takes the place of the CPU clock, which is read once before the loops and once after them.
            if not _tracemalloc.is_tracing():
                _tracemalloc.start(1)
                return 0
            return _tracemalloc.get_traced_memory()[1]

        _tracemalloc.stop()
        try:
            return ["memory %d" % self.measure(loops, int, peak_bytes)[1]]  # int() returns 0 and allocates nothing.
        finally:
            _tracemalloc.stop()

    def gc(self, state):
        if state not in ("on", "off"):
            raise ValueError("gc takes on or off, not " + state)
        self.gc_is_on = state == "on"
        return ["ok"]

    def collect(self):
        gc.collect()
        return ["ok"]

    def metadata(self):
        return ["meta %s %s" % (escape(name), escape(str(value))) for name, value in metadata().items()] + ["end"]


def is_own(names):
    """Whether these are the globals of this file or its package. The user's code begins after their frames."""
    return names is globals() or (names.get("__package__") or "").split(".")[0] == "stillwell"


def number(word, least=1):
    if not (word.isdigit() and len(word) < 20 and least <= int(word) < 1 << 63):
        raise ValueError("%s is not a number from %d to 2^63 - 1" % (word, least))
    return int(word)


def has_jit():
    """Whether the interpreter may compile the benchmarked code while it runs."""
    if IS_PYPY:
        return bool(sys.pypy_translation_info.get("translation.jit"))
    return sys.implementation.name in ("graalpy", "pyston") or (hasattr(sys, "_jit") and sys._jit.is_enabled())


def facts():
    """The keys and values of the first line."""
    found = {"language": "python", "implementation": sys.implementation.name, "version": "%d.%d.%d" % sys.version_info[:3], "source": 1, "gc": 1}
    found["jit"], found["gil"] = int(has_jit()), int(getattr(sys, "_is_gil_enabled", lambda: True)())
    found["debug"] = int(hasattr(sys, "gettotalrefcount"))
    if "_tracemalloc" in sys.builtin_module_names:
        found["tracemalloc"] = 1
    return found


def subinterpreter():
    """Number of this interpreter if it is not the main one, which is 0."""
    try:
        current = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters").get_current()
    except (ImportError, AttributeError):  # Python 3.7 and earlier, and other implementations.
        return ""
    return int(current[0] if isinstance(current, tuple) else current) or ""


def metadata():
    """The metadata of this Python, by the names of pyperf. It imports modules, so it must come after the measurements."""
    path, clock, found = sys.path[:], time.get_clock_info("perf_counter"), {}
    sys.path[:] = [folder for folder in path if folder not in ("", posix.getcwd())]  # A platform.py there belongs to the user.
    try:
        import platform
        import sysconfig

        version = platform.python_version()
        if IS_PYPY:
            version = "PyPy %d.%d.%d (Python %s)" % (sys.pypy_version_info[:3] + (version,))
        found["python_version"] = "%s (%d-bit)" % (version, 64 if sys.maxsize > 1 << 32 else 32)
        found["python_compiler"] = platform.python_compiler()
        found["python_cflags"], found["python_config_args"] = sysconfig.get_config_vars("CFLAGS", "CONFIG_ARGS")
        found["python_threads"] = len(posix.listdir("/proc/self/task"))
    except Exception:  # An embedded or stripped Python may lack some of these, and a container /proc. They are then left out.
        pass
    finally:
        sys.path[:] = path
    found["python_implementation"], found["python_executable"] = sys.implementation.name, sys.executable
    found["python_hash_seed"] = posix.environ.get(b"PYTHONHASHSEED", b"").decode("utf-8", "replace")
    found["python_gil"] = ("disabled", "enabled")[sys._is_gil_enabled()] if hasattr(sys, "_is_gil_enabled") else ""
    found["python_jit"] = "enabled" if has_jit() else "disabled" if hasattr(sys, "_jit") or IS_PYPY else ""
    found["python_subinterpreter"] = subinterpreter()
    found["python_gc"] = "" if gc.isenabled() else "disabled"
    found["timer"] = "%s, resolution: %.3g ns" % (clock.implementation, clock.resolution * 1e9)
    return {name: " ".join(str(value).split()) for name, value in found.items() if value}


def fds_of(argument):
    """The two file descriptors of the worker's argument. ValueError for any other argument."""
    read_fd, write_fd = argument[len(ARGUMENT):].split(",") if argument.startswith(ARGUMENT) else ()
    return int(read_fd), int(write_fd)


def main():
    try:
        channel = Channel(*fds_of(sys.argv[-1]))
    except (ValueError, OSError) as error:
        sys.exit("stillwell: a worker's last argument is --stillwell-worker=RFD,WFD, two open files (%s); stillwell starts it" % error)
    sys.argv.pop()
    own_module = sys.modules["__main__"]  # Keeps the module alive, which contains these functions.

    def new_namespace():
        module = type(own_module)("__main__")
        module.__builtins__ = sys.modules["builtins"]
        sys.modules["__main__"] = module
        return module.__dict__

    server = Server(channel, new_namespace)
    server.hello()
    server.serve()


if __name__ == "__main__":
    main()
