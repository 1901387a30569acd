"""The eight programs, in a folder that their user owns, and the sessions of that user."""

import dataclasses
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import common

NOBODY = 65534
# Their data fit into the first two caches, so that an interruption leaves little behind.
SMALL = ("C loop", "4 threads")


@dataclasses.dataclass(frozen=True)
class User:
    """Who runs the programs. `folder` has their files, a copy of Stillwell and its records."""
    name: str
    uid: int | None
    folder: pathlib.Path
    commands: dict[str, str]

    def run(self, *argv: str) -> subprocess.CompletedProcess:
        """Runs a program as this user, in the folder. The loads remain those of the present user."""
        rights = {} if self.uid is None else {"user": self.uid, "group": self.uid, "extra_groups": []}
        return subprocess.run(argv, cwd=self.folder, env=environment(self.folder), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, **rights)

    def told(self, *argv: str) -> str:
        """The output of a program. A failure ends the experiment with the reason."""
        ran = self.run(*argv)
        if ran.returncode:
            sys.exit(f"{' '.join(argv)}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def session(self, budget: list[str], *commands: str) -> dict:
        """What `stillwell run --json` says."""
        return json.loads(self.told("./stillwell", "run", "-N", "--json", "--style", "none", *budget, *commands))


def environment(folder: pathlib.Path) -> dict[str, str]:
    # The repository may belong to another user than git's.
    return os.environ | {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C",
                         "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def users(is_small: bool) -> tuple[list[User], str | None]:
    """The present user, and as root one without rights too. The text says why not."""
    present = pathlib.Path("present").resolve()
    me = "root" if os.geteuid() == 0 else "user"
    found = [User(me, None, present, made(present, is_small))]
    if os.geteuid() != 0:
        return found, "the present user is not root: no second user"
    # The scratch directory may be in a home that only root may enter.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stillwell-busy-"))
    other = User("without rights", NOBODY, folder, made(folder, is_small))
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    try:
        ran = other.run("./stillwell", "--version")
    except OSError as error:
        return found, f"no second user: {error}"
    if ran.returncode:
        return found, f"no second user: {ran.stderr.strip()}"
    return [*found, other], None


def forget(everybody: list[User]) -> None:
    for user in everybody:
        if user.uid is not None:
            shutil.rmtree(user.folder, ignore_errors=True)


def made(folder: pathlib.Path, is_small: bool) -> dict[str, str]:
    """Makes the files of the programs in a folder. Returns name → command."""
    folder.mkdir(exist_ok=True)
    part = 20 if is_small else 1
    shutil.copy(common.STILLWELL, folder / "stillwell")
    for program in ("work", "chase", "threads"):
        shutil.copy(program, folder)
    shutil.copy(pathlib.Path(__file__).with_name("chase.c"), folder / "small.c")
    draw = random.Random(1)
    (folder / "data.txt").write_text("".join(f"{draw.randrange(10**6)}\n" for _ in range(100_000 // part)))
    make_repository(folder, 400 // part)
    return {
        "python": f"{python()} -S -c 'sum(range({2_000_000 // part}))'",
        "gzip": "gzip -c data.txt",
        "C loop": f"./work {30_000_000 // part}",
        "chase 16 MiB": f"./chase {150_000 // part}",
        "git status": "git -C repository status --short",
        "pipeline of 3": f"sh -c 'seq {100_000 // part} | sort -r | tail -n 1'",
        "compiler": f"{os.environ.get('CC', 'cc')} -O2 -c -o /dev/null small.c",
        "4 threads": f"./threads {10_000_000 // part}",
    }


def python() -> str:
    """An interpreter for every user. That of the experiment may be in a home."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else os.path.realpath(sys.executable)


def make_repository(folder: pathlib.Path, n_files: int) -> None:
    repository = folder / "repository"
    for at in range(n_files):
        file = repository / f"part{at % 20}" / f"file{at}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"line {at}\n" * 50)
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "files"]
    for words in (["init", "-q"], ["add", "."], commit):
        subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, env=environment(folder))
