"""What only a process of its own shows: signals, pipes, full disks, closed streams, encodings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from running import SMALL, launch, lines_of, tree
from tables import scores, wide, write

from flavourbench import __version__

#: A writer of files sees the error of a full disk beyond so many bytes, and no signal.
LIMIT = (
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
)
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110


@pytest.fixture(autouse=True)
def signals_reach_children():
    """Also where the tests run under nohup or in the background, which ignore some."""
    ignored = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)  # a process that is started has the default
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def release(fb):
    """A release and its table in the current folder; the kernels are compiled after it."""
    write(fb.folder / "t.csv", wide(scores()))
    assert fb("infer", "t.csv", *SMALL, "--out", "r").code == 0
    return fb.folder / "r"


# --- the script ----------------------------------------------------------------------------


def test_the_installed_script_does_what_main_does(fb, shell, release):
    assert shell("--version").out == f"flavourbench {__version__}\n"
    for arguments in (
        ("leaderboard", "r"),
        ("leaderboard", "missing"),
        ("infer", "r", *SMALL, "--json"),
        ("infer", "t.csv", "--draws", "x"),
        (),
    ):
        assert shell(*arguments) == fb(*arguments)


def test_a_failed_check_ends_with_one(fb, shell, release):
    (release / "extra").write_text("")
    run = shell("leaderboard", "r")
    assert (run.code, run.out) == (1, "")
    assert run.err == ["fb: r: extra is not listed in manifest.json"]


# --- no room -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "options"),
    [(100, ()), (2000, ()), (2000, ("--out", "a/b")), (100, ("--out", "r", "--force"))],
)
def test_no_space_for_a_release(fb, shell, release, size, options):
    before = tree(fb.folder)
    run = shell("infer", "t.csv", *SMALL, "--seed", "5", *options, before=LIMIT.format(size))
    assert (run.code, run.out) == (2, "")
    (line,) = run.err
    assert line.startswith("fb: cannot write ")
    assert (options[1] if options else "releases") in line
    assert "file too large" in line
    assert tree(fb.folder) == before


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("leaderboard", "r"),
        ("leaderboard", "r", "--json"),
        ("infer", "r", *SMALL, "--out", "new"),
        ("--help",),
        ("infer", "--help"),
        ("--version",),
    ],
)
def test_no_space_for_the_output(fb, shell, release, arguments):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        run = shell(*arguments, stdout=full)
    assert run.code == 2
    (line,) = run.err
    assert "standard output" in line
    assert "no space left" in line


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")
def test_no_memory_for_the_draws(fb, shell):
    """40 models times 10 million draws are 3 GiB of address space, which is not there."""
    write(fb.folder / "t.csv", wide(scores(40)))
    before = tree(fb.folder)
    given = ("infer", "t.csv", "--draws", "10000000", "--flips", "10")
    run = shell(*given, before="resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))")
    assert (run.code, run.out) == (2, "")
    (line,) = run.err
    assert "not enough memory" in line
    assert "--draws" in line
    assert tree(fb.folder) == before


# --- streams -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("leaderboard", "r"),
        ("leaderboard", "r", "--json"),
        ("infer", "r", *SMALL, "--out", "new", "--json"),
        ("infer", "--help"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_left_is_no_error(shell, release, arguments, unbuffered):
    """As in ``fb … | head -1``: the pipe is closed before anything is written."""
    read, write_end = os.pipe()
    os.close(read)
    try:
        run = shell(*arguments, stdout=write_end, PYTHONUNBUFFERED=unbuffered)
    finally:
        os.close(write_end)
    assert (run.code, run.err) == (0, [])


def test_a_reader_that_leaves_after_a_line(fb, script):
    """More than a pipe holds, so the writer is stopped in the middle."""
    write(fb.folder / "big.csv", wide(scores(150, spread=0.1)))
    command = [script, "infer", "big.csv", "--draws", "20", "--flips", "20", "--json"]
    with subprocess.Popen(
        command, cwd=fb.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(60) == 0
    assert lines_of(errors) == []


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_closed_streams(fb, shell, release, closed):
    """``>&-`` and the like: a release must not land in a file that took the stream's number."""
    before = "".join(f"os.close({number});" for number in closed)
    run = shell("infer", "t.csv", *SMALL, "--out", "new", before=before)
    assert (run.code, run.err) == (0, [])
    assert tree(fb.folder / "new") == tree(release)
    assert (run.out == "") == (1 in closed)
    run = shell("leaderboard", "missing", before=before)
    assert (run.code, run.out) == (2, "")
    assert len(run.err) == (2 not in closed)


