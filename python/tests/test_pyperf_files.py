"""Runs, benchmarks, suites and files of `stillwell.pyperf_compat`, without the program."""
import gzip
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402,F401 # The path of the package.
from stillwell import pyperf_compat as pyperf  # noqa: E402
from stillwell.pyperf_compat import metadata, options, values  # noqa: E402


def run(found, warmups=(), **given):
    return pyperf.Run(found, warmups, dict({"name": "parse"}, **given), collect_metadata=False)


class Runs(unittest.TestCase):
    def test_numbers_of_loops(self):
        one = run([2.0, 3.0], [(4, 0.5)], loops=2, inner_loops=5)
        self.assertEqual((one.get_loops(), one.get_inner_loops(), one.get_total_loops()), (2, 5, 10))
        self.assertEqual(one.duration(), 4 * 0.5 * 5 + 20 + 30)
        self.assertEqual(run([1], duration=7).duration(), 7)

    def test_what_is_refused(self):
        for arguments in (([],), ([0.0],), ([-1.0],), ([1.0], [(0, 1.0)]), ([1.0], [(1, -1.0)])):
            with self.assertRaises(ValueError, msg=arguments):
                run(*arguments)
        for given in (
            {"loops": 0}, {"loops": 1.0}, {"inner_loops": True}, {"name": " "}, {"tags": ["all"]}, {"unit": "mile"}, {"load_avg_1min": -1},
            {"text": "two\nlines"}, {"mem_max_rss": 0},
        ):
            with self.assertRaises(ValueError, msg=given):
                run([1.0], **given)
        with self.assertRaises(TypeError):
            run([1.0], other=[1])

    def test_facts_of_this_process(self):
        found = pyperf.Run([1.0], metadata={"name": "x", "hostname": "mine"}).get_metadata()
        self.assertEqual(found["hostname"], "mine")
        self.assertEqual(found["cpu_count"], os.cpu_count())
        for key in ("date", "python_version", "platform", "python_implementation"):
            self.assertTrue(found[key].strip() == found[key] != "", key)


