"""Fetch what tests borrow from others: SMTP programs and sample mails. Run by ``make peers``.

Programs on PATH are used as they are. The rest is unpacked from Debian packages into .peers, so nothing is installed
and no daemon starts. Where that cannot be done, .peers/missing says why, and the tests that need it are skipped.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PEERS = Path(__file__).resolve().parent.parent / ".peers"
MISSING = PEERS / "missing"
DOWNLOADS = PEERS / "packages"
UNPACKED = PEERS / "root"

PROGRAMS = {
    "swaks": ("usr/bin/swaks", ["swaks", "libnet-ssleay-perl", "libio-socket-ssl-perl"]),
    "smtp-source": ("usr/sbin/smtp-source", ["postfix"]),
    "smtp-sink": ("usr/sbin/smtp-sink", ["postfix"]),
}
"""Where a program stands in its package, and the packages it needs; apt adds what those need."""

SAMPLES = "usr/share/doc/spamassassin/examples"
"""The folder of two sample mails, below / or below ``UNPACKED``."""
SAMPLES_PACKAGE = "spamassassin"

# Downloads happen unsandboxed: apt's own user cannot write into the checkout, and apt would only warn about it.
APT = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30"]


class NotToBeHad(Exception):
    """A package cannot be fetched. The text says why."""


def find_program(name: str) -> Path | None:
    """Return the path of a program that is installed, or that was fetched."""
    installed = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    fetched = PEERS / "bin" / name
    return Path(installed) if installed else fetched if fetched.exists() else None


def find_samples() -> Path | None:
    """Return the folder of sample mails that is installed, or that was fetched."""
    return next((folder for base in (Path("/"), UNPACKED) if (folder := base / SAMPLES).is_dir()), None)


def main() -> int:
    """Fetch what is missing. Returns 0 even if some of it cannot be had: tests can do without."""
    PEERS.mkdir(exist_ok=True)
    with (PEERS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reasons = {name: reason for name in PROGRAMS if not find_program(name) and (reason := fetch_program(name))}
        if not find_samples() and (reason := attempt([SAMPLES_PACKAGE], with_needs=False)):
            reasons[SAMPLES_PACKAGE] = reason
        shutil.rmtree(DOWNLOADS, ignore_errors=True)
        if reasons:
            text = "".join(f"{name}: {reason}\n" for name, reason in reasons.items())
            MISSING.write_text(text)
            print(f"Some tests will be skipped; {MISSING} has the whole of it:\n{text}", end="")
        else:
            MISSING.unlink(missing_ok=True)
    return 0


def fetch_program(name: str) -> str | None:
    """Unpack what *name* needs and make it callable. Returns why that failed, or None."""
    path, packages = PROGRAMS[name]
    if reason := attempt(packages, with_needs=True):
        return reason
    wrapper = PEERS / "bin" / name
    write_wrapper(wrapper, path)
    # Those that do not know the option complain and end; 126 and 127 mean that they cannot be started at all.
    command = [str(wrapper), "--version"]
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    if tried.returncode in (126, 127):
        wrapper.unlink()
        return f"does not start: {one_line(tried.stderr)}"
    return None


def write_wrapper(wrapper: Path, program: str) -> None:
    """Write a script that runs *program* with the libraries and Perl modules that were unpacked beside it."""
    libraries = relative(["usr/lib/postfix", "usr/lib/*-linux-*", "lib/*-linux-*"])
    modules = relative(["usr/share/perl5", "usr/lib/*/perl5/*"])
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(
        "#!/bin/sh\n"
        'root=$(dirname "$0")/../root\n'
        f'export LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"\n'
        f'export PERL5LIB="{modules}${{PERL5LIB:+:$PERL5LIB}}"\n'
        f'exec "$root/{program}" "$@"\n'
    )
    wrapper.chmod(0o755)


def relative(patterns: Iterable[str]) -> str:
    """Return the unpacked folders that match, as a search path for the wrapper."""
    folders = [folder for pattern in patterns for folder in sorted(UNPACKED.glob(pattern)) if folder.is_dir()]
    return ":".join(f"$root/{folder.relative_to(UNPACKED)}" for folder in folders)


def attempt(packages: list[str], *, with_needs: bool) -> str | None:
    """Unpack *packages*; on failure try once more with fresh package lists. Returns why both failed, or None."""
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        return "not installed, and this system has no apt-get to fetch it with"
    try:
        unpack(packages, with_needs=with_needs)
    except NotToBeHad as error:
        if os.geteuid() != 0:
            return str(error)
        try:
            run([*APT, "update"])
            unpack(packages, with_needs=with_needs)
        except NotToBeHad as second:
            return str(second)
    return None


def unpack(packages: list[str], *, with_needs: bool) -> None:
    """Download *packages*, and with *with_needs* what they would bring along here, and unpack them."""
    names = packages
    if with_needs:
        plan = run([*APT, "--simulate", "install", "--no-install-recommends", *packages])
        names = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")] or packages
    DOWNLOADS.mkdir(exist_ok=True)
    run([*APT, "download", *names], cwd=DOWNLOADS)
    for package in sorted(DOWNLOADS.glob("*.deb")):
        run(["dpkg", "-x", str(package), str(UNPACKED)])


def run(command: list[str], cwd: Path | None = None) -> str:
    """Run *command* and return what it printed. Raises NotToBeHad with its complaint."""
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired as error:
        raise NotToBeHad(f"{command[0]} gave no answer within {error.timeout:.0f} s") from error
    if done.returncode != 0:
        raise NotToBeHad(f"{command[0]}: {one_line(done.stderr) or f'exit status {done.returncode}'}")
    return done.stdout


def one_line(text: str) -> str:
    """Return *text* as one line of bounded length."""
    return " ".join(text.split())[:300]


if __name__ == "__main__":
    sys.exit(main())
