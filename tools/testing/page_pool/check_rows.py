# SPDX-License-Identifier: GPL-2.0
"""Rows of `make check` that need no object built, beside those in check itself.

Each function takes the series, or what it is to look at, and returns its complaints and what
it has looked at; or raises Skip with the reason.
"""
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
JOBS = os.cpu_count() or 2


class Skip(Exception):
    """Why a row could not be looked at."""


def sh(*args, **kw):
    return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          errors="replace", **kw)


def need(tool):
    found = shutil.which(tool)
    if not found:
        raise Skip(f"{tool} is not installed (make deps)")
    return found


def side_by_side(jobs, **kw):
    """Commands, as many at once as there are CPUs; (command, run) of each."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(zip(jobs, pool.map(lambda j: sh(*j, **kw), jobs)))


def died(run, tool):
    """A complaint when a tool failed without naming a reason that counts."""
    last = (run.stdout.strip().splitlines() or ["it said nothing"])[-1]
    return f"{tool} failed with status {run.returncode}: {last}"


def first_lines(top, path):
    with open(os.path.join(top, path), errors="replace") as f:
        return f.readline() + f.readline() + f.readline()


# ----------------------------------------------------------------- scripts, words

def shell_scripts(top, files):
    return [p for p in files if p.endswith(".sh")
            or re.match(r"#!.*sh\b|(#.*\n)*# shellcheck shell=", first_lines(top, p))]


def python_scripts(top, files):
    return [p for p in files if p.endswith(".py")
            or re.match("#!.*python3", first_lines(top, p))]


def shellcheck(top, files):
    tool = need("shellcheck")
    files = shell_scripts(top, files)
    # Test cases are functions that the library calls by their names.
    jobs = [[tool, "-f", "gcc", "-x", "-P", "SCRIPTDIR"]
            + (["-e", "SC2317"] if p.startswith("tools/testing/selftests/") else []) + [p]
            for p in files]
    bad = []
    for job, run in side_by_side(jobs, cwd=top):
        said = run.stdout.splitlines()
        bad += said if said or not run.returncode else [f"{job[-1]}: {died(run, 'shellcheck')}"]
    return bad, f"{len(files)} scripts"


def pyflakes(top, files):
    tool = need("pyflakes3")
    files = python_scripts(top, files)
    run = sh(tool, *files, cwd=top)
    bad = run.stdout.splitlines()
    if run.returncode and not bad:
        bad = [died(run, "pyflakes3")]
    return bad, f"{len(files)} scripts"


# Words that the dictionaries take for mistakes of others.
WORDS = ["inflight",    # a counter of the page pool
         "te",          # half of a name with a blank
         "ser"]         # a name of the scripts


def spelling(top, kernel, files):
    """codespell's dictionary and the kernel's; of a .patch what it adds."""
    tool = need("codespell")
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        words = os.path.join(tmp, "kernel.dic")
        with open(os.path.join(kernel, "scripts/spelling.txt")) as f, open(words, "w") as out:
            out.writelines(x.replace("||", "->", 1) for x in f if re.match(r"[^#\s].*\|\|", x))
        for path in files:
            with open(os.path.join(top, path), errors="replace") as f:
                text = f.read()
            if path.endswith(".patch"):
                text = re.sub(r"^(?!\+(?!\+\+)).*$", "", text, flags=re.M)
            full = os.path.join(tmp, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w") as f:
                f.write(text)
        run = sh(tool, "--disable-colors", "-D", "-", "-D", words, "-L", ",".join(WORDS),
                 *files, cwd=tmp)
        bad = [x for x in run.stdout.splitlines() if " ==> " in x]
        if run.returncode and not bad:
            bad = [died(run, "codespell")]
    return bad, f"{len(files)} files"


# ------------------------------------------------------------------------ netlink

SPEC = "Documentation/netlink/specs/netdev.yaml"


def yaml_lint(s, top, files):
    """The base's only configuration is that of devicetree bindings: our lines keep to it."""
    tool = need("yamllint")
    rules = os.path.join(s.src, "Documentation/devicetree/bindings/.yamllint")
    files = [p for p in files if p.endswith((".yml", ".yaml"))]
    # Expressions of Prometheus are as long as they are.
    run = sh(tool, "-f", "parsable", "-c", rules, SPEC, *files, cwd=s.src)
    bad = []
    for line in run.stdout.splitlines():
        m = re.match(r"(\S+?):(\d+):\d+: \[\w+\] .*\((\S+)\)$", line)
        if not m:
            bad.append(line)
        elif s.concerns(m.group(1), int(m.group(2))) and not (
                m.group(3) == "line-length" and "/alerts" in m.group(1)):
            bad.append(line)
    return bad, f"what we add to {os.path.basename(SPEC)}, {len(files)} files"