class Benchmarks(unittest.TestCase):
    def test_runs_of_another_benchmark_are_refused(self):
        benchmark = pyperf.Benchmark([run([1.0], hostname="a")])
        for other in ({"hostname": "b"}, {"name": "other", "hostname": "a"}, {}):
            with self.assertRaises(ValueError, msg=other):
                benchmark.add_run(run([1.0], **other))
        with self.assertRaises(TypeError):
            benchmark.add_run([1.0])
        benchmark.add_run(run([2.0], hostname="a", loops=3))
        self.assertEqual((benchmark.get_nrun(), benchmark.get_loops()), (2, 2.0))

    def test_statistics(self):
        benchmark = pyperf.Benchmark([run([1.0, 2.0]), run([3.0, 10.0])])
        self.assertEqual((benchmark.mean(), benchmark.median(), benchmark.median_abs_dev()), (4.0, 2.5, 1.0))
        self.assertEqual([benchmark.percentile(p) for p in (0, 25, 50, 100)], [1.0, 1.75, 2.5, 10.0])
        self.assertAlmostEqual(benchmark.stdev(), (50 / 3) ** 0.5)
        # Means of the processes 1.5 and 6.5: s = 3.5355, s / 4 = 0.88388; 4 · 1.96² · 0.88388² / 0.01² = 120 050.0.
        self.assertIn(benchmark.required_nprocesses(), (120050, 120051))
        with self.assertRaises(ValueError):
            pyperf.Benchmark([run([1.0])]).stdev()

    def test_calibrations_do_not_count(self):
        benchmark = pyperf.Benchmark([run([], [(1, 1.0), (2, 1.0)]), run([1.0, 2.0], [(2, 3.0)])])
        self.assertEqual((benchmark.get_nvalue(), benchmark.get_nwarmup(), benchmark.get_nrun()), (2, 1, 2))

    def test_dates(self):
        benchmark = pyperf.Benchmark([
            run([1.0], date="2026-01-01 10:00:00", duration=60.0), run([1.0]), run([1.0], date="2026-01-01 09:00:00", duration=1.0)])
        start, end = benchmark.get_dates()
        self.assertEqual((start.hour, end.hour, end.minute), (9, 10, 1))

    def test_inner_loops_cannot_change(self):
        benchmark = pyperf.Benchmark([run([1.0], inner_loops=3)])
        with self.assertRaises(ValueError):
            benchmark.update_metadata({"inner_loops": 4})
        benchmark.update_metadata({"inner_loops": 3, "os": "linux"})
        self.assertEqual(benchmark.get_metadata()["os"], "linux")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def suite(self):
        return pyperf.BenchmarkSuite([
            pyperf.Benchmark([run([0.1, 0.2], [(1, 0.3)], host="a", loops=4), run([0.30000000000000004], host="a", loops=8)]),
            pyperf.Benchmark([run([5, 6], name="size", host="a", unit="byte")]),
        ])

    def test_shared_metadata_stands_once(self):
        text = io.StringIO()
        self.suite().dump(text)
        document = json.loads(text.getvalue())
        self.assertEqual(document["metadata"], {"host": "a"})
        first, second = document["benchmarks"]
        self.assertEqual((first["metadata"], second["metadata"]), ({"name": "parse"}, {"name": "size", "unit": "byte"}))
        self.assertEqual([one["metadata"] for one in first["runs"]], [{"loops": 4}, {"loops": 8}])
        self.assertEqual(text.getvalue(), json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n")

    def test_round_trip(self):
        for name in ("x.json", "x.json.gz"):
            path = os.path.join(self.folder, name)
            self.suite().dump(path)
            with self.assertRaises(FileExistsError):
                self.suite().dump(path)
            self.suite().dump(path, replace=True)
            loaded = pyperf.BenchmarkSuite.load(path)
            self.assertEqual(loaded.filename, path)
            self.assertEqual(loaded.get_benchmark("parse").get_values(), (0.1, 0.2, 0.30000000000000004))
            self.assertIsInstance(loaded.get_benchmark("size").get_values()[0], int)
            self.assertEqual([one.get_runs()[0].get_metadata() for one in loaded], [one.get_runs()[0].get_metadata() for one in self.suite()])
        with gzip.open(path, "rt") as packed:
            self.assertTrue(packed.read().startswith("{"))
        with self.assertRaises(ValueError):
            pyperf.Benchmark.load(path)

    def test_samples_of_pyperf(self):
        samples = os.path.join(os.path.dirname(client.PACKAGE_FOLDER), "crates/formats/samples/results")
        found = [name for name in sorted(os.listdir(samples)) if name.startswith("pyperf") and name.endswith((".json", ".json.gz"))]
        self.assertTrue(found, samples)
        for name in found:
            loaded = pyperf.BenchmarkSuite.load(os.path.join(samples, name))
            text = io.StringIO()
            loaded.dump(text)
            again = pyperf.BenchmarkSuite.loads(text.getvalue())
            for one, two in zip(loaded, again):
                self.assertEqual(one.get_values(), two.get_values(), name)
                self.assertEqual([r.get_metadata() for r in one.get_runs()], [r.get_metadata() for r in two.get_runs()], name)

    def test_a_file_of_an_unknown_version_is_refused(self):
        for text in ('{"version": "2.0", "benchmarks": []}', "[]", "x", '{"version": "1.0", "benchmarks": []}'):
            with self.assertRaises(ValueError, msg=text):
                pyperf.BenchmarkSuite.loads(text)

    def test_warmups_of_version_6_are_of_all_loops(self):
        text = '{"version": 6, "benchmarks": [{"metadata": {"name": "x", "inner_loops": 5}, "runs": [{"warmups": [[2, 20.0]], "values": [1.0]}]}]}'
        self.assertEqual(pyperf.Benchmark.loads(text).get_runs()[0].warmups, ((2, 2.0),))

    def test_runs_are_added_by_name(self):
        path = os.path.join(self.folder, "x.json")
        for number in (1.0, 2.0):
            pyperf.add_runs(path, pyperf.Benchmark([run([number])]))
        pyperf.add_runs(path, pyperf.Benchmark([run([3.0], name="other")]))
        suite = pyperf.BenchmarkSuite.load(path)
        self.assertEqual([one.get_values() for one in suite], [(1.0, 2.0), (3.0,)])


class Texts(unittest.TestCase):
    def test_times(self):
        for given, text in (((1.0, 0.5), "1.00 sec 0.50 sec"), ((0.1, 0.0), "100 ms 0 ms"), ((1e-10,), "0.10 ns"), ((316e-5,), "3.16 ms"),
                            ((555222,), "555222 sec"), ((0,), "0 sec"), ((-2,), "-2.00 sec")):
            self.assertEqual(" ".join(values.timedeltas(given)), text)
        self.assertEqual([values.duration(n) for n in (15.9, 195.9, 404683.6)], ["15.9 sec", "3 min 15.9 sec", "4 day 16 hour 24 min"])

    def test_numbers(self):
        found = [values.number(n, "unit") for n in (0, 1, 1000, 10**4, 33 * 10**4, 1 << 15)]
        self.assertEqual(found, ["0 units", "1 unit", "1000 units", "10^4 units", "330000 units", "2^15 units"])
        self.assertEqual([values.size(n) for n in (0, 1, 10240, 13002342)], ["0 bytes", "1 byte", "10.0 KiB", "12.4 MiB"])
        self.assertEqual(pyperf.format_metadata("loops", 1 << 24), "2^24")

    def test_lists_of_cpus(self):
        for text in ("0", "0-1,5-6", "1,3,7"):
            self.assertEqual(metadata.cpu_list(metadata.parse_cpus(text)), text)
        self.assertEqual(metadata.parse_cpus("(null)"), set())


class Options(unittest.TestCase):
    def words(self, *words, **defaults):
        import argparse

        parser = argparse.ArgumentParser()
        options.add_to(parser)
        parser.set_defaults(**defaults)
        args = parser.parse_args(words)
        given = options.complete(args)
        return options.to_words(args, given), args

    def test_every_combination_has_words_without_conflicts(self):
        # The program refuses --fast with --runs, and --debug-single-value with any number.
        for words, defaults, expected in (
            ([], {}, ["--runs", "20"]),
            (["--fast"], {}, ["--runs", "10"]),
            (["--fast"], {"processes": 30}, ["--runs", "15"]),
            (["--fast"], {"values": 9}, ["--runs", "10", "--values", "6"]),
            (["--rigorous"], {"processes": 3}, ["--runs", "6"]),
            (["--debug-single-value"], {"values": 3, "processes": 2, "loops": 5}, ["--debug-single-value"]),
            (["-p3", "-n2", "-w0", "-l2^3"], {}, ["--runs", "3", "--values", "2", "--warmups", "0", "--loops", "8"]),
        ):
            self.assertEqual(self.words(*words, **defaults)[0], expected, (words, defaults))

    def test_scripts_see_numbers(self):
        _, args = self.words("--fast")
        self.assertEqual((args.processes, args.values, args.warmups, args.loops), (10, 2, 1, 0))

    def test_environment(self):
        _, args = self.words("--inherit-environ", "MINE,OTHER", "--no-locale")
        before = dict(os.environ)
        os.environ.update(MINE="1", YOURS="2", LANG="C", PYPERF_X="3")
        try:
            found = options.environment(args)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.assertEqual((found.get("MINE"), found.get("YOURS"), found.get("LANG"), found.get("PYPERF_X")), ("1", None, None, "3"))
        self.assertEqual(found.get("PATH"), before.get("PATH"))


if __name__ == "__main__":
    unittest.main()
