"""Credentials in the description of a server, which must not be written to a file.

What looks like one becomes `${NAME}`, a reference to a variable of the environment.
`core.secrets` and `core.likely_secrets` recognize secrets; this module chooses their names.
"""

from __future__ import annotations

import re
from itertools import pairwise

from mcptest.core.likely_secrets import AUTH_SCHEMES, secret_places
from mcptest.core.secrets import is_secret, names_secret, split_words, why_not_blanked
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Credential", "CredentialHider"]


class Credential(Record):
    """A value that is written as `${name}`; `place` says where it was, for the user.

    `is_set` is true if the variable has this value now.
    """

    name: str
    place: str
    value: str
    is_set: bool = False

    @property
    def note(self) -> str:
        """What the user has to know to run the file; the value is not in it."""
        written = f"{self.place} is written as ${{{self.name}}}"
        if self.is_set:
            return f"{written}, which is set to the same value now"
        return f"{written}; to run the file, set it: export {self.name}=…"


class CredentialHider:
    """Replaces credentials by references. `found` are those that were replaced, by name.

    `is_file` says whether a value is the path of an existing file: that is not a secret.
    """

    def __init__(self, environment: Mapping[str, str], is_file: Callable[[str], bool]) -> None:
        self._environment = environment
        self._is_file = is_file
        self.found: dict[str, Credential] = {}

    def hide_args(self, args: Iterable[str]) -> list[str]:
        """The arguments of a command."""
        hidden: list[str] = []
        option = ""
        for word in args:
            may_be_value = option and not re.fullmatch(_OPTION, word)
            login = re.fullmatch(_LOGIN, word) if option in _USER_OPTIONS else None
            next_option = ""
            if may_be_value and _is_secret_value(option, word):
                hidden.append(self._replace(option, word, f"the value of {option}"))
            elif may_be_value and login:
                password = self._refer(_PASSWORD, login[2], f"the password after {option}")
                hidden.append(f"{login[1]}{password}")
            else:
                hidden.append(self._hide_word(word, option))
                next_option = word if re.match("-[^=]+$", word) else ""
            option = next_option
        # A value that is known as a secret from elsewhere is one wherever it is: -p hunter2.
        known = {value: name for name, value in self._environment.items() if names_secret(name)}
        known |= {each.value: each.name for each in self.found.values()}
        place = "a word of the command"
        return [self._refer(known[word], word, place) if word in known else word for word in hidden]

    def hide_url(self, url: str) -> str:
        return self._hide_word(url, "")

    def hide_headers(self, headers: Mapping[str, object]) -> dict[str, object]:
        hidden = dict(headers)
        for name, value in headers.items():
            if isinstance(value, str) and names_secret(name):
                # The scheme stays: "Bearer ${AUTHORIZATION}".
                scheme = re.match(AUTH_SCHEMES, value, re.IGNORECASE)
                at = scheme.end() if scheme else 0
                hidden[name] = value[:at] + self._replace(name, value[at:], f"the header {name}")
            elif isinstance(value, str):
                hidden[name] = self._hide_word(value, name)
        return hidden

    def hide_env(self, env: Mapping[str, object]) -> dict[str, object]:
        """Variables of a server; a value that is a reference stays as it is."""
        hidden = dict(env)
        for name, value in env.items():
            text = str(value)
            is_suspect = re.search(_SECRET_VARIABLE, name) or secret_places(text)
            if re.search(_REFERENCE, text):
                hidden[name] = (
                    self._refer(name, text, name)
                    if names_secret(name)
                    else self._hide_word(text, name)
                )
            elif is_suspect:
                self.found[name] = self._make_credential(name, name, text)
                hidden[name] = f"${{{name}}}"
        return hidden

    def _hide_word(self, word: str, option: str) -> str:
        """A word of a command or a URL; `option` is the one before it, if any."""
        assigned = re.fullmatch(r"(?s)(-{0,2}[A-Za-z_][\w.-]*)=(.+)", word)
        if assigned and _is_secret_value(assigned[1], assigned[2]):
            key, value = assigned[1], assigned[2]
            return f"{key}={self._replace(key, value, f'the value of {key}')}"
        # References stay, and nothing is searched for in them.
        searched = re.sub(_REFERENCE, lambda found: "x" * len(found[0]), word)
        for start, end in reversed(secret_places(searched)):
            scheme = re.match(AUTH_SCHEMES, word[start:end], re.IGNORECASE)
            start += scheme.end() if scheme else 0
            key = _key_before(word[:start]) or option
            value = word[start:end]
            name = key or next((name for look, name in _KINDS if re.match(look, value)), "SECRET")
            if "://" in word and key == _PASSWORD:
                place = "the password in a URL"
            elif key:
                place = f"the value of {option or key}"
            else:
                place = f"a {name.lower().replace('_', ' ')} in the command"
            word = word[:start] + self._refer(name, value, place) + word[end:]
        if word.startswith(("/", "./", "../", "~")) or "\\" in word:
            # A path.
            return word

        def hide_random(found: re.Match[str]) -> str:
            if found[0].startswith("$") or not _is_random(found[0]):
                return found[0]
            key = _key_before(word[: found.start()]) or option
            if "://" in word:
                return self._refer(key or "URL_TOKEN", found[0], "a part of the URL")
            if key:
                return self._refer(key, found[0], f"the value of {option or key}")
            return self._refer("SECRET", found[0], "a long random string in the command")

        return re.sub(rf"{_REFERENCE}|{_RANDOM}", hide_random, word)

    def _refer(self, key: str, value: str, place: str) -> str:
        """The reference to write instead of a value, or the value if it is not worth hiding."""
        return value if why_not_blanked(value) else self._replace(key, value, place)

    def _replace(self, key: str, value: str, place: str) -> str:
        """The reference to write instead of a value whose key says that it is a secret.

        References in it stay, and what is around them is hidden.
        """
        if re.search(_REFERENCE, value):
            parts = re.split(f"({_REFERENCE})", value)
            # Every second part is a reference.
            parts[::2] = [self._refer(key, part, place) for part in parts[::2]]
            return "".join(parts)
        if not value.strip() or self._is_file(value):
            return value
        name = re.sub(r"[^A-Z0-9]+", "_", key.upper()).strip("_0123456789") or "SECRET"
        # A loader reports an unset variable only if it has the name of a secret.
        name = name if names_secret(name) else f"{name}_SECRET"
        found = self._make_credential(name, place, value)
        number = 2
        while found.name in self.found and self.found[found.name].value != value:
            found = found.but(name=f"{name}_{number}", is_set=False)
            number += 1
        self.found.setdefault(found.name, found)
        return f"${{{found.name}}}"

    def _make_credential(self, name: str, place: str, value: str) -> Credential:
        """The shell may have put the value of a variable there: then its name is used."""
        same = [each for each, its in self._environment.items() if its == value]
        known = [each for each in same if re.fullmatch(_VARIABLE, each) and names_secret(each)]
        if name in same or (known and place != name):
            name = name if name in same else known[0]
            return Credential(name=name, place=place, value=value, is_set=True)
        return Credential(name=name, place=place, value=value)


