"""The command line: the sole place that turns an error into words and an exit code.

Commands live in one small module each and import nothing heavy at their top, so that ``ncu-lab --help`` stays fast.
"""

from __future__ import annotations

import os
import signal
import sys

import typer

from ncu_lab import __version__
from ncu_lab.cli import bench, build, check, dashboard, doctor, import_, ladder, profile, runs, show, stages
from ncu_lab.cli.containment import continue_in_child, foreign_file
from ncu_lab.cli.messages import complain
from ncu_lab.errors import Exit, NcuLabError

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
    os.environ["NCU_LAB_DEBUG"] = "1" if debug else ""


app.command("stages")(stages.stages)
app.command("build")(build.build)
app.command("check")(check.check)
app.command("bench")(bench.bench)
app.command("doctor")(doctor.doctor)
app.command("import")(import_.import_)
app.command("profile", context_settings={"allow_interspersed_args": False})(profile.profile)
app.command("runs")(runs.runs)
app.command("show")(show.show)
app.command("ladder")(ladder.ladder)
app.command("dashboard")(dashboard.dashboard)


def _end(number: int, _frame: object) -> None:
    """End like an error does, so that temporary folders go and child processes end too."""
    sys.exit(128 + number)


def run() -> None:
    """Be the program ``ncu-lab``: :func:`main`, in a child process where a file is read that could crash it."""
    file = foreign_file(sys.argv[1:])
    if file is not None:
        continue_in_child(file)
    main()


def main() -> None:
    """Run the command line in this process; every foreseen failure ends in one or two lines and its exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        app(prog_name="ncu-lab")
    except NcuLabError as error:
        if os.environ.get("NCU_LAB_DEBUG"):
            raise
        complain(f"error: {error.message}")
        if error.hint:
            complain(f"  {error.hint}")
        sys.exit(int(error.exit_code))
    except BrokenPipeError:
        # The reader (head, less) has gone: no error of ours. Keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(int(Exit.OK))


if __name__ == "__main__":
    run()
