# SPDX-License-Identifier: GPL-2.0
"""Read test results: KTAP in a kernel log, TAP of kselftest.

Tests nest: KUnit indents what belongs to the next result line, kselftest puts
"# " before it.  What is counted are the cases without children; a parent adds
a failure of its own only where no child explains it.
"""

import io
import os
import re
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor, as_completed

PASS, FAIL, SKIP = "ok", "not ok", "skip"

Case = namedtuple("Case", "outcome name detail")

LOG_PREFIX = re.compile(r"^(?:<\d+>)?(?:\[\s*\d+\.\d+\] ?)?"
                        r"(?:\[\s*[TC]\d+\] )?")
RESULT = re.compile(r"^(not )?ok (\d+)(?:[ \t]+(?:- )?(.*))?$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*(.*))?$")
SUBTEST = re.compile(r"^# Subtest: (\S+)")
DIRECTIVE = re.compile(r"^(.*?)\s*#\s*(SKIP|TODO|XFAIL|XPASS|TIMEOUT|exit=)"
                       r"(.*)$", re.I)
FAILED = re.compile(r"(EXPECTATION|ASSERTION) FAILED")
# Lines of a nested TAP stream that kselftest quoted.
QUOTED = re.compile(r"^(?:# )(?=(?:# )*\s*(?:not ok \d|ok \d|1\.\.\d))")


class Level:
    def __init__(self):
        self.cases = []
        self.results = 0
        self.plan = None


class Parser:
    def __init__(self, kernel_log=False):
        self.kernel_log = kernel_log
        self.started = not kernel_log
        self.levels = [Level()]
        self.notes = []
        self.seen_any = False

    def feed(self, raw):
        line = raw.rstrip("\r\n")
        if self.kernel_log:
            line = LOG_PREFIX.sub("", line, count=1)
            if re.match(r"^\s*KTAP version \d", line):
                self.started = True
        if not self.started:
            return
        depth = 0
        while QUOTED.match(line):
            line = line[2:]
            depth += 1
        text = line.lstrip(" ")
        depth += (len(line) - len(text)) // 4
        m = RESULT.match(text)
        if m:
            self.result(depth, bool(m.group(1)), m.group(3) or m.group(2))
            self.notes = []
            return
        m = PLAN.match(text)
        if m:
            self.level(depth).plan = int(m.group(1))
            if m.group(2) and m.group(1) == "0":
                self.level(depth).cases.append(
                    Case(SKIP, "", m.group(2).strip()))
            return
        if text.startswith("# ") and not SUBTEST.match(text):
            self.notes.append(text[2:])
        elif FAILED.search("".join(self.notes[-1:])) and text:
            # KUnit explains on unmarked lines that follow.
            self.notes[-1] += "; " + text

    def level(self, depth):
        while len(self.levels) <= depth:
            self.levels.append(Level())
        return self.levels[depth]

    def close(self, depth, name):
        """Cases of the levels below; a plan that was not kept is a failure."""
        below = self.levels[depth + 1:]
        del self.levels[depth + 1:]
        cases = []
        # Nearest level first: deeper ones are left over from a dead test.
        for lvl in below:
            cases += lvl.cases
            if lvl.plan is not None and lvl.results != lvl.plan:
                cases.append(Case(FAIL, "plan", f"planned {lvl.plan}, "
                                  f"ran {lvl.results}"))
        return [c._replace(name=f"{name}: {c.name}" if c.name else name)
                for c in cases]

    def result(self, depth, failed, text):
        lvl = self.level(depth)
        lvl.results += 1
        outcome, detail = FAIL if failed else PASS, ""
        m = DIRECTIVE.match(text)
        if m:
            text, word, rest = m.group(1), m.group(2).upper(), m.group(3)
            detail = (word + rest).strip()
            if word in ("SKIP", "TODO", "XFAIL") and not (
                    failed and word == "SKIP"):
                outcome, detail = SKIP, detail[len(word):].strip(" :")
                if word != "SKIP":
                    detail = f"{word} {detail}".strip()
            elif word == "XPASS":
                outcome = FAIL
        cases = self.close(depth, text)
        if outcome == SKIP and not detail:
            detail = next((n for n in reversed(self.notes)
                           if re.search(r"skip", n, re.I)), "")
        if outcome == FAIL and not detail and self.notes:
            detail = next(filter(FAILED.search, self.notes), self.notes[-1])
        if not cases or (outcome == FAIL and
                         not any(c.outcome == FAIL for c in cases)):
            cases.append(Case(outcome, text, detail))
        lvl.cases += cases

    def finish(self):
        """All cases, the ones of a stream that broke off included."""
        lost = len(self.levels) > 1
        leftover = self.close(0, "unfinished")
        top = self.levels[0]
        cases = top.cases + leftover
        if lost:
            cases.append(Case(FAIL, "unfinished", "the results break off"))
        if top.plan is not None and top.results != top.plan:
            cases.append(Case(FAIL, "plan", f"planned {top.plan}, "
                              f"ran {top.results}"))
        return cases


def parse(text, kernel_log=False):
    parser = Parser(kernel_log)
    for line in text.splitlines():
        parser.feed(line)
    return parser.finish()


def count(cases):
    return [sum(c.outcome == o for c in cases) for o in (PASS, FAIL, SKIP)]


def summary(cases):
    """The line that ends every test run."""
    return "{} passed, {} failed, {} skipped".format(*count(cases))


def good(cases):
    """A run without a single passed case proves nothing: no success."""
    passed, failed, _ = count(cases)
    return passed > 0 and failed == 0


def report(cases, out):
    """Print every case, with the reason where it did not pass."""
    for c in cases:
        tail = f" ({c.detail})" if c.detail else ""
        if c.outcome == SKIP and not c.detail:
            tail = " (no reason given)"
        out.write(f"{c.outcome} {c.name}{tail}\n")
    out.flush()


def side_by_side(jobs, guests=None):
    """Run jobs, each of which gets a file to print to and returns its cases.

    One more at a time than the host has CPUs: guests wait for a good part of a
    test. What a job printed comes in one piece, when it is done.
    """
    def run(job):
        out = io.StringIO()
        return job(out), out.getvalue()

    cases = []
    guests = int(guests or len(os.sched_getaffinity(0)) + 1)
    with ThreadPoolExecutor(max_workers=guests) as pool:
        for done in as_completed([pool.submit(run, job) for job in jobs]):
            found, text = done.result()
            cases += found
            sys.stdout.write(text)
            sys.stdout.flush()
    return cases
