"""Projects from the registries with their own benchmarks, as they are, and copies of them with a change."""

import json
import os
import pathlib
import re
import shutil
import subprocess

N_VARIANTS = 4
# This file in a directory says that it is built.
BUILT = ".built"


def shell(text, cwd="."):
    """Runs a line of sh. Its output is shown if it fails."""
    done = subprocess.run(["sh", "-ec", text], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise OSError(f"{text}: {' '.join(done.stdout.split()[-40:])}")
    return done.stdout


class Project:
    """Where the source is from, how it is built, and the file with its functions.

    All builds have directories with names of three letters, as a gate's base and head have equally long ones: Python's
    allocator depends on their length."""

    name = fetch = build = source = start = comment = ""
    # The benchmark that work can be added to, and its file.
    hit = hit_source = ""
    programs = hit_programs = ()

    def own(self, old, new):
        """Whether the framework's own comparison of the two builds calls anything slower; None where it has none."""
        return None

    def folder(self):
        """Its directory, whose name is a word of sh."""
        return pathlib.Path(self.name.split()[0])

    def prepare(self):
        """Fetches and builds it, unless that is done. Returns its directory."""
        folder = self.folder()
        if not (folder / "src" / BUILT).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            shell(self.fetch, folder)
            shell(self.build, folder / "src")
            (folder / "src" / BUILT).touch()
        return folder / "src"

    def copy(self, name, source, change):
        """Builds a copy in which the text of this file is changed by a function, unless that is done. Returns its directory."""
        copy = self.folder() / name
        if (copy / BUILT).exists():
            return copy
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder() / "src", copy, symlinks=True)
        (copy / BUILT).unlink()
        file = copy / source
        text = change(file.read_text())
        assert text != file.read_text(), f"{self.name}: {source} has no place for the change"
        file.write_text(text)
        shell(self.build, copy)
        (copy / BUILT).touch()
        return copy

    def unchanged(self):
        """Builds that change nothing, N_VARIANTS of them."""
        return [self.variant(number) for number in range(N_VARIANTS)]

    def variant(self, number):
        """One of them."""
        return self.copy(f"p{number:02}", self.source, lambda text: self.changed(text, number))

    def same(self):
        """A copy of the build as it is."""
        copy = self.folder() / "cpy"
        if not copy.exists():
            shutil.copytree(self.folder() / "src", copy, symlinks=True)
        return copy

    def slower(self, percent):
        """A build in which the benchmark `hit` has so much more work."""
        return self.copy(f"u{percent:02}", self.hit_source, lambda text: self.with_work(text, percent))

    def changed(self, text, number):
        """The text with a comment at its top, or with two functions in another order."""
        if number % 2 == 0:
            return f"{self.comment} A comment that changes nothing, {number}.\n" + text
        starts = [found.start() for found in re.finditer(self.start, text, re.MULTILINE)]
        starts.append(len(text))
        first = number // 2 % (len(starts) - 2)
        a, b, c = starts[first:first + 3]
        return text[:a] + text[b:c] + text[a:b] + text[c:]


class Go(Project):
    """A module whose tests are built as one program."""

    comment, program = "//", ""

    @property
    def build(self):
        return f"go test -c -o {self.program} ."

    def own(self, old, new):
        """benchstat of six counts, the old program first."""
        benchstat = os.environ.get("BENCHSTAT") or shutil.which("benchstat")
        if not benchstat:
            return None
        for folder, name in ((old, "own-old.txt"), (new, "own-new.txt")):
            said = shell(f"./{self.program} -test.run '^$' -test.bench . -test.count 6 -test.benchtime 5ms", folder)
            pathlib.Path(name).write_text(said)
        said = shell(f"{benchstat} own-old.txt own-new.txt")
        return bool(re.search(r"\+\d+\.\d+% \(p=", said))


class Criterion(Project):
    """A crate with one program of criterion."""

    build, source, start, comment = "cargo bench --no-run", "benches/bench.rs", r"^fn \w+\(c: &mut Criterion", "//"

    def own(self, old, new):
        """A baseline of the old program."""
        options = "--bench --noplot --warm-up-time 0.1 --measurement-time 0.3"
        home = pathlib.Path("own-criterion").absolute()
        shutil.rmtree(home, ignore_errors=True)
        for folder, option in ((old, "--save-baseline old"), (new, "--baseline old")):
            program = next(path for path in (folder / "target/release/deps").glob("bench-*") if os.access(path, os.X_OK))
            said = shell(f"CRITERION_HOME={home} {program.absolute()} {options} {option}", folder)
        return "Performance has regressed" in said


