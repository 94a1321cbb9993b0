"""The tokens of logins: one file that only its user can read, shared by all processes.

Each login is kept under the URL of the server that the user logged in to. The secrets of a login
are in the file or, if the user wants that, in the keyring of the system; the file then says so.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from mcptest.core.record import Record
from mcptest.core.secrets import LEARNED
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import visible
from mcptest.protocol.oauth import OAuthError
from mcptest.transport import OPEN_FLAGS
from mcptest.transport.files import PATIENCE_S, locked, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from mcptest.transport.process.signals import Interrupts

__all__ = ["Login", "LoginStore", "StoreError", "check_keyring", "find_store", "login_command"]

_FILE = "logins.json"
_VERSION = 1
_SECRETS = ("access_token", "refresh_token", "client_secret")
_SERVICE = "mcptest"

# Others must not read the tokens, nor write an address to which they would be sent.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class StoreError(OAuthError):
    """The stored logins cannot be used."""


class Login(Record):
    """The tokens for one server, and how they are renewed.

    `url` is the server that the user logged in to, and the only one that gets the tokens.
    `expires_at` is a time of the clock, 0 if it is not known. `keyring` says where the secrets are.
    """

    url: str
    resource: str
    issuer: str
    token_endpoint: str
    client_id: str
    auth_method: str
    scope: str = ""
    expires_at: float = 0.0
    access_token: str = ""
    refresh_token: str = ""
    client_secret: str = ""
    keyring: bool = False


_FIELDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(
        (
            *("resource", "issuer", "token_endpoint", "client_id", "auth_method", "scope"),
            *_SECRETS,
        ),
        str,
    ),
    "expires_at": (int, float),
    "keyring": bool,
}


def login_command(url: str) -> str:
    """The command with which to log in to a server, for a shell."""
    return f"mcptest login {_quote_word(url)}"


def _quote_word(text: str) -> str:
    # Only in errors.
    from shlex import quote  # noqa: PLC0415

    return visible(quote(text))


def find_store(environment: Mapping[str, str]) -> LoginStore:
    """The store of this user, in the folder that the system has for the data of programs."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        folder = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif os.path.isabs(named := environment.get("XDG_DATA_HOME", "")):
        # A relative path is to be ignored: it would be another folder for each command.
        folder = named
    elif sys.platform == "darwin":
        folder = os.path.join(home, "Library", "Application Support")
    else:
        folder = os.path.join(home, ".local", "share")
    return LoginStore(os.path.join(os.path.abspath(folder), "mcptest", _FILE))


