"""Progress without a terminal, and Ctrl-C."""

import os
import signal

import pytest

from rarename.cli import display
from rarename.cli.display import Display
from rarename.cli.interrupt import GracefulInterrupt

RECORD = {
    "examples": 1_200, "total_examples": 5_000, "loss": 1.23456, "seconds_left": 65.0,
    "examples_per_second": 56.4, "nodes_per_second": 7_890.2,
}  # fmt: skip
SHOWN = "ordered: 1,200 of 5,000, loss 1.235, 56 examples/s, 7,890 nodes/s, 1 min 5 s left"


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LINES", 0.0)


def test_a_stage_gets_a_line_every_half_minute(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: clock[0])
    with Display() as shown:
        shown.start("parse", 2_000)
        for clock[0] in (29, 31, 40, 62):
            shown.advance(100)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(", about")[0] for line in lines] == ["parse: 200 of 2,000", "parse: 400 of 2,000"]


def test_log_text_is_shown_unchanged(capsys):
    with Display() as shown:
        shown.log("a.py is [not] text :smile:")
    assert capsys.readouterr().err == "a.py is [not] text :smile:\n"


def test_short_work_shows_nothing(capsys):
    with Display() as shown:
        shown.start("parse", 2)
        shown.advance(2)
    assert capsys.readouterr().err == ""


def test_a_long_stage_ends_with_a_line(capsys, monkeypatch):
    monkeypatch.setattr(display, "SHORT_SECONDS", 0.0)
    with Display() as shown:
        shown.start("parse", 3)
        shown.advance(2)
        shown.start("count", 1)
    assert capsys.readouterr().err == "parse: 2 of 3 in 0 s\ncount: 0 of 1 in 0 s\n"


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.0, True), (60.0, False)])
def test_a_terminal_gets_bars_after_a_delay(capsys, monkeypatch, seconds, is_shown):
    monkeypatch.setattr(display, "SHORT_SECONDS", seconds)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Display() as shown:
        shown.update("ordered [1]", 1_500, 2_000, status="training")
        shown.update("full", 1, 2)
        shown.remove("full")
    err = capsys.readouterr().err
    assert ("ordered [1]" in err and "1,500 of 2,000, training" in err) == is_shown
    assert "full" not in err.rpartition("ordered")[2]


def test_a_log_record_of_a_training_is_shown_now_and_then(at_once, capsys):
    with Display() as shown:
        shown.log_record("ordered", RECORD)
        shown.log_record("ordered", RECORD | {"validation": {"mrr_values": 0.5}})
        capsys.readouterr()
        shown.log_record("ordered", RECORD | {"examples": 1_300})
        shown.log_record("full", RECORD)
    first, second = capsys.readouterr().err.splitlines()
    assert (first, second) == (
        f"{SHOWN}, MRR values 50.0".replace("1,200", "1,300"),
        SHOWN.replace("ordered", "full"),
    )


def test_validation_metrics_are_always_shown(capsys):
    metrics = {"validation": {"loss": 0.5, "repair_accuracy": 0.5, "joint_accuracy": 0.25}}
    with Display() as shown:
        shown.log_record("ordered", RECORD)
        shown.log_record("ordered", RECORD | metrics)
    assert capsys.readouterr().err == f"{SHOWN}, joint 25.0, repair 50.0\n"


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_requests_a_stop_and_the_second_one_raises():
    previous = signal.getsignal(signal.SIGINT)
    with GracefulInterrupt() as interrupt:
        assert not interrupt()
        press_ctrl_c()
        assert interrupt.is_requested and interrupt()
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is previous


def test_repeated_interrupts_can_be_ignored():
    with GracefulInterrupt(second_raises=False) as interrupt:
        interrupt()
        press_ctrl_c()
        press_ctrl_c()
        assert interrupt.is_requested


def test_an_interrupt_raises_before_work_has_begun():
    with GracefulInterrupt(), pytest.raises(KeyboardInterrupt):
        press_ctrl_c()
