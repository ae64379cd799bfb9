#!/usr/bin/env python3
"""bench/compare with programs in place of Hocket and its peers that report what a test wants."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True


def load_compare():
    loader = SourceFileLoader("compare", str(ROOT / "bench/compare"))
    module = module_from_spec(spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


compare = load_compare()
import heat_map  # noqa: E402  from bench/peers, as all of these
import programs  # noqa: E402
import results as measured  # noqa: E402
import sizes  # noqa: E402
import whole_table  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20

# Reports, for every size, the time that TIMES has for its algorithm, or that TURNS has for the size in this run; notes
# how it was called.
REPORTER = """#!/usr/bin/env python3
import json, sys
arguments = sys.argv
value = lambda flag, default: arguments[arguments.index(flag) + 1] if flag in arguments else default
with open({calls!r}, "a") as file:
    file.write(" ".join(arguments[1:]) + "\\n")
times, turns = {times!r}, {turns!r}
with open({calls!r}) as file:
    run = len(file.readlines())
size, rows = int(value("-b", 0)), []
while size <= int(value("-e", 0)):
    for name in value("--algorithm", ",".join(times)).split(","):
        time = turns[size][run % len(turns[size])] if size in turns else times[name]
        rows.append({{"transport": "shm", "algorithm": name, "bytes": size, "collective": "allreduce",
                     "time_us": {{"p50": time}}, "cpu_us_per_op": 3,
                     "wrong": {wrong}, "ranks": 2, "bytes_sent_per_rank": {sent}}})
    size *= int(value("-f", 2))
json.dump({{"version": "fake", "rows": rows}}, open(value("--json", None), "w"))
sys.exit({status})
"""


class Fakes:
    """A folder with fake programs."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        (self.path / "bin").mkdir()

    def write(self, name, text):
        program = self.path / "bin" / name
        program.write_text(text)
        program.chmod(0o755)

    def reporter(self, name, times, wrong=0, status=0, sent=1e9, turns=None):
        calls = str(self.path / f"{name}.calls")
        self.write(name, REPORTER.format(calls=calls, times=times, turns=turns or {}, wrong=wrong, status=status,
                                         sent=sent))

    def calls(self, name):
        return (self.path / f"{name}.calls").read_text().splitlines()

    def launcher(self, name, program):
        """Starts `program` in place of the ranks, on the host where it runs itself."""
        self.write(name, f'#!/bin/sh\nwhile [ "${{1##*/}}" != {program} ]; do shift; done\nexec "$@"\n')

    def compare(self, *flags, path=os.environ["PATH"]):
        command = [ROOT / "bench/compare", "--no-build", "--build", self.path,
                   "--hocket", self.path / "bin/hocket-bench", "--peers", "gloo", "--ranks", "2",
                   "--json", self.path / "out.json", *flags]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "PATH": path})
        document = self.path / "out.json"
        return done, json.loads(document.read_text()) if document.exists() else None