class Uuid(Go):
    name = "uuid (Go)"
    fetch = "cp -r \"$(go mod download -json github.com/google/uuid@v1.6.0 | sed -n 's/.*\"Dir\": \"\\(.*\\)\",/\\1/p')\" src; chmod -R u+w src"
    source, start, program = "uuid_test.go", r"^func Benchmark", "uuid.test"
    hit, hit_source = "BenchmarkUUID_UnmarshalJSON", "json_test.go"

    def with_work(self, text, percent):
        """Every so many turns of 1 µs do their work twice."""
        again = f"\t\tif i%{100 // percent} == 0 {{\n\t\t\tjson.Unmarshal(js, &x)\n\t\t}}\n"
        head, loop, tail = text.rpartition("\t\terr := json.Unmarshal(js, &x)\n")
        return head + again + loop + tail


class UuidOnOneCpu(Uuid):
    name = "uuid-1 (Go, -test.cpu=1)"
    programs = hit_programs = ("./uuid.test -test.cpu=1",)


class FancyRegex(Criterion):
    name = "fancy-regex (criterion)"
    fetch = ("curl -sSfL https://static.crates.io/crates/fancy-regex/fancy-regex-0.14.0.crate | tar xz; mv fancy-regex-0.14.0 src; "
             "printf '\\n[workspace]\\n' >> src/Cargo.toml")
    hit, hit_source = "parse_misc", Criterion.source

    def with_work(self, text, percent):
        """Every so many turns of 0.5 µs do their work twice."""
        def twice(found):
            work = found[1]
            return f"let mut n = 0; b.iter(|| {{ n += 1; if n % {100 // percent} == 0 {{ criterion::black_box({work}); }} {work} }})"
        return re.sub(r"b\.iter\(\|\| (Expr::parse_tree\(\"\^\\\\p.*\)\.unwrap\(\))\)", twice, text)


class Xxhash(Go):
    """The work is in its source from the start, but never done: a question more in the function of all Sum64 is 5 % of one of 4 bytes."""

    name = "xxhash (Go)"
    fetch = ("cp -r \"$(go mod download -json github.com/cespare/xxhash/v2@v2.3.0 | sed -n 's/.*\"Dir\": \"\\(.*\\)\",/\\1/p')\" src; "
             "chmod -R u+w src; "
             "sed -i -e 's|^func BenchmarkSum64(|var every = 1 << 62\\n\\n&|' "
             "-e 's|^\\t*_ = Sum64(in)|\\t\\t\\t\\tif bb.n == 4e3 \\&\\& i%every == every-1 {\\n&\\n\\t\\t\\t\\t}\\n&|' src/bench_test.go")
    source, start, program = "bench_test.go", r"^func Benchmark", "xxhash.test"
    hit, hit_source = "BenchmarkSum64/4KB", source

    def with_work(self, text, percent):
        """Every so many sums of 4 kB are computed twice."""
        return text.replace("every = 1 << 62", f"every = {100 // percent}")


class Itoa(Criterion):
    """The work is in its source from the start, but never done: a counter costs as much as one per cent of a call."""

    name = "itoa (criterion)"
    fetch = ("curl -sSfL https://static.crates.io/crates/itoa/itoa-1.0.19.crate | tar xz; mv itoa-1.0.19 src; "
             "printf '\\n[workspace]\\n' >> src/Cargo.toml; "
             "sed -i -e 's|^fn do_bench|const EVERY: u32 = u32::MAX;\\n&|' "
             "-e 's|let mut buf = Vec.*|& let every = if group_name == \"u128[max]\" { EVERY } else { u32::MAX }; let mut n = 0u32;|' "
             "-e 's|write!.*|n += 1; if n % every == 0 { & buf.clear(); } &|' src/benches/bench.rs")
    hit, hit_source = "u128[max]/std::fmt", Criterion.source

    def with_work(self, text, percent):
        """Every so many calls are done twice."""
        return text.replace("EVERY: u32 = u32::MAX", f"EVERY: u32 = {100 // percent}")


class Snappy(Project):
    """With Google Benchmark of Debian 13: that of Debian 12 takes no number of iterations, so valgrind cannot count it."""

    name = "snappy (Google Benchmark)"
    fetch = ("for it in s/snappy/snappy_1.2.2 b/benchmark/benchmark_1.9.1; do "
             "curl -sSfL https://deb.debian.org/debian/pool/main/$it.orig.tar.gz | tar xz; done; "
             "mv snappy-1.2.2 src; mv benchmark-1.9.1 src/benchmark; cd src; "
             "cmake -B build -DCMAKE_BUILD_TYPE=Release -DSNAPPY_BUILD_TESTS=OFF -DSNAPPY_BUILD_BENCHMARKS=OFF . > /dev/null; cmake --build build; "
             "mv build/config.h build/snappy-stubs-public.h build/libsnappy.a .; rm -r build; cd benchmark; "
             "cmake -B build -DCMAKE_BUILD_TYPE=Release -DBENCHMARK_ENABLE_TESTING=OFF . > /dev/null; cmake --build build; "
             "mv build/src/*.a ..; rm -r build")
    build = ("c++ -O2 -g -DNDEBUG -DHAVE_CONFIG_H -DBENCHMARK_STATIC_DEFINE -I. -Ibenchmark/include snappy_benchmark.cc snappy_test_data.cc "
             "snappy-test.cc libsnappy.a libbenchmark.a libbenchmark_main.a -lpthread -lz -o bench")
    source, start, comment = "snappy_benchmark.cc", r"^void BM_(?:UIOVec|UFlatSink|ZFlat)", "//"
    hit, hit_source = "BM_ZFlat/3/1", source

    def with_work(self, text, percent):
        """Every so many compressions of 200 bytes are done twice."""
        call = re.search(r"void BM_ZFlat\(.*?(    snappy::RawCompress\(.*?;\n)", text, re.DOTALL)
        again = f"    static int turn = 0;\n    if (file_index == 3 && level == 1 && ++turn % {100 // percent} == 0)\n  {call[1]}"
        return text[:call.start(1)] + again + text[call.start(1):]