@needs_full
def test_errors_that_cannot_be_said(shell):
    run = shell("leaderboard", "missing", before="os.dup2(os.open('/dev/full', os.O_WRONLY), 2)")
    assert (run.code, run.out, run.err) == (2, "", [])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_encodings_of_the_streams(fb, shell, encoding):
    table = scores(4).named(["naïve", "日本語", "😀", "plain"])
    write(fb.folder / "t.csv", wide(table))
    expected = fb.json("infer", "t.csv", *SMALL, "--out", "r")
    run = shell("infer", "t.csv", *SMALL, "--json", PYTHONIOENCODING=encoding)
    assert (run.code, run.err) == (0, [])
    assert run.json == expected
    run = shell("leaderboard", "r", PYTHONIOENCODING=encoding, COLUMNS="120")
    assert (run.code, run.err) == (0, [])
    assert ("日本語" in run.out) == (encoding == "utf-8")
    assert ("naïve" in run.out) == (encoding != "ascii")
    assert "plain" in run.out


def test_a_terminal(fb, script, release):
    """Its own width, colours, and none with NO_COLOR."""
    import fcntl
    import pty
    import struct
    import termios

    shown = {}
    for name in ("", "NO_COLOR"):
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", 40, 97, 0, 0))
        process = subprocess.Popen(
            [script, "leaderboard", "r"],
            cwd=fb.folder,
            env=env | {"TERM": "xterm"} | ({name: "1"} if name else {}),
            stdin=follower,
            stdout=follower,
            stderr=subprocess.PIPE,
        )
        os.close(follower)
        data = b""
        try:
            while part := os.read(leader, 65536):
                data += part
        except OSError:  # Linux says so when the other side has closed
            pass
        os.close(leader)
        assert (process.wait(60), process.stderr.read()) == (0, b"")
        process.stderr.close()
        shown[name] = data.decode()
    assert "\x1b[36m" in shown[""]
    assert "\x1b[36m" not in shown["NO_COLOR"]
    rule = next(line for line in shown["NO_COLOR"].splitlines() if "────" in line)
    assert 80 < rule.count("─") <= 97


# --- signals -------------------------------------------------------------------------------

#: Exit code and line of what each signal ends.
STOPS = {"SIGINT": (130, "interrupted"), "SIGTERM": (143, "terminated"), "SIGHUP": (129, "hung up")}


@pytest.mark.parametrize("name", STOPS)
@pytest.mark.parametrize(
    ("options", "out", "delay"),
    [
        (("--flips", "1000000000", "--draws", "200"), (), 0.3),
        (("--flips", "1000000000", "--draws", "200"), ("--out", "r", "--force"), 0.05),
        (("--draws", "10000000"), ("--out", "a/b"), 0.1),
        (("--draws", "10000000"), (), 0.0),
    ],
)
def test_a_signal_ends_the_work_and_leaves_nothing(fb, script, release, options, out, delay, name):
    """The table comes through a named pipe: once it is read, the work has begun."""
    os.mkfifo(fb.folder / "pipe")
    before = {k: v for k, v in tree(fb.folder).items() if k != "pipe"}
    process = subprocess.Popen(
        launch(script, "infer", "pipe", *options, *out),
        cwd=fb.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    (fb.folder / "pipe").write_bytes((fb.folder / "t.csv").read_bytes())
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(getattr(signal, name))
    try:
        shown, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    code, word = STOPS[name]
    assert (process.returncode, shown) == (code, b"")
    assert lines_of(errors.decode()) == [f"fb: {word}"]
    (fb.folder / "pipe").unlink()
    assert tree(fb.folder) == before


def python(code):
    """Run code in a process of its own that takes interrupts."""
    start = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.run(
        [sys.executable, "-c", start + code], capture_output=True, text=True, timeout=60
    )


def test_an_interrupt_waits_for_no_thread():
    """One that never ends, as after an interrupt amid its start."""
    done = python(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(3600,)).start()\n"
        "from flavourbench.cli import main\n"
        "def interrupted(*arguments, **options): raise KeyboardInterrupt\n"
        "main.app = interrupted\n"
        "main.run()\n"
    )
    assert (done.returncode, done.stderr) == (130, "fb: interrupted\n")


