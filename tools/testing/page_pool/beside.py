# SPDX-License-Identifier: GPL-2.0
"""The same tests on two kernels, the base and ours, as one table.

A test is a row. It has passed where ours passes all that it does. What fails on both is no
fault of ours and counts as skipped; worse on ours than on the base is a failure.
"""

import re
from collections import namedtuple

import ktap

# What a test came to on one kernel: its cases (none: it never ended), why not all passed.
Cell = namedtuple("Cell", "cases why")
# outcome is one of ktap, note says what of a row that did not pass
Row = namedtuple("Row", "name base ours outcome note")

RESULT = re.compile(r"^(?:not )?ok \d+ (.*?)(?:\s*# (?:SKIP|exit=).*)?$")
RANK = {ktap.PASS: 2, ktap.SKIP: 1, ktap.FAIL: 0}
COMPLAINT = re.compile(r"fail|error|exception|mismatch|missing|cannot|unable|not found|"
                       r"no such|unsupported|unknown", re.I)
NOTHING = Cell([], "no result")


def complaint(lines):
    """The line of what a test printed that says what is wrong: the first that complains, of
    a traceback the last, or the last of all."""
    said = [line for line in (" ".join(re.sub(r"^(#\s*)+", "", x).split()) for x in lines)
            if line and not re.match(r"(not )?ok \d|1\.\.\d|TAP version|Totals:", line)]
    bad = [line for line in said if COMPLAINT.search(line)]
    if bad and not any(line.startswith("Traceback") for line in said):
        return bad[0]
    return (bad or said or [""])[-1]


def cell(chunk):
    cases = ktap.parse("\n".join(chunk))
    if all(c.outcome == ktap.PASS for c in cases):
        return Cell(cases, "")
    # A failure matters more than a skip.
    worst = min(cases, key=lambda c: RANK[c.outcome])
    why = worst.detail.lstrip("# ")
    if worst.outcome == ktap.FAIL and re.fullmatch(r"(exit=\d+)?", why, re.I):
        why = " ".join(filter(None, (complaint(chunk[:-1]), why and f"({why.lower()})")))
    return Cell(cases, why)


def cells(text):
    """What a guest printed: the cell of each test, by the name of the test."""
    found, chunk = {}, []
    for line in text.splitlines():
        chunk.append(line)
        m = RESULT.match(line)
        if m:
            found[m.group(1)] = cell(chunk)
            chunk = []
    return found


def outcome(this):
    return min((c.outcome for c in this.cases), key=RANK.get, default=ktap.FAIL)


def show(this):
    """A cell as a few words, with counts where the test has several cases."""
    if not this.cases:
        return "none"
    passed, failed, skipped = ktap.count(this.cases)
    if len(this.cases) == 1:
        return "pass" if passed else "fail" if failed else "skip"
    if failed:
        return f"fail {failed} of {len(this.cases)}"
    return ", ".join(f"{word} {n}" for word, n in (("pass", passed), ("skip", skipped)) if n)


def worse(base, ours):
    """Names of the cases that come to less on ours than on the base."""
    was = {c.name: RANK[c.outcome] for c in base.cases}
    now = {c.name: RANK[c.outcome] for c in ours.cases}
    # What the base did not come to counts there as skipped; on ours it is lost, whatever
    # it came to there if ours has no result at all.
    lost = [n for n, rank in was.items() if n not in now and (rank == 2 or not now)]
    return lost + [n for n, rank in now.items() if rank < was.get(n, 1)]


def judge(name, base, ours):
    bad = worse(base, ours)
    if bad:
        what = ", ".join(n[len(name):].strip(" :") or "all of it" for n in bad)
        return Row(name, base, ours, ktap.FAIL, f"worse than on the base: {what}: {ours.why}")
    if outcome(ours) == ktap.FAIL:
        return Row(name, base, ours, ktap.SKIP, f"fails on the base, too: {base.why}")
    if not ktap.count(ours.cases)[0]:
        return Row(name, base, ours, ktap.SKIP, ours.why)
    return Row(name, base, ours, ktap.PASS, "")


def compare(base, ours):
    """Rows of two guests, in the order of the tests."""
    names = list(ours) + [n for n in base if n not in ours]
    return [judge(n, base.get(n, NOTHING), ours.get(n, NOTHING)) for n in names]


def settle(rows, again):
    """Rows of a first run, those that failed there replaced by what they came to when run
    again: many of these tests count on time, which an emulated machine has not. Other rows
    of the second run are added."""
    second = {r.name: r for r in again}
    first = {r.name for r in rows}
    out = []
    for row in rows:
        new = second.get(row.name, row)
        if row.outcome == ktap.FAIL and new.outcome != ktap.FAIL:
            new = new._replace(note="; ".join(filter(None, (
                new.note, f"at the first try {row.note}"))))
        out.append(new if row.outcome == ktap.FAIL else row)
    return out + [r for r in again if r.name not in first]


def table(rows):
    wide = [max(len(x) for x in column) for column in
            zip(("test", "base"), *((r.name, show(r.base)) for r in rows))]
    lines = ["{:{}}  {:{}}  {}".format("test", wide[0], "base", wide[1], "ours")]
    lines += ["{:{}}  {:{}}  {}".format(r.name, wide[0], show(r.base), wide[1], show(r.ours))
              for r in rows]
    return lines


def report(rows):
    """The table, why rows did not pass, and the sum that ends every run."""
    lines = table(rows) + [""]
    # Cases of a row that are skipped beside others that pass
    lines += [f"note {r.name}: skipped in it: {r.ours.why}" for r in rows
              if r.outcome == ktap.PASS and r.ours.why]
    lines += [f"note {r.name}: {r.note}" for r in rows if r.outcome == ktap.PASS and r.note]
    lines += [f"skip {r.name}: {r.note or 'no reason given'}" for r in rows
              if r.outcome == ktap.SKIP]
    lines += [f"FAIL {r.name}: {r.note}" for r in rows if r.outcome == ktap.FAIL]
    return lines + [ktap.summary(rows)]
