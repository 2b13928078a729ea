"""The folder in which a demo runs: its configuration, its state, its mailboxes."""

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder that was laid out."""

    folder: Path

    @property
    def configuration(self) -> Path:
        """The configuration file. It may be edited, and the demo run again."""
        return self.folder / "pepsi.conf"

    @property
    def mailboxes(self) -> Path:
        """Below it are the Maildirs, by domain and local part."""
        return self.folder / "mailboxes"

    def delivered(self) -> tuple[bytes, ...]:
        """Return the messages in all mailboxes."""
        return tuple(path.read_bytes() for path in sorted(self.mailboxes.glob("*/*/new/*")))


def lay_out(folder: Path, *, smtp_port: int, sink_port: int) -> Workplace:
    """Write what a demo needs into *folder*, which must exist.

    It takes mail at *smtp_port* of the loopback, and relays to *sink_port* there.
    """
    place = Workplace(folder)
    place.mailboxes.mkdir(exist_ok=True)
    text = (resources.files("pepsi.demo") / "pepsi.conf").read_text(encoding="utf-8")
    text = _set(text, "LISTEN", f"tcp:{smtp_port}:interface=127.0.0.1")
    text = _set(text, "PORT", str(sink_port))
    place.configuration.write_text(text, encoding="utf-8")
    return place


def _set(text: str, key: str, value: str) -> str:
    text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
    if count != 1:
        raise AssertionError(f"the demo's pepsi.conf has {count} lines for {key}")
    return text