def at_import(module, name):
    """Code that sends a signal to its own process when a module is imported."""
    return (
        "class Sender:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == '{module}': os.kill(os.getpid(), signal.{name})\n"
        "sys.meta_path.insert(0, Sender())\n"
    )


@pytest.mark.parametrize("name", STOPS)
def test_a_signal_amid_the_imports_of_arrow_comes_after_them(name):
    """C code that is asked whether an attribute exists takes any exception for a no."""
    done = python(
        at_import("pyarrow.compute", name) + f"signal.signal(signal.{name}, lambda *_: 1 / 0)\n"
        "from flavourbench.cli.common import load_arrow\n"
        "try: load_arrow()\n"
        "except ZeroDivisionError: print('pyarrow.parquet' in sys.modules)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("name", STOPS)
@pytest.mark.parametrize(
    "module",
    ["flavourbench.cli.main", "typer", "typer.exceptions", "flavourbench.cli.env.app", "in C"],
)
def test_a_signal_while_the_command_line_is_loaded(name, module):
    """Also where C code makes another error of what a signal raises."""
    amid = (
        "class Part:\n"
        f"    def __set_name__(self, owner, key): os.kill(os.getpid(), signal.{name})\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'typer': type('Made', (), {'part': Part()})\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    sends = amid if module == "in C" else at_import(module, name)
    done = python(
        sends + "sys.argv = ['fb', '--version']\nfrom flavourbench.cli.entry import run\nrun()\n"
    )
    code, word = STOPS[name]
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"fb: {word}\n")


#: A command that is signalled, and once more while it clears up.
TWICE = """
from flavourbench.cli import entry, main
def command(*arguments, **options):
    try:
        os.kill(os.getpid(), signal.{0})
        os.kill(os.getpid(), signal.{1})
    finally:
        os.kill(os.getpid(), signal.{1})
        print("cleared", file=sys.stderr)
main.app = command
entry.run()
"""


@pytest.mark.parametrize("first", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("second", ["SIGTERM", "SIGHUP"])
def test_a_second_signal_does_not_stop_the_clearing_up(first, second):
    done = python(TWICE.format(first, second))
    code, word = STOPS[first]
    assert (done.returncode, done.stderr) == (code, f"cleared\nfb: {word}\n")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_the_caller_ignores_is_ignored(name):
    """As with ``nohup``."""
    done = python(
        f"signal.signal(signal.{name}, signal.SIG_IGN)\n"
        + at_import("typer", name)
        + "sys.argv = ['fb', '--version']\n"
        "from flavourbench.cli.entry import run\n"
        "run()\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- the current folder --------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("infer", "t.csv", *SMALL),
        ("infer", *SMALL),
        ("infer", "{0}/t.csv", *SMALL, "--out", "new"),
        ("infer", "{0}/t.csv", *SMALL, "--out", "r", "--force"),
        ("leaderboard",),
        ("leaderboard", "r"),
        ("env", "import", "snapshot"),
        ("env", "info", "./made"),
    ],
)
def test_a_current_folder_that_is_gone(fb, shell, release, arguments):
    (fb.folder / "gone").mkdir()
    before = tree(fb.folder)
    run = shell(
        *(argument.format(fb.folder) for argument in arguments),
        before="os.chdir('gone'); os.rmdir('../gone')",
        FLAVOURBENCH_CACHE=str(fb.folder / "cache"),
    )
    assert (run.code, run.out) == (2, "")
    (line,) = run.err
    assert "standard output" not in line
    del before["gone"]
    assert tree(fb.folder) == before


def test_absolute_paths_from_a_current_folder_that_is_gone(fb, shell, release):
    run = shell(
        *("infer", fb.folder / "t.csv", *SMALL, "--out", release, "--force"),
        before="os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
    )
    assert (run.code, run.err) == (0, [])


# --- a terminal ----------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_a_terminal_hears_before_computing_that_nothing_can_be_resolved(fb):
    path = write(fb.folder / "t.csv", wide(scores()))
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "flavourbench", "infer", path, "--draws", "200", "--flips", "10"],
        cwd=fb.folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=120,
    )
    os.close(theirs)
    said = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.returncode == 0
    # 3 pairs at alpha 0.05: the first B with 3 / (1 + B) at most 0.05 is 59.
    assert "warning: Holm cannot resolve any of the 3 pairs" in said
    assert "--flips 59" in " ".join(said.split())
