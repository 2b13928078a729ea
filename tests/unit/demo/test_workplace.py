"""The folder that the demo runs in."""

from pathlib import Path

from pepsi.config.load import load
from pepsi.demo.samples import Fate, due, samples
from pepsi.demo.workplace import lay_out
from pepsi.stages.registry import find
from pepsi.worker.section import options_of


def test_the_configuration_is_without_fault_and_has_the_ports_that_were_asked_for(tmp_path: Path) -> None:
    place = lay_out(tmp_path, smtp_port=1025, sink_port=1026)
    config = load(place.configuration)
    assert config.warnings == ()
    assert config.ingress.listen == ("tcp:1025:interface=127.0.0.1",)
    assert config.stages["relay"].raw.entries["PORT"].value == "1026"
    assert config.pepsi.state_directory == tmp_path / "state"
    assert config.dispatch.config_file == place.configuration
    assert place.mailboxes.is_dir()


def test_every_stage_takes_its_section(tmp_path: Path) -> None:
    config = load(lay_out(tmp_path, smtp_port=1025, sink_port=1026).configuration)
    for name, section in config.stages.items():
        options_of(find(section.spec.program.removeprefix("pepsi-stage-")), config, name)


def test_the_pipeline_branches_and_has_more_stages_than_four(tmp_path: Path) -> None:
    stages = load(lay_out(tmp_path, smtp_port=1025, sink_port=1026).configuration).stages
    programs = {stage.spec.program for stage in stages.values()}
    assert len(stages) > 4
    assert programs == {
        "pepsi-stage-if",
        "pepsi-stage-discard",
        "pepsi-stage-pipe",
        "pepsi-stage-deliver-maildir",
        "pepsi-stage-relay-to-smarthost",
    }


def test_what_was_delivered_is_found_in_every_mailbox(tmp_path: Path) -> None:
    place = lay_out(tmp_path, smtp_port=1025, sink_port=1026)
    assert place.delivered() == ()
    for user in ("bob", "carol"):
        new = place.mailboxes / "pepsi.example" / user / "new"
        new.mkdir(parents=True)
        (new / "1").write_bytes(user.encode())
    assert place.delivered() == (b"bob", b"carol")


def test_every_recipient_with_a_mailbox_is_due_a_copy_and_the_next_host_one_for_all() -> None:
    sent = samples()
    mailboxes, relayed = due(sent, Fate.MAILBOX), due(sent, Fate.RELAYED)
    assert mailboxes["attachment"][1] == 2
    assert set(relayed.values()) == {(sample.message, 1) for sample in sent if sample.fate is Fate.RELAYED}
    assert not set(mailboxes) & set(relayed)