def netlink_schema(src, spec=SPEC):
    """The specification as ynl loads it, validated against the schema of its protocol."""
    run = sh(sys.executable, "-B", "-c", """
import sys
sys.path.insert(0, sys.argv[1])
import jsonschema
from lib import SpecFamily
try:
    s = SpecFamily(sys.argv[2], schema_path=sys.argv[3])
except jsonschema.ValidationError as why:
    sys.exit(f"{list(why.absolute_path)}: {why.message}")
print(len(s.attr_sets), "sets of attributes,", len(s.msgs), "messages")
""", os.path.join(src, "tools/net/ynl"), os.path.join(src, spec),
             os.path.join(src, "Documentation/netlink/genetlink.yaml"))
    if run.returncode:
        return [f"{spec}: {died(run, 'ynl')}"], ""
    return [], run.stdout.strip()


# -------------------------------------------------------------------- maintainers

# What get_maintainer.pl takes for the root of a kernel tree.
ROOT = (["COPYING", "CREDITS", "Kbuild", "Makefile", "README"],
        ["Documentation", "arch", "include", "drivers", "fs", "init", "ipc", "kernel", "lib",
         "scripts"])


def self_test(kernel, maintainers, files):
    """get_maintainer.pl --self-test of our sections alone.

    In a tree of empty files: it would look at all sections of a whole one, and ask
    the network about links. Files that are ours have to be found by one of them.
    """
    tool = os.path.join(kernel, "scripts/get_maintainer.pl")
    with open(maintainers) as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as tmp:
        for d in ROOT[1] + [os.path.dirname(p) for p in files]:
            os.makedirs(os.path.join(tmp, d), exist_ok=True)
        for p in ROOT[0] + files:
            with open(os.path.join(tmp, p), "a"):
                pass
        with open(os.path.join(tmp, "MAINTAINERS"), "w") as f:
            f.write("Maintainers List\n----------------\n\n" + text)
        env = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(tmp)}
        for k in [k for k in env if k in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")]:
            del env[k]
        for args in (["init", "-q"], ["add", "-Af"]):
            run = sh("git", *args, cwd=tmp, env=env)
            if run.returncode:
                return [died(run, "git")], ""
        run = sh("perl", tool, "--self-test=sections,patterns", cwd=tmp, env=env)
        bad = [x.replace("\t", " ") for x in run.stdout.splitlines() if x.strip()]
        if run.returncode and not bad:
            bad = [died(run, "get_maintainer.pl")]
    sections = len(re.findall(r"^\S[^:\n]*\n[A-Z]:\t", text, re.M))
    if not sections:
        bad.append("no section of ours was looked at")
    return bad, f"{sections} sections; links and trees are not asked for"


# ---------------------------------------------------------------------- documents

def documents(s, patched):
    """Our pages as htmldocs makes them, with the kernel's configuration and extensions.

    A book of just these, as the whole one takes hours. A page of the base that ours
    speak of is an empty one here, so that a link to what is not there is a warning,
    and one to a part of such a page has to be given by its label.
    """
    tool = need("sphinx-build")
    own = s.sources(".rst")
    pages = own + patched
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        src = os.path.join(tmp, "Documentation")
        for d in os.listdir(s.src):     # pages include code by relative paths
            if d != "Documentation" and not d.startswith("."):
                os.symlink(os.path.join(s.src, d), os.path.join(tmp, d))
        wanted, labels = {"index"}, set()
        for p in pages:
            with open(os.path.join(s.src, p)) as f:
                text = f.read()
            to = os.path.join(src, p[len("Documentation/"):])
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if not p.endswith("/index.rst"):
                shutil.copyfile(os.path.join(s.src, p), to)
            mine = text.splitlines()
            for i, line in enumerate(mine, 1):
                if not s.concerns(p, i):
                    continue
                for doc in re.findall(r"\bDocumentation/([\w/.-]+)\.rst\b", line):
                    wanted.add(doc)
                    if not os.path.exists(os.path.join(s.src, "Documentation", doc + ".rst")):
                        bad.append(f"{p}:{i}: there is no Documentation/{doc}.rst")
            for doc in re.findall(r":doc:`(?:[^`<]*<)?([^`>]+)>?`", text):
                at = doc[1:] if doc.startswith("/") else os.path.normpath(
                    os.path.join(os.path.dirname(p[len("Documentation/"):]), doc))
                if os.path.exists(os.path.join(s.src, "Documentation", at + ".rst")):
                    wanted.add(at)
            labels.update(re.findall(r":ref:`(?:[^`<]*<)?([^`>]+)>?`", text))
        have = {os.path.relpath(p, "Documentation")[:-len(".rst")] for p in pages
                if not p.endswith("/index.rst")}
        book = sorted((wanted | have) - {"index"})
        found = known_labels(s, labels, pages)
        for doc in sorted(wanted - have):
            to = os.path.join(src, doc + ".rst")
            os.makedirs(os.path.dirname(to), exist_ok=True)
            with open(to, "w") as f:
                if doc == "index":
                    f.write("Book\n====\n\n.. toctree::\n\n"
                            + "".join(f"   /{x}\n" for x in book) + "\n"
                            + "".join(f".. _{x}:\n\n{x}\n{'-' * len(x)}\n\n" for x in found))
                else:
                    f.write(f"{doc}\n{'=' * len(doc)}\n")
        run = sh(tool, "-q", "-b", "html", "-j", str(JOBS), "-c",
                 os.path.join(s.src, "Documentation"), "-d", os.path.join(tmp, "doctrees"),
                 "-D", "version=6.12", "-D", "release=6.12", src, os.path.join(tmp, "html"),
                 cwd=os.path.join(s.src, "Documentation"),
                 env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "srctree": s.src,
                      "LC_ALL": "C.UTF-8"})
        for line in run.stdout.splitlines():
            m = re.match(r"(.*?\.(?:rst|c|h))(?::\S*)?:(\d+): (?:\w+: )*(.*)", line)
            path = m and os.path.normpath(m.group(1))
            if m and path.startswith(src):
                path = os.path.join("Documentation", os.path.relpath(path, src))
            elif m:
                path = os.path.relpath(os.path.join(s.src, "Documentation", path), s.src)
            if m and s.concerns(path, int(m.group(2))):
                bad.append(f"{path}:{m.group(2)}: {m.group(3)}")
            elif not m and re.search(r"WARNING|ERROR|Error", line) \
                    and not re.search(r"\(1\) not found", line):   # for pictures: we have none
                bad.append(line.replace(src, "Documentation"))
        made = [p for p in have if os.path.exists(os.path.join(tmp, "html", p + ".html"))]
        if run.returncode or len(made) < len(have):
            bad.append(died(run, "sphinx-build"))
        bad += unlisted(s, own)
    return bad, f"{len(own)} pages of ours, {len(patched)} that we change"


