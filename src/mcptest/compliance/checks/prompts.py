"""Checks of prompts and of completion.

PROMPT-01 and COMP-01 are the parts of LIFE-13 that are about prompts and completion.
"""

from __future__ import annotations

import re

from mcptest.compliance.check import (
    PASSED,
    Check,
    Outcome,
    could_not_run,
    not_applicable,
    violated,
)
from mcptest.compliance.checks.features import (
    answers_list,
    declares_truly,
    judge_silence,
    names_of,
    require_entries,
    show_name,
    undeclared,
)
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt
from mcptest.explore.arguments import sample_string
from mcptest.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from mcptest.protocol.revisions import MISSING_CAPABILITY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.compliance.raw_connection import Answer, Peer
    from mcptest.compliance.run import Run

    Message = dict[str, Any]

__all__ = ["CHECKS", "argument_names"]

_MAX_PROMPTS = 5


# Prompts


def _gets_prompts(peer: Peer, run: Run) -> Outcome:
    """Get some of the prompts; the shape of what comes back is judged by the passive rule."""
    prompts = require_entries(peer, "prompts")
    has_answer = False
    for prompt in prompts[:_MAX_PROMPTS]:
        peer.clear_evidence()
        answer = peer.request("prompts/get", _sample_get(prompt))
        what = f"prompts/get of {show_name(prompt)}"
        if outcome := judge_silence(peer, what, answer):
            return outcome
        is_refused = answer.error is not None and answer.code != MISSING_CAPABILITY
        if is_refused and not argument_names(prompt):
            return violated(
                f"{what}, which has no arguments, got {answer.describe()}; expected its messages",
                level="SHOULD",
            )
        has_answer |= answer.result is not None
    if not has_answer:
        return not_applicable("every prompt was refused with made-up arguments")
    return PASSED


def _refuses_unknown_prompts(peer: Peer, run: Run) -> Outcome:
    if not peer.has("prompts"):
        return undeclared("prompts")
    answer = peer.request_or_silence(
        peer.message("prompts/get", {"name": run.unknown_name("prompt")})
    )
    if answer.code == INVALID_PARAMS:
        return PASSED
    return violated(
        f"prompts/get of a prompt that does not exist got {answer.describe()}; expected error "
        "-32602"
    )


def _refuses_missing_arguments(peer: Peer, run: Run) -> Outcome:
    prompts = require_entries(peer, "prompts")
    demanding = [prompt for prompt in prompts if argument_names(prompt, is_required=True)]
    for prompt in demanding[:_MAX_PROMPTS]:
        peer.clear_evidence()
        missing = argument_names(prompt, is_required=True)[0]
        params = _sample_get(prompt)
        del params["arguments"][missing]
        answer = peer.request("prompts/get", params)
        if answer.code != INVALID_PARAMS:
            return violated(
                f"prompts/get of {show_name(prompt)} without the required argument "
                f'"{excerpt(missing, 60)}" got {answer.describe()}; expected error -32602'
            )
    if not demanding:
        return not_applicable("no prompt has a required argument")
    return PASSED


def _survives_odd_arguments(peer: Peer, run: Run) -> Outcome:
    prompts = require_entries(peer, "prompts")
    named = [prompt for prompt in prompts if isinstance(prompt.get("name"), str)]
    # One with arguments, if there is any.
    prompt = next(filter(argument_names, named), named[0] if named else None)
    if prompt is None:
        return could_not_run("no listed prompt has a name")
    good = _sample_get(prompt)["arguments"]
    odd: list[tuple[str, object]] = [
        ("an argument that it does not have", {**good, run.unknown_name("argument"): "x"}),
        ("an array as its arguments", ["mcptest"]),
    ]
    odd += [
        (f'7 as "{excerpt(name, 60)}"', {**good, name: 7}) for name in argument_names(prompt)[:3]
    ]
    for how, arguments in odd:
        peer.clear_evidence()
        params = {"name": prompt["name"], "arguments": arguments}
        message = peer.message("prompts/get", params)
        answer = peer.request_or_silence(message, is_judged=False)
        # Params that are not valid may be ignored, but later requests must be answered.
        if peer.is_lost or (answer.message is None and peer.settle().message is None):
            return violated(
                f"after prompts/get of {show_name(prompt)} with {how} the server "
                f"{peer.end_status if peer.is_lost else 'answers nothing any more'}"
            )
    return PASSED


