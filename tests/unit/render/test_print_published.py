import io
from dataclasses import replace

from builders import ladder, row

from ncu_lab.model import PublishedFigure
from ncu_lab.render.published import print_published, published_document
from ncu_lab.render.terminal import Terminal

POST = PublishedFigure(
    "2d", "NVIDIA RTX A6000", "4092³", "speed", 15971.7, "GFLOP/s", "A post", "https://a.org/", "", 0.687, 1.88
)
ELSEWHERE = replace(POST, stage="autotuned", value=19721.0, share_of_reference=0.848, step=None, note="by a script")
GUIDE = PublishedFigure(
    "smem", "NVIDIA Tesla V100", "", "effective bandwidth", 195.5, "GB/s", "A guide", "https://b.org/"
)
SHOWN = replace(ladder(rows=[row("smem"), row("2d")], references=[]), published=(GUIDE, POST, ELSEWHERE))


def printed(shown, width):
    stream = io.StringIO()
    print_published(shown, Terminal(stream, width))
    return stream.getvalue().splitlines()


def test_own_ratios_stand_beside_the_published_ones():
    assert printed(SHOWN, 80)[1:6] == [
        "stage              here  of ref    step         A6000  A6000 of ref  A6000 step",
        "smem       8.72 TFLOP/s  25.0 %   1.44×             –             –           –",
        "2d         10.8 TFLOP/s  31.0 %  0.642×  16.0 TFLOP/s        68.7 %       1.88×",
        "autotuned             –       –       –  19.7 TFLOP/s        84.8 %           –",
        "no room for: V100 (widen the terminal, or --format csv)",
    ]


def test_every_figure_names_its_source_and_hardware():
    text = " ".join(printed(SHOWN, 200))
    assert "A6000: speed on NVIDIA RTX A6000, 4092³, by A post, https://a.org/ (autotuned: by a script)" in text
    assert "V100: effective bandwidth on NVIDIA Tesla V100, by A guide, https://b.org/" in text


def test_json_of_one_stage():
    assert published_document(SHOWN.published, "2d") == [
        {
            "gpu": "NVIDIA RTX A6000", "problem": "4092³", "quantity": "speed", "value": 15971.7, "unit": "GFLOP/s",
            "pct_of_reference": 68.7, "step": 1.88, "source": "A post", "url": "https://a.org/", "note": None,
        }
    ]  # fmt: skip
    assert published_document(SHOWN.published, "smem")[0]["pct_of_reference"] is None
    assert published_document(SHOWN.published, "naive") == []