def known_labels(s, labels, pages):
    """Those of the labels that a page of the base, not in the small book, has."""
    labels = {x for x in labels if re.fullmatch(r"[\w .-]+", x)}
    if not labels:
        return []
    run = sh("grep", "-rhoE", "--include=*.rst",
             r"^\.\. _(" + "|".join(re.escape(x) for x in sorted(labels)) + "):", "Documentation",
             cwd=s.src)
    have = {x[4:-1] for x in run.stdout.splitlines()}
    for p in pages:
        with open(os.path.join(s.src, p)) as f:
            have -= set(re.findall(r"^\.\. _(.+):$", f.read(), re.M))
    return sorted(have)


def unlisted(s, own):
    """Pages that no table of contents of their folder names."""
    bad = []
    for p in own:
        index = os.path.join(s.src, os.path.dirname(p), "index.rst")
        with open(index) as f:
            if not re.search(rf"^ +{re.escape(os.path.basename(p)[:-4])}$", f.read(), re.M):
                bad.append(f"{p}: not in the table of contents of its folder")
    return bad


# --------------------------------------------------------------------- coccinelle

def coccicheck(s, files, which="**/*.cocci"):
    """All semantic patches of the kernel in report mode, as scripts/coccicheck runs them.

    That goes through a whole folder; here it is a list of files, and scripts go side
    by side.
    """
    tool = need("spatch")
    scripts = sorted(glob.glob(os.path.join(s.src, "scripts/coccinelle", which),
                               recursive=True))
    jobs = []
    for path in scripts:
        with open(path, errors="replace") as f:
            options = re.findall(r"^// *Options:(.*)$", f.read(), re.M)
        jobs.append([tool, "-D", "report", "--no-show-diff", "--very-quiet",
                     *shlex.split(" ".join(options)), "-I", "include", *files,
                     "--cocci-file", path])
    bad, without = [], []
    for job, run in side_by_side(jobs, cwd=s.src):
        name = os.path.relpath(job[-1], os.path.join(s.src, "scripts/coccinelle"))
        if "No OCaml compiler" in run.stdout:
            without.append(name)
            continue
        said = []
        for line in run.stdout.splitlines():
            m = re.match(r"(\S+?):(\d+)(?::[\d-]+)?: (.*)", line)
            if m and s.concerns(os.path.normpath(m.group(1)), int(m.group(2))):
                said.append(f"{m.group(1)}:{m.group(2)}: {m.group(3)} ({name})")
        bad += said
        if run.returncode and not said:
            bad.append(f"{name}: {died(run, 'spatch')}")
    return bad, f"{len(files)} files, {len(scripts) - len(without)} scripts", without