class Pieces(unittest.TestCase):
    def test_no_block_is_without_an_element(self):
        self.assertEqual(sizes.possible("allgather", 8, [8, 64, 512]), [32, 64, 512])
        self.assertEqual(sizes.possible("alltoall_v", 4, [4, 8]), [16])
        self.assertEqual(sizes.possible("allreduce", 8, [8, 64]), [8, 64])
        self.assertEqual(sizes.possible("barrier", 8, [8, 64]), [0])

    def test_the_whole_table_has_every_cell_once_and_none_that_cannot_be(self):
        settings = whole_table.all_settings()
        self.assertEqual(len(settings), len(set(settings)))
        self.assertFalse([one for one in settings if one.transport == "tcp" and one.memory == "registered"])
        self.assertEqual(sum(one.collective == "barrier" for one in settings), 2)
        # 13 with both placements, 3 with one, on 3 kinds of memory and transport, with 2 kinds of input.
        self.assertEqual(len(settings), (13 * 2 + 3) * 3 * 2 + 2)

    def test_the_best_setting_counts_by_its_median_over_rounds(self):
        results = measured.Results()
        one = compare.contenders.Contender("gloo", "bbr")
        other = compare.contenders.Contender("gloo", "cubic")
        for slow, fast in ((9, 5), (1, 6), (8, 50)):  # one lucky round of the slow one, one unlucky of the fast one
            for contender, time, cpu in ((one, slow, 2), (other, fast, 4)):
                row = {"algorithm": "ring", "collective": "allreduce", "time_us": {"p50": time}, "cpu_us_per_op": cpu,
                       "wrong": 0}
                results.add(2, 4, contender, [row])
        best = results.best(2, 4, "gloo")
        self.assertEqual((best.time_us, best.cpu_us, best.control, best.rounds), (6, 4, "cubic", 3))
        self.assertIsNone(results.best(4, 4, "gloo"))

    def test_a_machine_that_is_slow_in_some_rounds_does_not_move_the_ratio(self):
        results = measured.Results()
        for own, peer in ((10, 20), (100, 200), (12, 240)):
            for library, time in (("hocket", own), ("gloo", peer)):
                row = {"algorithm": "ring", "collective": "allreduce", "time_us": {"p50": time}, "cpu_us_per_op": 1,
                       "wrong": 0}
                results.add(2, 4, compare.contenders.Contender(library), [row])
        self.assertEqual(results.ratio(2, 4), 2)
        self.assertIsNone(results.ratio(2, 8))

    def test_where_senders_run_ahead_the_mean_counts(self):
        row = {"collective": "allreduce", "time_us": {"p50": 1, "mean": 5}}
        self.assertEqual(measured.time_of(row), 1)
        self.assertEqual(measured.time_of({**row, "collective": "broadcast"}), 5)

    def test_what_a_program_wrote_before_it_was_ended_counts(self):
        row = '{"algorithm": "ring", "collective": "allreduce", "time_us": {"p50": 1}, "cpu_us_per_op": 2, "wrong": 0}'
        with tempfile.NamedTemporaryFile("w") as file:
            file.write('{"version":"x","host":{},"rows":[\n  ' + row + ",\n  " + row)
            file.flush()
            version, rows = measured.read_rows(file.name)
            self.assertEqual((version, len(rows)), ("x", 2))
            file.write(',\n  {"algorithm": "ri')
            file.flush()
            self.assertEqual(len(measured.read_rows(file.name)[1]), 2)
        results = measured.Results()
        self.assertTrue(results.add(2, 8, compare.contenders.Contender("gloo"), rows))
        self.assertFalse(results.add(2, 16, compare.contenders.Contender("gloo"), []))
        self.assertEqual(results.best(2, 8, "gloo").time_us, 1)
        self.assertIsNone(results.best(2, 16, "gloo"))
        self.assertEqual(measured.read_rows("/nowhere/rows.json"), (None, []))

    def test_the_limit_is_latency_for_small_sizes_and_bytes_for_large_ones(self):
        limit = {"tcp_us": 6, "tcp_GBps_one_way": 3, "tcp_GBps_both_ways": 4, "flag_us": 0.2, "sum_GBps_all_cores": 20,
                 "copy_GBps_all_cores": 15}
        limit_us = compare.machine.limit_us
        self.assertEqual(limit_us(limit, "tcp", "allreduce", 4, 4), 6)
        self.assertAlmostEqual(limit_us(limit, "tcp", "allreduce", 4, 64 * MIB), 2 * 3 * 64 * MIB / 4e3)
        self.assertAlmostEqual(limit_us(limit, "shm", "allreduce", 4, 64 * MIB), 2 * 4 * 64 * MIB / 20e3)
        self.assertIsNone(limit_us(None, "tcp", "allreduce", 4, 4))


