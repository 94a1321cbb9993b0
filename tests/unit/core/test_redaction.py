"""A secret is blanked in every shape it can take, and nothing else is."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.events import CaseFinished, RunFinished, SuiteStarted
from mcptest.core.results import CaseResult, Evidence, Fault, Mismatch, Summary
from mcptest.core.secrets import (
    BLANK,
    LEARNED,
    redact_all,
    redact_bytes,
    redact_part,
    redactor,
    why_not_blanked,
)
from mcptest.core.value_class import ABSENT

SECRET = 'hunter2/"pass+word"\tü'
SECRETS = st.text(st.characters(codec="utf-8"), min_size=8).filter(
    lambda secret: not why_not_blanked(secret)
)


@pytest.mark.parametrize(
    "shape",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET, safe="").lower().replace("ü", "%c3%bc"),
    ],
)
def test_a_secret_inside_other_text_is_blanked_whatever_its_shape(shape: str) -> None:
    assert redactor([SECRET])(f"before {shape} after") == f"before {BLANK} after"


@given(SECRETS, st.binary(max_size=5), st.binary(max_size=5))
def test_base64_of_a_text_that_holds_a_secret_does_not_give_it_away(
    secret: str, before: bytes, after: bytes
) -> None:
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    shown = redactor([secret])(encoded)
    assert BLANK in shown
    inner = len(secret.encode()) * 4 // 3
    assert len(shown.replace(BLANK, "")) <= len(encoded) - inner + 4


@pytest.mark.parametrize(
    ("before", "shown"), [(b"", BLANK), (b"x", f"eG{BLANK}Q=="), (b"xx", f"eHh{BLANK}k=")]
)
def test_base64_is_known_at_each_of_its_three_alignments(before: bytes, shown: str) -> None:
    encoded = base64.b64encode(before + b"correct horse battery").decode()
    assert redactor(["correct horse battery"])(encoded) == shown


def test_the_url_safe_alphabet_is_known_too() -> None:
    secret = "\u00fb\u00ff\u00fe\u00fb\u00ff\u00fe"
    encoded = base64.urlsafe_b64encode(secret.encode("utf-8")).decode()
    assert redactor([secret])(encoded) == BLANK


def test_each_line_of_a_key_file_is_blanked_by_itself() -> None:
    key = "-----BEGIN KEY-----\nMIIEpQIBAAKCAQEA\n-----END KEY-----\n"
    shown = redactor([key])("  stderr | -----BEGIN KEY-----\n         | MIIEpQIBAAKCAQEA")
    assert shown == f"  stderr | {BLANK}\n         | {BLANK}"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert redactor(["pass", "password"])("password pass") == f"{BLANK} {BLANK}"


@pytest.mark.parametrize("short", ["", "1", "on", "abc"])
def test_a_value_too_short_to_be_a_secret_is_not_blanked(short: str) -> None:
    text = "1 on abc and more"
    assert redactor([short])(text) == text


@given(st.text())
def test_without_secrets_nothing_changes(text: str) -> None:
    assert redactor([])(text) == text


def test_text_without_the_secret_is_left_alone() -> None:
    assert redactor([SECRET])("hunter2 is not it") == "hunter2 is not it"


def test_every_text_of_a_result_is_redacted_and_no_word_or_number_of_ours() -> None:
    """A secret may be a word or a number that also occurs in our own fields."""
    result = CaseResult(
        name="says fatal",
        status="error",
        line=8080,
        duration_s=8080.5,
        mismatches=(
            Mismatch(
                path="result.fatal",
                expected={"fatal": [8080, True, None, "port 8080"]},
                actual=ABSENT,
                message="is missing",
            ),
        ),
        fault=Fault(kind="error", message="a fatal end", evidence=Evidence(command=("x", "8080"))),
        actual=80801,
        notes=("fatal",),
    )
    assert redact_all(
        CaseFinished(result=result), redactor(["fatal", "definite", "8080"])
    ) == CaseFinished(
        result=CaseResult(
            name=f"says {BLANK}",
            status="error",
            line=8080,
            duration_s=8080.5,
            mismatches=(
                Mismatch(
                    path=f"result.{BLANK}",
                    expected={BLANK: [BLANK, True, None, f"port {BLANK}"]},
                    actual=ABSENT,
                    message="is missing",
                ),
            ),
            fault=Fault(
                kind="error", message=f"a {BLANK} end", evidence=Evidence(command=("x", BLANK))
            ),
            actual=BLANK,
            notes=(BLANK,),
        )
    )


def test_counts_and_formats_of_a_run_are_never_secret() -> None:
    redact = redactor(["conductor", "1234"])
    suite = SuiteStarted(name="n", file="f", format="conductor", server="s", total=1234)
    finished = RunFinished(summary=Summary(passed=1234), duration_s=1234.0)
    assert redact_all(suite, redact) == suite
    assert redact_all(finished, redact) == finished


def test_times_are_never_secret() -> None:
    result = CaseResult(name="n", status="passed", line=1, duration_s=0.4567, times_s=(0.4567,))
    assert redact_all(result, redactor(["4567"])) == result


def test_a_value_without_a_secret_is_the_very_same() -> None:
    value = CaseFinished(
        result=CaseResult(name="n", status="failed", line=1, actual=[1, {"a": b"x"}])
    )
    assert redact_all(value, redactor(["hunter2"])) is value


def test_one_secret_among_many_texts_is_found() -> None:
    texts = [f"text {number}" for number in range(2000)]
    blanked = redact_all([*texts, {"k": b"hunter2\xff"}, *texts], redactor(["hunter2"]))
    assert blanked == [*texts, {"k": b"[secret]\xff"}, *texts]


def test_bytes_that_are_not_text_are_not_changed() -> None:
    redact = redactor(["hunter2"])
    assert redact_bytes(b"\xff\0hunter2\xc3\x80", redact) == b"\xff\0[secret]\xc3\x80"


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("rect horse battery and more", "[secret] and more"),
        ("begins with correct hor", "begins with [secret]"),
        ("correct horse battery", "[secret]"),
        ("nothing of it", "nothing of it"),
        # Too short to be of use, or to be distinguished from anything else.
        ("ttery", "ttery"),
        # In the middle nothing was cut.
        ("a correct horse is not it", "a correct horse is not it"),
    ],
)
def test_half_a_secret_where_a_text_was_cut_is_blanked(kept: str, shown: str) -> None:
    assert redact_part(kept, redactor(["correct horse battery"])) == shown


@pytest.mark.parametrize(
    ("weak", "reason"),
    [
        ("", "is too short to be blanked"),
        ("abc", "is too short to be blanked"),
        (" abc\n", "is too short to be blanked"),
        ("true", "is too common a word to be blanked"),
        ("TEST", "is too common a word to be blanked"),
        ("secret", "is too common a word to be blanked"),
        ("[secret]", "is too common a word to be blanked"),
    ],
)
def test_a_weak_secret_is_left_alone_and_the_reason_is_known(weak: str, reason: str) -> None:
    assert why_not_blanked(weak) == reason
    text = f"it is {weak} here"
    assert redactor([weak])(text) == text
    assert redactor([weak, "hunter2"])(f"{text} hunter2") == f"{text} {BLANK}"


@pytest.mark.parametrize("strong", ["abcd", "1234", "password", "truer"])
def test_a_secret_that_is_not_an_everyday_word_is_always_blanked(strong: str) -> None:
    assert why_not_blanked(strong) == ""
    assert redactor([strong])(f"it is {strong}") == f"it is {BLANK}"


def test_a_learned_secret_is_blanked_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEARNED, "secrets", ())
    alone, beside = redactor([]), redactor(["hunter2"])
    value = {"a": "learned-1"}
    assert redact_all(value, alone) is value
    assert beside("learned-1 hunter2") == f"learned-1 {BLANK}"
    LEARNED.add("learned-1")
    LEARNED.add("learned-2")
    assert redact_all(value, alone) == {"a": BLANK}
    assert beside("learned-1 hunter2 learned-2") == f"{BLANK} {BLANK} {BLANK}"


def test_a_secret_learned_twice_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEARNED, "secrets", ())
    LEARNED.add("one", "two")
    LEARNED.add("two", "three")
    assert LEARNED.secrets == ("one", "two", "three")


@pytest.mark.slow
@given(SECRETS, st.text())
def test_blanked_text_is_not_blanked_again(secret: str, text: str) -> None:
    redact = redactor([secret])
    blanked = redact(f"{text} {secret}")
    assert redact(blanked) == blanked