class PytestProject(Project):
    """A distribution of PyPI. `call` is the benchmark's function, which is slower where `is_hit` holds; `only` chooses the hit for pytest."""

    distribution = needs = call = is_hit = only = options = ""
    build, start, comment = "true", r"^@pytest", "#"

    def __init__(self):
        self.python = (self.folder() / "venv/bin/python").absolute()
        name = self.distribution.partition("=")[0]
        self.fetch = (f"python3 -m venv venv; venv/bin/pip install -q pytest pytest-benchmark setuptools {self.needs}; "
                      f"venv/bin/pip download -q --no-deps --no-binary :all: {self.distribution}; "
                      f"tar xf {name}-*.tar.gz; rm {name}-*.tar.gz; mv {name}-* src; mkdir src/.git")
        self.words = f"'{self.python}' -m pytest -o pythonpath=src {self.source} {self.options}".strip()
        self.programs = (self.words,)
        self.hit_programs = (self.words.replace(self.source, self.hit_source),)

    def with_work(self, text, percent):
        """A loop before each call, because each round is one call."""
        said = shell(f"{self.hit_programs[0]} -q -k '{self.only}' --benchmark-json {self.folder().absolute()}/hit.json; "
                     f"{self.python} -m timeit -u usec -n 2000 'for _ in range(1000): pass' | tail -n 1", self.folder() / "src")
        call_us = 1e6 * json.loads((self.folder() / "hit.json").read_text())["benchmarks"][0]["stats"]["min"]
        turn_us = float(re.search(r"([\d.]+) usec per loop", said)[1]) / 1000
        turns = round(percent / 100 * call_us / turn_us)
        slower = f"def slower(call):\n    def longer(*given):\n        for _ in range({turns}):\n            pass\n        return call(*given)\n    return longer\n"
        before, hit, after = text.rpartition(f"    benchmark({self.call}, ")
        return f"{before}    benchmark(slower({self.call}) if {self.is_hit} else {self.call}, {after}\n\n{slower}"

    def own(self, old, new):
        """--benchmark-compare-fail of the means by 10 %."""
        storage = pathlib.Path("own-pytest").absolute()
        shutil.rmtree(storage, ignore_errors=True)
        shell(f"{self.words} -q --benchmark-max-time 0.1 --benchmark-storage {storage} --benchmark-save old", old)
        try:
            shell(f"{self.words} -q --benchmark-max-time 0.1 --benchmark-storage {storage} --benchmark-compare --benchmark-compare-fail mean:10%", new)
        except OSError:
            return True
        return False


class Cattrs(PytestProject):
    name, distribution, needs = "cattrs (pytest)", "cattrs==24.1.2", "attrs exceptiongroup typing-extensions hatchling hatch-vcs"
    source, hit_source = "bench/test_primitives.py", "bench/test_attrs_collections.py"
    hit = hit_source + "::test_structure_attrs_mappings[BaseConverter]"
    call, is_hit, only = "c.structure", "converter_cls is BaseConverter", "structure_attrs_mappings and BaseConverter and not un"


class Pluggy(PytestProject):
    """Eight of its benchmarks."""

    name, distribution = "pluggy (pytest)", "pluggy==1.7.0"
    source = hit_source = "testing/benchmark.py"
    options, only = "-k test_varnames", "test_varnames_legacy and class"
    hit, call, is_hit = "testing/benchmark.py::test_varnames_legacy[class]", "_varnames_legacy", "func is _MethodHolder"


def prepared():
    """Each project that can be installed, built. PROJECTS names some of them, separated by commas."""
    names = list(filter(None, os.environ.get("PROJECTS", "").split(",")))
    for kind in (Uuid, UuidOnOneCpu, Xxhash, FancyRegex, Itoa, Snappy, Cattrs, Pluggy):
        project = kind()
        if names and not any(project.name.startswith(name) for name in names):
            continue
        try:
            project.prepare()
            yield project
        except OSError as error:
            print(f"skipped: {project.name}: {error}", flush=True)
