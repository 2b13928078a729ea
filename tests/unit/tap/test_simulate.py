"""The command ``pepsi-simulate``."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pepsi.tap.simulate import main
from tests.arch.checkout import CHECKOUT

CONFIG = """\
[pepsi-postgres]
DSN = embedded
[pepsi-ingress]
ENTRY_STAGE = sort
[stage-sort]
PROGRAM = pepsi-stage-if
CONDITION = size > 1 kB
THEN_STAGE = deliver
ELSE_STAGE = relay
[stage-deliver]
PROGRAM = /opt/deliver
[stage-relay]
PROGRAM = /opt/relay
PARALLELISM = 2
"""
SHORT = ["--scenario", "steady", "--duration", "20", "--rate", "20", "--json"]

Simulate = Callable[..., dict[str, Any]]


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "pepsi.conf"
    path.write_text(CONFIG)
    return str(path)


@pytest.fixture
def simulate(capsys: pytest.CaptureFixture[str]) -> Simulate:
    def run(*words: str) -> dict[str, Any]:
        assert main(words) == 0
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return run


def test_stages_and_ways_are_those_of_the_configuration(simulate: Simulate, config: str) -> None:
    told = simulate("-c", config, *SHORT, "--way", "sort=deliver:9,relay:1", "--service", "relay=100ms")
    counts = {each["stage"]: each["messages"] for each in told["waits"]}
    assert counts["sort"] == counts["deliver"] + counts["relay"] == told["done"] == told["messages"]
    assert counts["deliver"] > 5 * counts["relay"]
    assert told["stages"]["relay"]["busy_s"] == pytest.approx(counts["relay"] * 0.1, rel=0.01)
    assert told["stages"]["relay"]["most"] <= 2


def test_another_value_can_be_tried_without_touching_the_file(simulate: Simulate, config: str) -> None:
    words = ["-c", config, *SHORT, "--service", "relay=400ms", "--way", "sort=relay"]
    before = simulate(*words)
    after = simulate(*words, "--set", "relay.PARALLELISM=20")
    assert before["stages"]["relay"]["most"] == 2
    assert after["simulated_s"] < before["simulated_s"] / 2


def test_oldest_mail_first_can_be_tried(simulate: Simulate, config: str) -> None:
    words = ["-c", config, "--scenario", "bulk", "--messages", "1500", "--duration", "5", "--rate", "10", "--json"]
    light = [
        next(each["mean_s"] for each in simulate(*words, "--fair", fair)["ways"] if each["class"] == "light")
        for fair in ("yes", "no")
    ]
    assert light[0] < light[1] / 2


def test_the_share_of_the_oldest_mail_is_no_way_to_more_time_for_a_sender_whose_mail_takes_long(
    simulate: Simulate, config: str
) -> None:
    told = simulate("-c", config, "--scenario", "expensive", "--messages", "4000", "--json")
    assert told["fairness"]["jain_worst"] > 0.95


def test_a_trace_is_played_as_far_as_was_asked(simulate: Simulate, config: str, tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text("time,sender,class\n" + "".join(f"{number},s{number % 3}@x,kind\n" for number in range(60)))
    assert simulate("-c", config, "--trace", str(path), "--json")["ways"][0]["class"] == "kind"
    assert simulate("-c", config, "--trace", str(path), "--json", "--messages", "7")["messages"] == 7
    assert simulate("-c", config, "--trace", str(path), "--json", "--duration", "10")["messages"] == 10


def test_the_same_seed_prints_the_same_but_for_our_own_time(simulate: Simulate, config: str) -> None:
    first, again, other = (
        {key: value for key, value in simulate("-c", config, *SHORT, "--seed", seed).items() if "minute" not in key}
        for seed in ("5", "5", "6")
    )
    for told in (first, again, other):
        del told["wall_s"]
    assert first == again
    assert first != other


def test_people_get_a_table(capsys: pytest.CaptureFixture[str], config: str) -> None:
    assert main(["-c", config, "--scenario", "expensive", "--messages", "300"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^expensive +sort +30 ", text, re.MULTILINE)
    assert re.search(r"^relay +\d+ +\d+ +\d+ ", text, re.MULTILINE)
    assert "300 messages done and 0 failed" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--service", "nowhere=20ms"], "no stage 'nowhere'; there are sort, deliver, relay"),
        (["--service", "relay=soon"], "--service relay=soon: expected a duration"),
        (["--service", "20ms"], "--service 20ms: expected STAGE=VALUE"),
        (["--set", "relay"], "expected STAGE.KEY=VALUE, such as relay.PARALLELISM=16"),
        (["--set", "relay.PARALLELISM=0"], "--set: [stage-relay] PARALLELISM = 0: expected 1 to 1000"),
        (["--way", "sort=nowhere"], "no stage 'nowhere'"),
        (["--way", "sort=relay:0"], "expected stages with shares"),
        (["--entry", "nowhere"], "--entry nowhere: no such stage"),
        (["--crash", "relay=0.5", "--hang", "relay=0.45"], "lower the shares"),
        (["--trace", "/nowhere/day.csv"], "/nowhere/day.csv: cannot be read"),
        (["--trace", "-", "--rate", "5"], "--rate is of scenarios"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_a_sentence(
    words: list[str], sentence: str, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-c", config, *words]) == 1
    assert sentence in capsys.readouterr().err


def test_a_window_of_fairness_that_never_ends_is_no_window(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-c", config, "--window", "0"])
    assert "--window: 0: expected 100 ms or more" in capsys.readouterr().err


def test_the_page_names_every_option_that_the_help_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    options = set(re.findall(r"^ +(?:-\w(?: [A-Z]+)?, )?(--[-\w]+)", text.partition("options:")[2], re.MULTILINE))
    assert len(options) > 20
    page = (CHECKOUT / "man/pepsi-simulate.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert {option for option in options if option not in page} == set()