class LoginStore:
    """All logins of a user; a StoreError says why they cannot be used."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> dict[str, Login]:
        """The logins by the URL of their server, without secrets that are in the keyring."""
        raw = self._read_file()
        if raw is None:
            return {}
        try:
            found: Any = parse_json(raw.decode("utf-8"))
            if found["version"] != _VERSION:
                raise self._unusable("it was written by a newer version of mcptest")
            logins = {url: _login(url, each) for url, each in found["logins"].items()}
        except (UnicodeDecodeError, NotJsonError, LookupError, TypeError, AttributeError):
            raise self._unusable("it is not a list of logins") from None
        for login in logins.values():
            _hide(login)
        return logins

    def find(self, url: str) -> Login | None:
        """The login for a server with its secrets, or None."""
        login = self.read().get(url)
        if login is None or not login.keyring:
            return login
        text = _Keyring().get(login.url)
        try:
            found: Any = parse_json(text)
            full = _login(login.url, {**_entry(login), **{key: found[key] for key in _SECRETS}})
        except (NotJsonError, LookupError, TypeError):
            message = f"the keyring has no tokens for {visible(login.url)}"
            raise StoreError(message, f"run {login_command(login.url)} --keyring") from None
        _hide(full)
        return full

    @contextlib.contextmanager
    def lock(self, interrupts: Interrupts | None = None) -> Iterator[None]:
        """Keep other processes from changing the logins."""
        folder = os.path.dirname(self.path)
        # The user may keep the folder elsewhere, with a link to it.
        place = os.path.realpath(folder)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with contextlib.ExitStack() as stack:
                try:
                    stack.enter_context(locked(place, PATIENCE_S, interrupts))
                except TimeoutError:
                    message = "another process has been changing the logins for too long"
                    raise StoreError(message, f"they are in {visible(folder)}") from None
                yield
        except OSError as error:
            why = f"{visible(str(error.filename or folder))}: {error.strerror}"
            raise StoreError(f"the logins cannot be kept: {why}") from None

    def put(self, login: Login) -> None:
        """Add or replace a login, while the store is locked."""
        _hide(login)
        others = self.read()
        if login.keyring:
            _Keyring().set(login.url, dump_json({key: getattr(login, key) for key in _SECRETS}))
            login = login.but(**dict.fromkeys(_SECRETS, ""))
        self._write(others | {login.url: login})

    def remove(self, url: str) -> bool:
        """Remove a login, while the store is locked; False if there is none."""
        logins = self.read()
        login = logins.pop(url, None)
        if login is None:
            return False
        if login.keyring:
            _Keyring().delete(url)
        self._write(logins)
        return True

    def _write(self, logins: dict[str, Login]) -> None:
        entries = {url: _entry(login) for url, login in sorted(logins.items())}
        text = dump_json({"version": _VERSION, "logins": entries}) + "\n"
        replace_file(self.path, text.encode("utf-8"), mode=0o600)

    def _read_file(self) -> bytes | None:
        """The bytes of the file, if only this user can read and write it; None without a file."""
        try:
            # Without waiting for the other end of a pipe.
            with open(os.open(self.path, os.O_RDONLY | OPEN_FLAGS), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise self._unusable("it is not a regular file")
                if sys.platform != "win32" and status.st_uid != os.geteuid():
                    raise self._unusable("it belongs to another user")
                if sys.platform != "win32" and status.st_mode & _OTHERS:
                    hint = (
                        f"chmod 600 {_quote_word(self.path)}, and log in again if someone read it"
                    )
                    raise self._unusable("other users can read or write it", hint)
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(str(error.strerror)) from None

    def _unusable(self, why: str, hint: str = "") -> StoreError:
        hint = hint or "remove it and log in again"
        return StoreError(
            f"the file with the logins, {visible(self.path)}, is not used: {why}", hint
        )


def _login(url: str, entry: dict[str, Any]) -> Login:
    # Whatever is of another type, or unknown, makes it no list of logins.
    if not all(isinstance(value, _FIELDS[key]) for key, value in entry.items()):
        raise TypeError
    return Login(url=url, **entry)


def _entry(login: Login) -> dict[str, object]:
    found = {key: getattr(login, key) for key in _FIELDS}
    return {key: value for key, value in found.items() if value or key not in _SECRETS}


def _hide(login: Login) -> None:
    """Secrets of logins are never shown."""
    LEARNED.add(*(secret for key in _SECRETS if (secret := getattr(login, key))))


# The keyring of the system


def check_keyring() -> None:
    """Raise a StoreError if there is no keyring that can be used."""
    _Keyring()


class _Keyring:
    """The keyring, by the optional library of that name."""

    def __init__(self) -> None:
        try:
            # An optional dependency, which takes long to import.
            import keyring  # noqa: PLC0415
        except ImportError:
            hint = "pip install keyring (of the extra mcptest[oauth]), or log in without --keyring"
            raise StoreError("the keyring cannot be used: keyring is missing", hint) from None
        self._library = keyring
        if getattr(keyring.get_keyring(), "priority", 0) <= 0:
            hint = "log in without --keyring: the tokens are then in a file of yours alone"
            raise StoreError("this system has no keyring that can be used", hint)

    def get(self, url: str) -> str:
        with self._explained("read"):
            return self._library.get_password(_SERVICE, url) or ""

    def set(self, url: str, text: str) -> None:
        with self._explained("changed"):
            self._library.set_password(_SERVICE, url, text)

    def delete(self, url: str) -> None:
        with (
            self._explained("changed"),
            contextlib.suppress(self._library.errors.PasswordDeleteError),
        ):
            # There may be none any more.
            self._library.delete_password(_SERVICE, url)

    @contextlib.contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  # its backends raise anything
            # The reason is not quoted: it may quote a secret.
            name = type(error).__name__
            raise StoreError(f"the keyring could not be {done}: {name}") from None