_VARIABLE = r"[A-Z][A-Z0-9_]*"
_REFERENCE = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"

# What is an option even after one that takes a secret: --verbose, -v.
_OPTION = r"(?s)-[A-Za-z]?|--[a-z][a-z-]*[0-9]{0,3}(?:=.*)?"
# These may take a name and a password, as those of curl do; two numbers are a user and a group.
_USER_OPTIONS = frozenset(["-u", "-user", "--user"])
_LOGIN = r"(?s)(?![0-9]+:[0-9]+$)([^\s:/]+:)(?!//)(.+)"
# Options whose value is a secret, though in an answer the same word may mean something else.
_SECRET_OPTIONS = frozenset(["pat", "pw"])
_SECRET_OPTION_PAIRS = frozenset([("access", "code"), ("licence", "key"), ("license", "key")])

# Wider than `names_secret`: a variable that is set for a server and not needed costs nothing.
_SECRET_VARIABLE = r"(?i)token|secret|passw|key|credential|auth|cookie|session|dsn|private"

_PASSWORD = "PASSWORD"

# Runs of characters that keys are made of.
_RANDOM = r"[A-Za-z0-9]{20,}"
_LEAST_CHANGES = 0.3

# What a value is by its look.
_KINDS = (
    (r"gh[a-z]_|github_pat_", "GITHUB_TOKEN"),
    (r"glpat-", "GITLAB_TOKEN"),
    (r"xox[a-z]-|xapp-", "SLACK_TOKEN"),
    (r"AKIA|ASIA", "AWS_ACCESS_KEY"),
    (r"AIza|ya29", "GOOGLE_API_KEY"),
    (r"npm_", "NPM_TOKEN"),
    (r"hf_", "HF_TOKEN"),
    (r"eyJ", "JWT"),
    (r"sk[-_]|[rp]k_|SG\.", "API_KEY"),
    (r"-----BEGIN", "PRIVATE_KEY"),
)


def _is_secret_value(key: str, value: str) -> bool:
    """True if what follows this option, or is assigned to this name, is a secret."""
    words = split_words(key)
    if words[-2:] in _SECRET_OPTION_PAIRS or not _SECRET_OPTIONS.isdisjoint(words[-1:]):
        return True
    if words == ("key",) or (words[-1:] == ("key",) and re.fullmatch(_VARIABLE, key)):
        return True
    if words[-1:] == ("auth",) and why_not_blanked(value):
        # It may name a method: --auth none.
        return False
    return is_secret(key, value) and words[-1] not in ("dir", "file", "path")


def _key_before(text: str) -> str:
    """The name that a value has in a text that ends with `name=` or `name: `; "" if none."""
    if re.search(r"://[^\s/]*:$", text):
        return _PASSWORD
    if re.search(r"(?i)\b(?:authorization\W*)?bearer[ \t]+$", text):
        return "BEARER_TOKEN"
    found = re.search(r"([A-Za-z_][\w.-]*)['\"]?\s*(?:=|:)\s*['\"]?(?:\w+[ \t]+)?$", text)
    return found[1] if found else ""


def _is_random(text: str) -> bool:
    """True if letters and digits alternate as they do in a key, and not as in words."""
    if not re.search("[0-9]", text) or not re.search("[A-Za-z]", text):
        return False
    kinds = ["0" if char.isdigit() else "A" if char.isupper() else "a" for char in text]
    # A capital at the beginning of a word is not a change.
    changes = sum(one != other and one + other != "Aa" for one, other in pairwise(kinds))
    return changes >= _LEAST_CHANGES * len(text)