def _sample_get(prompt: Message) -> Message:
    """The params of a request for a prompt, with its required arguments."""
    names = argument_names(prompt, is_required=True)
    arguments = {name: sample_string(name) for name in names}
    return {"name": prompt.get("name"), "arguments": arguments}


def argument_names(prompt: Message, *, is_required: bool = False) -> list[str]:
    """The names of the arguments of a prompt, or of those that are required."""
    arguments = prompt.get("arguments")
    found = (
        [each for each in arguments if isinstance(each, dict)]
        if isinstance(arguments, list)
        else []
    )
    if is_required:
        found = [each for each in found if each.get("required") is True]
    return list(names_of(found))


# Completion


class _Reference:
    """Something that a server lists and whose arguments can be completed."""

    def __init__(self, ref: Message, argument: str) -> None:
        self.ref = ref
        self.argument = argument

    def params(self, argument: str = "", **more: object) -> Message:
        named = {"name": argument or self.argument, "value": ""}
        return {"ref": self.ref, "argument": named, **more}

    def __str__(self) -> str:
        subject = excerpt(str(self.ref.get("name", self.ref.get("uri"))), 80)
        return f'{self.ref["type"]} {subject}, argument "{excerpt(self.argument, 60)}"'


def _references(peer: Peer) -> Iterator[_Reference]:
    """The arguments of prompts and the variables of resource templates."""
    for prompt in (peer.list_all("prompts") or [])[:_MAX_PROMPTS]:
        for name in argument_names(prompt)[:1]:
            yield _Reference({"type": "ref/prompt", "name": prompt.get("name")}, name)
    templates = peer.list_all("resourceTemplates") or []
    for template in list(names_of(templates, "uriTemplate"))[:_MAX_PROMPTS]:
        for name in re.findall(r"\{[+#./;?&]?([\w.%]+)", template)[:1]:
            yield _Reference({"type": "ref/resource", "uri": template}, name)


def _declares_completions(peer: Peer, run: Run) -> Outcome:
    known = next(_references(peer), None)
    unknown = _Reference({"type": "ref/prompt", "name": run.unknown_name("prompt")}, "mcptest")
    peer.clear_evidence()
    message = peer.message("completion/complete", (known or unknown).params())
    # What a server without completions answers is not a completion.
    answer = peer.request_or_silence(message, is_judged=peer.has("completions"))
    if peer.has("completions"):
        if answer.code != METHOD_NOT_FOUND:
            return PASSED
        return violated(
            "the server declares the capability completions and answered completion/complete with "
            f"{answer.describe()}, as if it had no such method"
        )
    if _values(answer):
        return violated(
            "the server does not declare the capability completions, and yet it answered "
            f"completion/complete with {answer.describe()}"
        )
    return PASSED


def _completes_only_what_exists(peer: Peer, run: Run) -> Outcome:
    if not _has_completion(peer):
        return _NO_COMPLETION
    probes = [
        ("a prompt", _Reference({"type": "ref/prompt", "name": run.unknown_name("prompt")}, "a")),
        (
            "a resource template",
            _Reference({"type": "ref/resource", "uri": f"{run.unknown_name('uri')}://{{a}}"}, "a"),
        ),
    ]
    argument = run.unknown_name("argument")
    probes += [(f"an argument of {each.ref['type']}", each) for each in _references(peer)][:3]
    for what, reference in probes:
        peer.clear_evidence()
        params = reference.params(argument if what.startswith("an argument") else "")
        answer = peer.request("completion/complete", params)
        if outcome := judge_silence(peer, f"completion of {what} that does not exist", answer):
            return outcome
        if _values(answer):
            return violated(
                f"completion of {what} that does not exist got {answer.describe()}; expected error "
                "-32602 or no values"
            )
    return PASSED


