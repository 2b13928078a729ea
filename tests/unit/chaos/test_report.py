"""The report of a chaos run."""

import json

from tests.chaos.faults import Fault, Kind
from tests.chaos.oracle import Verdict
from tests.chaos.report import Gauge, Report


def made() -> Report:
    verdict = Verdict(messages=5, finished=4, refused=1, doubles=2)
    verdict.doubles_by_fault["worker killed"] += 2
    report = Report(7, 60.0, verdict, start=Gauge(12, 2**20), end=Gauge(14, 2**21))
    report.count([Fault(Kind.CUT, 1.0, 1.0), Fault(Kind.CUT, 2.0, 2.0)])
    return report


def test_a_report_for_programs_is_json_with_all_that_must_be_shown() -> None:
    found = json.loads(json.dumps(made().as_json()))
    assert found["faults"] == {"connections cut": 2}
    assert found["doubles_by_fault"] == {"worker killed": 2}
    assert (found["messages"], found["losses"], found["unexplained_doubles"], found["orphans"]) == (5, 0, 0, 0)
    assert (found["leaked_descriptors"], found["start"]["memory"], found["passed"]) == (2, 2**20, True)


def test_a_report_for_people_names_each_violation() -> None:
    report = made()
    report.violations.append("message 3 is gone")
    text = report.as_text()
    assert "message 3 is gone" in text
    assert text.endswith("FAILED: 1 violations")
    assert not report.passed
