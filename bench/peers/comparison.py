"""One comparison: every contender at every size, interleaved, round by round."""

import os
import sys
import tempfile
import time

import machine
import programs
import report
import results as measured
import sizes

HOPELESS = 3  # times the best peer
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where ranks meet
FLOOR = 0.95  # of the best peer: below that, Hocket falls short


def say(text, last=False):
    """Progress: one line that is overwritten on a terminal, lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="\n" if last else "", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


class Comparison:
    def __init__(self, options, networks, found, label=""):
        self.label = label  # before every line of progress
        self.options, self.networks, self.contenders = options, networks, found
        self.results = measured.Results()
        self.versions, self.loads, self.failures = {}, [], []
        self.given_up = set()  # (ranks, size, title)
        self.begin, self.done = time.monotonic(), 0
        self.total = sum(options.rounds * len(self.sizes(ranks)) * len(found) for ranks in options.ranks)

    def sizes(self, ranks):
        return sizes.possible(self.options.collective, ranks, self.options.sizes)

    def measure_ranks(self, ranks):
        for one in self.contenders:
            one.algorithms = []
        for round_number in range(self.options.rounds):
            self.loads.append(os.getloadavg()[0])
            for size in self.sizes(ranks):
                for one in self.in_turn(round_number):
                    self.measure(ranks, round_number, size, one)
            if round_number == 0:
                self.drop_slow_algorithms(ranks)
                if self.options.all:
                    self.drop_hopeless(ranks)
        self.measure_what_is_open(ranks)
        say("", last=True)

    def in_turn(self, round_number):
        turn = round_number % len(self.contenders)
        return self.contenders[turn:] + self.contenders[:turn]

    def is_open(self, ranks, size):
        """Whether rounds do not agree on which side of the floor Hocket is."""
        return len({ratio < FLOOR for ratio in self.results.ratios(ranks, size)}) > 1

    def measure_what_is_open(self, ranks):
        """More rounds, at those sizes alone."""
        for round_number in range(self.options.rounds, max(self.options.rounds, self.options.at_most)):
            still_open = [size for size in self.sizes(ranks) if self.is_open(ranks, size)]
            if not still_open:
                return
            self.loads.append(os.getloadavg()[0])
            for size in still_open:
                say(f"{self.label}{ranks} ranks, round {round_number + 1}, {report.size_text(size)}: rounds disagree")
                for one in self.in_turn(round_number):
                    if (ranks, size, one.title) not in self.given_up:
                        self.note(ranks, size, one)

    def drop_slow_algorithms(self, ranks):
        for one in self.contenders:
            if one.library == "gloo":
                one.algorithms = self.results.worth_another_round(ranks, self.sizes(ranks), one) or ["none"]
                if one.algorithms == ["none"]:
                    self.leave_out(ranks, one)

    def leave_out(self, ranks, one, least=0):
        self.given_up.update((ranks, size, one.title) for size in self.sizes(ranks) if size >= least)

    def drop_hopeless(self, ranks):
        """Those that are far behind another peer at every size keep the one sample that they have."""
        peers = {one.library for one in self.contenders if one.library != "hocket"}
        best = {size: self.results.best_of(ranks, size, peers)[1] for size in self.sizes(ranks)}
        for one in self.contenders:
            if one.library == "hocket":
                continue
            times = {size: self.results.time(ranks, size, one) for size in best}
            if not any(time and time <= HOPELESS * best[size].time_us for size, time in times.items()):
                self.leave_out(ranks, one)

    def measure(self, ranks, round_number, size, one):
        self.done += 1
        if (ranks, size, one.title) in self.given_up:
            return
        spent = time.monotonic() - self.begin
        left = spent / max(self.done - 1, 1) * (self.total - self.done + 1)
        say(f"{self.label}{ranks} ranks, round {round_number + 1}/{self.options.rounds}, {one.title}, "
            f"{report.size_text(size)} ({100 * self.done // self.total} %, about {left / 60:.1f} min left)")
        self.note(ranks, size, one)

    def note(self, ranks, size, one):
        problem = self.run_once(ranks, size, one)
        if problem:
            self.leave_out(ranks, one, least=size)  # more takes longer
            where = f"{one.title}, {ranks} ranks, from {report.size_text(size)}"
            self.failures.append((one.library, f"{where}: {problem}"))

    def bypasses_tcp(self, rows):
        """Whether fewer bytes passed the loopback interface than the collective takes. Other traffic only adds."""
        def least(row):
            return 0.9 * machine.bytes_on_wire(self.options.collective, row["ranks"], row["bytes"]) / row["ranks"]
        return any(row["bytes_sent_per_rank"] < least(row) for row in rows)

    def run_once(self, ranks, size, one):
        """Adds what one program measures, also when it is ended before it is through. Returns what went wrong, or None."""
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=IN_MEMORY) as pacer:
            json_file = os.path.join(folder, "rows.json")
            pacer.truncate(4096)  # zeros
            command = one.command(self.options, ranks, size or 4, self.options.seconds, json_file, pacer.name)
            enter = self.networks.enter(one.control)
            status, words = programs.execute(command, one.environment, enter, self.options.timeout)
            version, rows = measured.read_rows(json_file)
        if self.options.transport == "tcp" and one.library != "hocket" and self.bypasses_tcp(rows):
            return "what it must send did not pass the loopback interface, so it does not use TCP"
        self.versions[one.library] = version
        complete = self.results.add(ranks, size, one, rows)
        if status is None:
            return f"no end within {self.options.timeout:g} s"
        if status not in (0, 1):
            return f"exit status {status}: {words}"
        return None if complete and version else f"some rows are missing; exit status {status}: {words}"

    def entry(self):
        """What the whole table keeps of it."""
        libraries = list(dict.fromkeys(one.library for one in self.contenders))
        return {"rounds": self.options.rounds, "seconds": self.options.seconds,
                "warmup_seconds": self.options.warmup_seconds, "loads": self.loads,
                "versions": self.versions, "given_up": [sentence for _, sentence in self.failures],
                "best": report.best_cells(self.results, self.options, libraries)}
