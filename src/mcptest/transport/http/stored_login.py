"""Credentials of a login: the stored token of a server, renewed when it has expired.

Each login is kept under the URL of the server that the user logged in to. The secrets of a login
are in the file or, if the user wants that, in the keyring of the system; the file then says so.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time

from mcptest.core.plan import OAuthSpec
from mcptest.core.secrets import LEARNED
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.text import visible
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import BadUrlError, parse_url
from mcptest.protocol.oauth import (
    REFRESH,
    AuthorizationServer,
    Challenge,
    OAuthError,
    read_challenge,
)
from mcptest.transport import OPEN_FLAGS
from mcptest.transport.files import PATIENCE_S, locked, replace_file
from mcptest.transport.http.authorization import (
    MARGIN_S,
    Credentials,
    is_sendable,
    make_token_request,
    read_token,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from mcptest.core.plan import HttpSpec
    from mcptest.protocol.http_address import Address
    from mcptest.transport.http.authorization import Requests, Token
    from mcptest.transport.http.client import HttpRequest
    from mcptest.transport.process.signals import Interrupts

__all__ = [
    "Login",
    "LoginCredentials",
    "LoginStore",
    "StoreError",
    "check_keyring",
    "find_store",
]


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

    @property
    def has_expired(self) -> bool:
        return bool(self.expires_at) and time.time() >= self.expires_at - MARGIN_S

    def with_token(self, token: Token) -> Login:
        """The login with a token that was issued just now."""
        is_limited = token.lasts_s != float("inf")
        return self.but(
            access_token=token.access,
            # Without a new one the old one stays valid.
            refresh_token=token.refresh or self.refresh_token,
            expires_at=time.time() + token.lasts_s if is_limited else 0.0,
            scope=token.scope or self.scope,
        )

    def make_token_request(self, form: dict[str, str]) -> HttpRequest:
        """A request to the token endpoint, for the resource of this login."""
        client = OAuthSpec(
            client_id=self.client_id,
            client_secret=self.client_secret,
            auth_method=self.auth_method,
        )
        try:
            endpoint = parse_url(self.token_endpoint)
        except BadUrlError as error:
            hint = f"run {_login_command(self.url)}"
            message = f"the stored token endpoint is not a URL: {error}"
            raise OAuthError(message, hint) from None
        server = AuthorizationServer(issuer=self.issuer, token_endpoint=endpoint)
        return make_token_request(client, server, {**form, "resource": self.resource})


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


def _login_command(url: str) -> str:
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
            logins = {url: _parse_login(url, each) for url, each in found["logins"].items()}
        except (UnicodeDecodeError, NotJsonError, LookupError, TypeError, AttributeError):
            raise self._unusable("it is not a list of logins") from None
        for login in logins.values():
            _hide_secrets(login)
        return logins

    def find(self, url: str) -> Login | None:
        """The login for a server with its secrets, or None."""
        login = self.read().get(url)
        if login is None or not login.keyring:
            return login
        text = _Keyring().get(login.url)
        try:
            found: Any = parse_json(text)
            full = _parse_login(
                login.url, {**_make_entry(login), **{key: found[key] for key in _SECRETS}}
            )
        except (NotJsonError, LookupError, TypeError):
            message = f"the keyring has no tokens for {visible(login.url)}"
            raise StoreError(message, f"run {_login_command(login.url)} --keyring") from None
        _hide_secrets(full)
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
        _hide_secrets(login)
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
        entries = {url: _make_entry(login) for url, login in sorted(logins.items())}
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


def _parse_login(url: str, entry: dict[str, Any]) -> Login:
    # Whatever is of another type, or unknown, makes it no list of logins.
    if not all(isinstance(value, _FIELDS[key]) for key, value in entry.items()):
        raise TypeError
    return Login(url=url, **entry)


def _make_entry(login: Login) -> dict[str, object]:
    found = {key: getattr(login, key) for key in _FIELDS}
    return {key: value for key, value in found.items() if value or key not in _SECRETS}


def _hide_secrets(login: Login) -> None:
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


_UNAUTHORIZED, _FORBIDDEN = 401, 403


class LoginCredentials(Credentials):
    """Headers of the config and the token of a login, which is sent to this server alone."""

    def __init__(self, spec: HttpSpec, server: Address, interrupts: Interrupts) -> None:
        super().__init__(spec, server)
        self._interrupts = interrupts
        self._store = find_store(os.environ)
        self._login: Login | None = None
        # A token that the server has refused, and the challenge with which it did.
        self._spent = ""
        self._refusal = Challenge()
        self._is_renewed = False

    @property
    def hint(self) -> str:
        return f"run {_login_command(self._server.url)}"

    @property
    def is_ready(self) -> bool:
        return bool(self.token) and time.monotonic() < self._ends_at

    def take_success(self) -> None:
        self._is_renewed = False

    def take_refusal(self, status: int, headers: Mapping[str, str]) -> bool:
        """True if an answer with this status refuses the token, and a renewed one may help."""
        self._refusal = Challenge()
        if status not in (_UNAUTHORIZED, _FORBIDDEN):
            return False
        self._refusal = read_challenge(headers.get("www-authenticate", ""))
        can_renew = self._login is not None and bool(self._login.refresh_token)
        if status == _FORBIDDEN or not can_renew or self._is_renewed:
            return False
        self._spent, self.token = self.token, ""
        self._is_renewed = True
        return True

    def describe(self) -> str:
        """What to do about a token that the server refuses."""
        if self._login is None:
            return ""
        missing = self._refusal.scope.split() if self._refusal.error == "insufficient_scope" else []
        # What servers say is repeated in a command only if a shell does nothing with it.
        words = filter(_is_scope, [*self._login.scope.split(), *missing])
        scope = " ".join(dict.fromkeys(words))
        said = f"the login is of {visible(self._login.issuer)}"
        said += f" with the scope {visible(self._login.scope)}" if self._login.scope else ""
        wanted = f' --scope "{scope}"' if missing else ""
        return f"{said}; {self.hint}{wanted}"

    def obtain(self) -> Requests[None]:
        """Read the stored token, and renew it if it has expired or was refused."""
        login = self._find()
        if login.access_token == self._spent or login.has_expired:
            with self._store.lock(self._interrupts):
                # Another process may have renewed it.
                login = self._find()
                if login.access_token == self._spent or login.has_expired:
                    login = yield from self._renew(login)
                    self._store.put(login)
        if not is_sendable(login.access_token):
            raise OAuthError("the stored token cannot be sent in a header", self.hint)
        self._login, self.token = login, login.access_token
        left_s = login.expires_at - time.time() if login.expires_at else float("inf")
        # At least long enough to be sent.
        self._ends_at = time.monotonic() + max(1.0, left_s - MARGIN_S)

    def _find(self) -> Login:
        login = self._store.find(self._server.url)
        if login is None:
            message = f"there is no login for {visible(self._server.url)}"
            raise OAuthError(message, self.hint)
        return login

    def _renew(self, login: Login) -> Requests[Login]:
        place = visible(login.issuer)
        if not login.refresh_token:
            raise OAuthError(f"the login of {place} has expired", self.hint)
        form = {"grant_type": REFRESH, "refresh_token": login.refresh_token}
        answer = yield login.make_token_request(form)
        found = answer.problem or read_token(answer.status, answer.body)
        if isinstance(found, str):
            message = f"the login of {place} has expired and could not be renewed: {found}"
            raise OAuthError(message, self.hint)
        return login.with_token(found)


def _is_scope(text: str) -> bool:
    """True for what RFC 6749 allows in a scope, without what a shell would interpret."""
    return text.isascii() and text.isprintable() and not set(text) & set("\"'\\`$!")
