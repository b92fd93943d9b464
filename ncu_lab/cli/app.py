"""The command line: the sole place that turns an error into words and an exit code.

Commands live in one small module each and import nothing heavy at their top, so that ``ncu-lab --help`` stays fast.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import NoReturn

import typer

from ncu_lab import __version__
from ncu_lab.cli import (
    bench,
    bisect,
    build,
    check,
    dashboard,
    diff,
    doctor,
    export,
    gate,
    history,
    import_,
    ladder,
    model,
    noise,
    profile,
    runs,
    shapes,
    show,
    stages,
    store,
    tune,
)
from ncu_lab.cli.containment import continue_in_child, foreign_file
from ncu_lab.cli.messages import complain
from ncu_lab.cli.usage import ParserError, explained
from ncu_lab.errors import EnvironmentLacksError, Exit, InputError, NcuLabError

_INTERRUPTED = 130

app = typer.Typer(
    name="ncu-lab",
    help="A laboratory for GPU kernel performance around NVIDIA Nsight Compute.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Plain help: importing rich for it would take longer than everything else that --help does.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ncu-lab {__version__}")
        raise typer.Exit


@app.callback()
def root(
    debug: bool = typer.Option(False, "--debug", envvar="NCU_LAB_DEBUG", help="Show a traceback when something fails."),
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Build, check, time, profile, and understand CUDA kernels."""
    # Left for main(), which sees the error after the options are gone; NCU_LAB_DEBUG=0 has become False by now.
    if debug != bool(os.environ.get("NCU_LAB_DEBUG")):
        os.environ["NCU_LAB_DEBUG"] = "1" if debug else ""


app.command("stages")(stages.stages)
app.command("build")(build.build)
app.command("check")(check.check)
app.command("bench")(bench.bench)
app.command("shapes")(shapes.shapes)
app.command("tune")(tune.tune)
app.command("doctor")(doctor.doctor)
app.command("import")(import_.import_)
app.command("profile", context_settings={"allow_interspersed_args": False})(profile.profile)
app.command("runs")(runs.runs)
app.command("show")(show.show)
app.command("ladder")(ladder.ladder)
app.command("diff")(diff.diff)
app.command("gate")(gate.gate)
app.command("history")(history.history)
app.command("bisect")(bisect.bisect)
app.command("noise")(noise.noise)
app.add_typer(store.app, name="store")
app.command("model")(model.model)
app.command("dashboard")(dashboard.dashboard)
app.add_typer(export.app, name="export")


def _end(number: int, _frame: object) -> None:
    """End like an error does, so that temporary folders go and child processes end too."""
    sys.exit(128 + number)


def run() -> None:
    """Be the program ``ncu-lab``: :func:`main`, in a child process where a file is read that could crash it."""
    _open_closed_streams()
    file = foreign_file(sys.argv[1:])
    if file is not None:
        continue_in_child(file)
    main()


def main() -> None:
    """Run the command line in this process; every foreseen failure ends in one or two lines and its exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        code = app(prog_name="ncu-lab", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk can still be told of
    except NcuLabError as error:
        _fail(error)
    except ParserError as error:
        if sys.argv[1:]:
            _tell(explained(error, sys.argv[1:]))  # a traceback would be the parser's
        print(error.format_message(), file=sys.stderr)  # no command at all: the help
        sys.exit(int(Exit.USAGE))
    except (typer.Abort, KeyboardInterrupt):  # the second, while an error is told
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer met it, and made it 1
            _end_without_reader()
        raise
    except BrokenPipeError:
        _end_without_reader()
    except OSError as error:
        _fail(_refused_by_system(error))
    except Exception:
        abort = bisect.abort_code(sys.argv[1:])
        if not abort:
            raise
        traceback.print_exc()  # the interpreter would end with 1, a bad commit to git's search
        sys.exit(abort)
    else:
        sys.exit(code or int(Exit.OK))


def _fail(error: NcuLabError) -> NoReturn:
    if os.environ.get("NCU_LAB_DEBUG"):
        raise error
    _tell(error)


def _tell(error: NcuLabError) -> NoReturn:
    complain(f"error: {error.message}")
    if error.hint:
        complain(f"  {error.hint}")
    sys.exit(bisect.abort_code(sys.argv[1:]) + int(error.exit_code))


def _refused_by_system(error: OSError) -> NcuLabError:
    """Return the error for what no command foresaw: a file that may not be read, a full disk below stdout."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return InputError(f"{os.fsdecode(error.filename)}: {why}", "NCU_LAB_DEBUG=1 shows where.")
    _abandon_stdout()
    return EnvironmentLacksError(f"the output cannot be written: {why}", "NCU_LAB_DEBUG=1 shows where.")


def _end_without_reader() -> NoReturn:
    """End well: that head or less had enough is no error of ours. To git's search it would be a good commit."""
    _abandon_stdout()
    sys.exit(bisect.abort_code(sys.argv[1:]) or int(Exit.OK))


def _abandon_stdout() -> None:
    """Keep the interpreter from complaining of stdout at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Take the place of streams that the caller closed (``>&-``), before a file that is opened takes it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # to the end


if __name__ == "__main__":
    run()
