import io

from ncu_lab.cli.doctor import _print
from ncu_lab.render.terminal import Terminal
from ncu_lab.workflows.diagnosing import Finding


def test_columns_stand_below_each_other_in_ascii_too(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    findings = [
        Finding("nvcc", "ok", "13.0.88"),
        Finding("store", "ok", "reports"),
        Finding("driver", "failed", "no NVIDIA driver was found", "Install it."),
        Finding("GPU", "skipped", "not tried: needs driver"),
    ]
    out = io.BytesIO()
    stream = io.TextIOWrapper(out, "ascii", write_through=True)
    _print(Terminal(stream), findings, "")
    assert out.getvalue().decode().splitlines()[:4] == [
        "ok nvcc 13.0.88         ok store reports",
        "bad driver              no NVIDIA driver was found",
        "                        Install it.",
        "- GPU                   not tried: needs driver",
    ]
