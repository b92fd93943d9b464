"""The lines whose share of the samples moved, followed through an edit."""

from ncu_lab.analyze.moved_lines import moved_lines
from ncu_lab.model import HotSpots, SourceText, Spot


def spots(samples, text=None, file="a.cu"):
    lines = tuple(Spot(file, number, samples=count) for number, count in samples.items())
    sources = {file: SourceText(tuple(text), "run")} if text else {}
    return HotSpots(0, lines, (), float(sum(samples.values())), sources=sources)


def told(found):
    return [(one.line_a, one.line_b, one.text, round(one.delta, 3)) for one in found]


def test_a_line_is_the_same_one_where_an_edit_moved_it():
    a = spots({1: 5000.0, 2: 4000.0, 3: 1000.0}, ["load", "store", "add"])
    b = spots({1: 1000.0, 3: 5000.0, 4: 4000.0}, ["new", "load", "load", "store"])
    assert told(moved_lines(a, b)) == [(3, None, "add", -0.1), (None, 1, "new", 0.1)]
    c = spots({1: 1000.0, 3: 1000.0, 4: 8000.0}, ["new", "new", "load", "store"])
    assert told(moved_lines(a, c))[:2] == [(1, 3, "load", -0.4), (2, 4, "store", 0.4)]


def test_without_texts_the_number_counts():
    a, b = spots({1: 6000.0, 2: 4000.0}), spots({1: 9000.0, 2: 1000.0})
    assert told(moved_lines(a, b)) == [(1, 1, None, 0.3), (2, 2, None, -0.3)]


def test_what_sampling_explains_did_not_move():
    assert moved_lines(spots({1: 52.0, 2: 48.0}), spots({1: 48.0, 2: 52.0})) == ()
    assert moved_lines(spots({1: 5200.0, 2: 4800.0}), spots({1: 4800.0, 2: 5200.0})) != ()
    assert moved_lines(spots({1: 1e6, 2: 5e3}), spots({1: 1e6, 2: 5.5e3})) == ()  # less than a hundredth
    assert moved_lines(spots({}), spots({1: 1.0})) == ()
    assert moved_lines(HotSpots(0, (), (), 9.0), spots({1: 1.0})) == ()  # an export that tells no more than the total


def test_lines_of_another_file_are_gone_and_new():
    a, b = spots({1: 100.0}, file="a.cu"), spots({1: 100.0}, file="b.cu")
    assert [(one.file, one.line_a, one.line_b) for one in moved_lines(a, b)] == [("a.cu", 1, None), ("b.cu", None, 1)]


def test_swapping_mirrors_it():
    a = spots({1: 5000.0, 2: 4000.0, 3: 1000.0}, ["x", "y", "x", "z"])
    b = spots({1: 1000.0, 2: 5000.0, 4: 4000.0}, ["x", "x", "y", "z"])
    there, back = moved_lines(a, b), moved_lines(b, a)
    assert {(one.line_a, one.line_b, one.delta) for one in there} == {
        (one.line_b, one.line_a, -one.delta) for one in back
    }