# ------------------------------------------------------------------------ headers

def header_command(saved, header, base):
    """The compiler call of an object, as kbuild has kept it, for a header alone."""
    m = re.match(r"savedcmd_\S+ := (?:\S*ccache )?(.*?) -c -o \S+ \S+\.c\b", saved)
    if not m:
        return None
    args = [a for a in shlex.split(m.group(1)) if not a.startswith("-Wp,-M")]
    return args + ["-fsyntax-only", "-x", "c", "-include", os.path.join(base, header),
                   "/dev/null"]


def headers(s, build, names, object_of):
    """Each header of ours as the only one of a source, counters on and off, with W=1."""
    own = [p for p in s.sources(".h") if p.startswith(("include/", "net/"))]
    jobs, bad = [], []
    for name in names:
        out = os.path.realpath(os.path.join(build, name))
        d, o = os.path.split(object_of)
        try:
            with open(os.path.join(out, d, f".{o}.cmd")) as f:
                saved = f.readline()
        except OSError:
            saved = ""
        for h in own:
            job = header_command(saved, h, "..")
            if not job:
                bad.append(f"{name}: how {object_of} was compiled is not known")
                break
            jobs.append((name, out, h, job))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        runs = pool.map(lambda j: sh(*j[3], cwd=j[1], env={**os.environ, "LC_ALL": "C"}), jobs)
    for (name, _, h, _), run in zip(jobs, runs):
        said = [x for x in run.stdout.splitlines() if re.search(r": (fatal )?(error|warning):", x)]
        if run.returncode and not said:
            said = [died(run, "gcc")]
        bad += [f"{h} alone ({name}): {x}" for x in said]
    return bad, f"{len(own)} headers, counters on and off"