def _completes_listed(peer: Peer, run: Run) -> Outcome:
    if not _has_completion(peer):
        return _NO_COMPLETION
    # The first refusal of each kind, unless another of its kind is answered.
    refused: dict[str, tuple[_Reference, Answer, list[str], list[str]]] = {}
    answered: set[str] = set()
    for reference in _references(peer):
        peer.clear_evidence()
        kind = reference.ref["type"]
        answer = peer.request("completion/complete", reference.params())
        if answer.result is not None:
            answered.add(kind)
        else:
            refused.setdefault(kind, (reference, answer, peer.sent, peer.received))
    for kind, (reference, answer, *evidence) in refused.items():
        if kind not in answered:
            peer.sent, peer.received = evidence
            return violated(
                f"completion of what the server itself lists ({reference}) got "
                f"{answer.describe()}; expected a list of values, which may be empty"
            )
    if not answered:
        return not_applicable("the server lists no prompt argument and no resource template")
    return PASSED


def _accepts_context(peer: Peer, run: Run) -> Outcome:
    if not _has_completion(peer):
        return _NO_COMPLETION
    context = {"arguments": {"mcptest": "example"}}
    has_compared = False
    for reference in list(_references(peer))[:3]:
        peer.clear_evidence()
        if peer.request("completion/complete", reference.params()).result is None:
            continue
        has_compared = True
        answer = peer.request("completion/complete", reference.params(context=context))
        if answer.result is None:
            return violated(
                f"completion ({reference}) is answered, but with the context {dump_json(context)} "
                f"it got {answer.describe()}"
            )
    if not has_compared:
        return not_applicable("no completion was answered that could be repeated with a context")
    return PASSED


_NO_COMPLETION = undeclared("completions")


def _has_completion(peer: Peer) -> bool:
    """True if completion can be expected; the first revision has no capability for it."""
    if peer.version >= "2025-03-26":
        return peer.has("completions")
    reference = next(_references(peer), None)
    return reference is not None and (
        peer.request("completion/complete", reference.params()).code != METHOD_NOT_FOUND
    )


def _values(answer: Answer) -> list[object]:
    completion = (answer.result or {}).get("completion")
    values = completion.get("values") if isinstance(completion, dict) else None
    return values if isinstance(values, list) else []


CHECKS = {
    "PROMPT-01 capability": Check(
        property="prompts are served if and only if the capability is declared",
        run=declares_truly("prompts"),
        section="server/prompts#Capabilities",
    ),
    "PROMPT-02 list-answered": Check(
        property="a server that declares prompts answers prompts/list with a list",
        run=answers_list("prompts"),
        explains=("PAGE-03",),
        must_since="2026-07-28",
        section="server/prompts#Listing Prompts",
        stateless_section="server/prompts#Capabilities",
    ),
    "PROMPT-04 get-shape": Check(
        property="prompts/get answers with messages that have a role and one block of content",
        run=_gets_prompts,
        section="server/prompts#Getting a Prompt",
    ),
    "PROMPT-08 unknown-name": Check(
        property="a prompt that does not exist gets the error -32602",
        run=_refuses_unknown_prompts,
        level="SHOULD",
        explains=("BASE-27",),
        section="server/prompts#Error Handling",
    ),
    "PROMPT-09 missing-argument": Check(
        property="prompts/get without a required argument gets the error -32602",
        run=_refuses_missing_arguments,
        level="SHOULD",
        explains=("BASE-27",),
        section="server/prompts#Error Handling",
    ),
    "PROMPT-10 inputs-validated": Check(
        property="wrong and unknown arguments of prompts do not break the server",
        run=_survives_odd_arguments,
        section="server/prompts#Security",
    ),
    "COMP-01 capability": Check(
        property="completion is served if and only if the capability is declared",
        run=_declares_completions,
        since="2025-03-26",
        section="server/utilities/completion#Capabilities",
    ),
    "COMP-04 input-validated": Check(
        property="there are no completions for prompts, templates and arguments that do not exist",
        run=_completes_only_what_exists,
        section="server/utilities/completion#Security",
    ),
    "COMP-05 refs": Check(
        property="completion works for the prompts and resource templates that the server lists",
        run=_completes_listed,
        section="server/utilities/completion#Reference Types",
    ),
    "COMP-07 context": Check(
        property="completion accepts the values of other arguments as context",
        run=_accepts_context,
        since="2025-06-18",
        section="server/utilities/completion#Requesting Completions",
    ),
}
