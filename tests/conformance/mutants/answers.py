"""Servers whose answers differ from the results of the environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from envwire.conformance.proxy import Behaviour, Upstream
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2, values_pb2
from envwire.v1.values_pb2 import Value
from tests.conformance.mutants.mutant import ERROR_INFO, caught_by


class Rewriting(Behaviour):
    """Changes answers."""

    def serve(self, request: pb.InteractRequest, upstream: Upstream) -> pb.InteractResponse:
        response = upstream.forward(request)
        kind = response.WhichOneof("response") or ""
        if change := getattr(self, kind, None):
            change(getattr(response, kind))
        return response


def observed(rewrite: Callable[[Value], None]) -> Callable[[Any, Any], None]:
    """Returns a method that changes the observation of an answer."""

    def change(_self: Any, answer: Any) -> None:
        rewrite(answer.observation)

    return change


def _float32(value: Value) -> None:
    if value.array.data_type == values_pb2.DATA_TYPE_FLOAT64:
        value.array.data_type = values_pb2.DATA_TYPE_FLOAT32
        value.array.data = bytes(len(value.array.data) // 2)


def _int32(value: Value) -> None:
    if value.array.data_type == values_pb2.DATA_TYPE_INT64:
        value.array.data = b"".join(
            value.array.data[start : start + 4] for start in range(0, len(value.array.data), 8)
        )
        value.array.data_type = values_pb2.DATA_TYPE_INT32


def _plain(value: Value) -> None:
    if value.HasField("scalar"):
        value.float_value = 1.5


def _list(value: Value) -> None:
    if value.HasField("tuple"):
        value.list.CopyFrom(value.tuple)


def _sorted(value: Value) -> None:
    entries = sorted(value.dict.entries, key=lambda entry: entry.name)
    if entries:
        del value.dict.entries[:]
        value.dict.entries.extend(entries)


def _cut(value: Value) -> None:
    if value.HasField("big_int_value"):
        value.int_value = int.from_bytes(value.big_int_value[:7], "little", signed=True)


def _single(value: Value) -> None:
    if value.HasField("float_value"):
        value.float_value = 0.0 if abs(value.float_value) < 1e-38 else value.float_value


def _flat(value: Value) -> None:
    if len(value.array.shape) > 1:
        size = math.prod(value.array.shape)
        del value.array.shape[:]
        value.array.shape.append(size)


def _integer(value: Value) -> None:
    if value.HasField("bool_value"):
        value.int_value = int(value.bool_value)


def _decoded(value: Value) -> None:
    if value.HasField("bytes_value"):
        value.string_value = value.bytes_value.decode("latin1")


def _big_endian(value: Value) -> None:
    if value.array.data_type == values_pb2.DATA_TYPE_INT16:
        value.array.data = value.array.data[::-1]


#: What is done to observations, and the value that does not come back then.
OBSERVATIONS = {
    "float64": _float32,
    "int64": _int32,
    "scalar": _plain,
    "tuple": _list,
    "dict-order": _sorted,
    "big-int": _cut,
    "float-tiny": _single,
    "array-2d": _flat,
    "true": _integer,
    "bytes": _decoded,
    "array-no-axes": _big_endian,
}
_ARRAYS = {"float64", "int64"}
for _name, _rewrite in OBSERVATIONS.items():
    _group = "an-array" if _name in _ARRAYS else "a-value"
    caught_by(f"values.{_group}-comes-back-as-it-was-sent/{_name}[unary]")(
        type(f"Observation_{_name}", (Rewriting,), {"step": observed(_rewrite)})
    )


@caught_by(
    "steps.a-reward-of-another-type-is-kept/int[unary]",
    "steps.a-reward-of-another-type-is-kept/none[stream]",
)
class TypedRewardIsLeftOut(Rewriting):
    def step(self, answer: pb.StepResponse) -> None:
        answer.ClearField("typed_reward")


@caught_by("steps.a-reward-of-another-type-is-kept/none[unary]")
class RewardThatIsNoneIsZero(Rewriting):
    def step(self, answer: pb.StepResponse) -> None:
        answer.reward = 0.0 if math.isnan(answer.reward) else answer.reward


@caught_by("steps.an-episode-ends[unary]")
class EndIsTruncation(Rewriting):
    def step(self, answer: pb.StepResponse) -> None:
        answer.terminated, answer.truncated = answer.truncated, answer.terminated


@caught_by("steps.warnings-are-in-the-answer[unary]")
class WarningsAreLeftOut(Rewriting):
    def step(self, answer: pb.StepResponse) -> None:
        answer.ClearField("warnings")


@caught_by("steps.plain-results-are-not-typed[unary]")
class RewardIsAlwaysTyped(Rewriting):
    def step(self, answer: pb.StepResponse) -> None:
        answer.typed_reward.float_value = answer.reward


@caught_by("resets.options-reach-the-environment[unary]")
class InfoIsLeftOut(Rewriting):
    def reset(self, answer: pb.ResetResponse) -> None:
        answer.ClearField("info")


@caught_by("steps.a-frame-is-of-its-mode/rgb_array[unary]")
class FrameIsFlat(Rewriting):
    def render(self, answer: pb.RenderResponse) -> None:
        _flat(answer.frame)


@caught_by("makes.a-session-has-id-and-secret[unary]")
class SecretIsShort(Rewriting):
    def make(self, answer: pb.MakeResponse) -> None:
        answer.secret = answer.secret[:8]


@caught_by("makes.a-proxy-learns-all-it-shows[unary]")
class RewardRangeIsMissing(Rewriting):
    def make(self, answer: pb.MakeResponse) -> None:
        answer.ClearField("reward_range")


@caught_by("info.incarnation-is-that-of-make[unary]")
class IncarnationsDiffer(Rewriting):
    def make(self, answer: pb.MakeResponse) -> None:
        answer.incarnation = "another"


@caught_by("spaces.a-space-in-two-places-is-one[unary]")
class SharedSpaceIsCopied(Rewriting):
    def make(self, answer: pb.MakeResponse) -> None:
        for entry in answer.observation_space.dict.entries:
            spaces = entry.space.tuple.spaces
            if len(spaces) == 2:
                spaces[1].CopyFrom(spaces[0])


@caught_by("spaces.a-space-is-described/discrete[unary]")
class StartIsMissing(Rewriting):
    def make(self, answer: pb.MakeResponse) -> None:
        for entry in answer.observation_space.dict.entries:
            entry.space.discrete.ClearField("start") if entry.space.HasField("discrete") else None


class ErrorRewriting(Rewriting):
    """Changes the ErrorInfo of errors."""

    def error(self, status: status_pb2.ErrorStatus) -> None:
        for detail in status.details:
            if detail.type_url == ERROR_INFO:
                info = status_pb2.ErrorInfo.FromString(detail.value)
                self.info(info)
                detail.value = info.SerializeToString()

    def info(self, info: status_pb2.ErrorInfo) -> None:
        raise NotImplementedError


@caught_by("errors.an-error-has-one-error-info[unary]")
class DomainIsMissing(ErrorRewriting):
    def info(self, info: status_pb2.ErrorInfo) -> None:
        info.domain = ""


@caught_by("sequence.a-gap-is-refused/far-ahead[unary]")
class ExpectedNumberIsMissing(ErrorRewriting):
    def info(self, info: status_pb2.ErrorInfo) -> None:
        info.metadata.clear()


@caught_by("errors.a-crash-ends-one-session[unary]")
class CrashIsAnExpiry(ErrorRewriting):
    def info(self, info: status_pb2.ErrorInfo) -> None:
        info.reason = info.reason.replace("SESSION_LOST", "SESSION_EXPIRED")


@caught_by("errors.an-exception-travels/ValueError[unary]")
class ExceptionIsMissing(Rewriting):
    def error(self, status: status_pb2.ErrorStatus) -> None:
        kept = [one for one in status.details if not one.type_url.endswith("RemoteException")]
        del status.details[:]
        status.details.extend(kept)


@caught_by(
    "sequence.a-gap-is-refused/two-ahead[unary]", "errors.an-exception-travels/KeyError[stream]"
)
class EveryErrorIsInternal(Rewriting):
    def error(self, status: status_pb2.ErrorStatus) -> None:
        status.code = 13


@caught_by("steps.a-chunk-goes-on-in-another-request[unary]")
class ChunksOfNoSteps(Rewriting):
    """Answers chunks with nothing."""

    def step(self, answer: pb.StepResponse) -> None:
        del answer.steps[:]


@caught_by("vector_members.a-dictionary-in-infos-is-one-of-columns[unary]")
class DictionariesInOneColumn(Rewriting):
    """Leaves dictionaries in infos of vectors as objects."""

    def reset(self, answer: pb.ResetResponse) -> None:
        for entry in answer.info.entries:
            if entry.value.HasField("dict"):
                entry.value.object_array.shape.append(3)