class Programs(unittest.TestCase):
    def setUp(self):
        self.fakes = Fakes()
        self.addCleanup(self.fakes.folder.cleanup)

    def test_ratios_and_the_algorithms_that_stay(self):
        self.fakes.reporter("hocket-bench", {"direct staged": 10.0})
        self.fakes.reporter("peer-gloo", {"ring": 40.0, "bcube": 25.0, "slow": 300.0})
        done, document = self.fakes.compare("--rounds", "2", "--sizes", "1K,4K", "--svg", self.fakes.path / "out.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2.50", done.stdout)
        best = {(cell["library"], cell["bytes"]): cell for cell in document["best"]}
        self.assertEqual(best["gloo", 4 * KIB]["algorithm"], "bcube")
        self.assertEqual(best["hocket", KIB]["rounds"], 2)
        self.assertEqual(best["hocket", KIB]["transport"], "shm")
        self.assertIn("Hocket: shm direct staged up to 4 KiB.", done.stdout)
        self.assertNotIn("--algorithm", self.fakes.calls("peer-gloo")[0])
        self.assertIn("--algorithm bcube", self.fakes.calls("peer-gloo")[-1])
        self.assertTrue((self.fakes.path / "out.svg").read_text().startswith("<svg"))

    def test_fresh_operations_of_all_libraries_begin_at_one_barrier(self):
        self.fakes.reporter("hocket-bench", {"auto": 10.0})
        self.fakes.reporter("peer-gloo", {"ring": 5.0})
        self.fakes.compare("--rounds", "1", "--sizes", "4K", "--fresh")
        self.fakes.compare("--rounds", "1", "--sizes", "4K")
        for name in ("hocket-bench", "peer-gloo"):
            fresh, back_to_back = self.fakes.calls(name)[0], self.fakes.calls(name)[-1]
            self.assertRegex(fresh, "--fresh --pacer /", name)
            self.assertNotIn("--pacer", back_to_back, name)
            self.assertIn("-w 2 --warmup-seconds 0.1", back_to_back, name)

    def test_the_whole_table_goes_on_where_it_was_stopped(self):
        self.fakes.reporter("hocket-bench", {"auto": 10.0})
        self.fakes.reporter("peer-gloo", {"ring": 5.0, "bcube": 25.0})
        file = self.fakes.path / "table.jsonl"
        flags = ("--all", file, "--rounds", "1", "--sizes", "4K,32K")
        command = [ROOT / "bench/compare", "--no-build", "--build", self.fakes.path, "--hocket",
                   self.fakes.path / "bin/hocket-bench", "--peers", "gloo", "--ranks", "2", *flags]
        settings = whole_table.all_settings()
        last = next(at for at in reversed(range(len(settings))) if settings[at].transport == "tcp")
        done_before = whole_table.Table(file)
        for setting in settings[:last]:  # what earlier runs measured
            done_before.add(setting, 2, {"best": [], "versions": {}, "rounds": 1, "warmup_seconds": 0})
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = whole_table.Table(file)
        self.assertEqual(len(table.entries), len(settings))
        self.assertEqual(len(self.fakes.calls("hocket-bench")), 2 * (len(settings) - last))  # one for each size
        cells = table.cells()  # of the one over TCP: Gloo has no shared memory
        self.assertEqual([(cell.size, cell.ratio, cell.peer) for cell in cells],
                         [(4 * KIB, 0.5, "gloo"), (32 * KIB, 0.5, "gloo")])
        otherwise = f"Measured with --warmup-seconds 0: {last} of {last} settings in {file}."
        self.assertIn(otherwise + " They stay as they are; name another file", done.stdout)
        page = file.with_suffix(".md").read_text()
        self.assertIn("Measured with --rounds 1 --seconds 0.2 --warmup-seconds 0.1, but for some:", page)
        self.assertIn(otherwise.replace(f"of {last}", f"of {len(settings)}"), page)
        self.assertIn("0.50", page.split("## Cells below 0.95")[1])
        self.assertIn(heat_map.colour(0.5), file.with_suffix(".svg").read_text())
        calls = len(self.fakes.calls("hocket-bench"))
        subprocess.run([str(part) for part in command], capture_output=True, check=True, timeout=200)
        self.assertEqual(len(self.fakes.calls("hocket-bench")), calls)

    def test_goes_on_where_rounds_disagree(self):
        self.fakes.reporter("hocket-bench", {"auto": 8.0}, turns={4 * KIB: [8.0, 12.0]})
        self.fakes.reporter("peer-gloo", {"ring": 10.0})
        done, document = self.fakes.compare("--rounds", "2", "--at-most", "5", "--sizes", "1K,4K,16K")
        self.assertEqual(done.returncode, 0, done.stderr)
        rounds = {(cell["library"], cell["bytes"]): cell["rounds"] for cell in document["best"]}
        self.assertEqual([rounds["hocket", size * KIB] for size in (1, 4, 16)], [2, 5, 2])
        self.assertEqual([rounds["gloo", size * KIB] for size in (1, 4, 16)], [2, 5, 2])
        self.assertIn("rounds disagree", done.stderr)

    def test_the_whole_table_of_what_is_given(self):
        over_tcp = whole_table.all_settings({"transport": "tcp", "placement": "in", "fresh": False})
        self.assertEqual(len(over_tcp), 13)
        self.assertTrue(all(one.transport == "tcp" and one.placement == "in" and not one.fresh for one in over_tcp))

    def test_a_wrong_element_is_exit_status_1(self):
        for wrong in ("hocket-bench", "peer-gloo"):
            self.fakes.reporter("hocket-bench", {"auto": 1.0})
            self.fakes.reporter("peer-gloo", {"ring": 1.0})
            self.fakes.reporter(wrong, {"auto": 1.0}, wrong=7, status=1)
            done, _ = self.fakes.compare("--rounds", "1", "--sizes", "4")
            self.assertEqual(done.returncode, 1)
            self.assertIn("7 wrong elements", done.stdout)

    def test_peers_that_are_missing_are_named_and_left_out(self):
        self.fakes.reporter("hocket-bench", {"auto": 1.0})
        done, document = self.fakes.compare("--rounds", "1", "--sizes", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Gloo is left out: it is not installed", done.stdout)
        self.assertEqual({cell["library"] for cell in document["best"]}, {"hocket"})

    def test_hocket_failing_is_an_error_a_peer_failing_is_not(self):
        self.fakes.reporter("hocket-bench", {"auto": 1.0})
        self.fakes.write("peer-gloo", "#!/bin/sh\necho Something broke.\nexit 9\n")
        done, _ = self.fakes.compare("--rounds", "2", "--sizes", "4")
        self.assertEqual(done.returncode, 0)
        self.assertIn("exit status 9: Something broke.", done.stdout)
        self.fakes.write("hocket-bench", "#!/bin/sh\nexit 3\n")
        done, _ = self.fakes.compare("--rounds", "2", "--sizes", "4")
        self.assertEqual(done.returncode, 3)

    def test_a_peer_that_does_not_use_tcp_does_not_count(self):
        self.fakes.reporter("hocket-bench", {"auto": 1.0})
        self.fakes.reporter("peer-gloo", {"ring": 1.0}, sent=100)
        done, document = self.fakes.compare("--rounds", "1", "--sizes", "4K")
        self.assertIn("does not use TCP", done.stdout)
        self.assertEqual({cell["library"] for cell in document["best"]}, {"hocket"})

    def test_what_hangs_is_ended_with_its_ranks(self):
        self.fakes.reporter("hocket-bench", {"auto": 1.0})
        pids = self.fakes.path / "pids"
        # A launcher that ignores the polite signal, and a rank in a session of its own.
        body = f"trap '' TERM\nsetsid sleep 600 &\necho $! >> {pids}\nwait\nsleep 600\n"
        self.fakes.write("peer-gloo", "#!/bin/sh\n" + body)
        done, _ = self.fakes.compare("--rounds", "1", "--sizes", "4", "--timeout", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no end within 5 s", done.stdout)
        for pid in pids.read_text().split():
            self.assertFalse(programs.alive(int(pid)))

    def test_the_hosts_congestion_control_stays(self):
        setting = Path(compare.network.SETTING)
        before = setting.read_text() if setting.exists() else None
        self.fakes.reporter("hocket-bench", {"auto": 1.0})
        self.fakes.compare("--rounds", "1", "--sizes", "4")
        self.assertEqual(setting.read_text() if setting.exists() else None, before)

    def test_ranks_on_several_hosts_are_compared_with_open_mpi(self):
        fakes = self.fakes
        fakes.reporter("hocket-bench", {"two_level": 2})
        fakes.reporter("peer-openmpi", {"default": 5})
        fakes.launcher("hocket-run", "hocket-bench")
        fakes.launcher("mpirun.openmpi", "peer-openmpi")
        done, document = fakes.compare("--hosts", "2", "--ranks", "4", "--sizes", "1K", "--rounds", "1",
                                       path=f"{fakes.path / 'bin'}:{os.environ['PATH']}")
        if "cannot make test hosts" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2.50", done.stdout)
        self.assertIn("2 hosts", done.stdout)
        self.assertEqual({cell["library"] for cell in document["best"]}, {"hocket", "openmpi"})
        for calls in (fakes.calls("hocket-bench"), fakes.calls("peer-openmpi")):
            self.assertEqual(len(calls), 1)
            self.assertIn("--transport auto", calls[0])
            self.assertNotIn("--ranks", calls[0])

    def test_hosts_take_as_many_ranks_each(self):
        fakes = self.fakes
        done, _ = fakes.compare("--hosts", "3", "--ranks", "4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("multiples of the 3 hosts", done.stderr)

if __name__ == "__main__":
    unittest.main(verbosity=2)
