"""Which environments are continuous integration: where no one reviews what a run accepts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CI_VARIABLES", "ci_variable"]

# Most systems set CI; those that do not, and those whose users unset it, are known by their own.
CI_VARIABLES = (
    "CI",
    "CONTINUOUS_INTEGRATION",
    "APPVEYOR",
    "BITBUCKET_BUILD_NUMBER",
    "BUILDKITE",
    "CIRCLECI",
    "CIRRUS_CI",
    "CODEBUILD_BUILD_ID",
    "DRONE",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "GO_PIPELINE_NAME",
    "JENKINS_URL",
    "PROW_JOB_ID",
    "SEMAPHORE",
    "TEAMCITY_VERSION",
    "TF_BUILD",
    "TRAVIS",
    "bamboo_buildKey",
)

# Values that people write to say that a variable is not set.
_UNSET = frozenset(["", "0", "false", "no", "off"])


def ci_variable(environment: Mapping[str, str]) -> str:
    """The variable by which this environment is recognised as CI, or ""."""
    for name in CI_VARIABLES:
        if environment.get(name, "").strip().lower() not in _UNSET:
            return name
    return ""
