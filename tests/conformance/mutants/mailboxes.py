"""Servers with a defective mailbox."""

from __future__ import annotations

from envwire.conformance.proxy import Behaviour
from envwire.v1 import direct_pb2
from tests.conformance.mutants.mailbox_port import BOX_BYTES, Mailboxed
from tests.conformance.mutants.mutant import caught_by


@caught_by("mailbox.there-is-none-over-tcp[direct]")
class MailboxIsOfferedOverTcp(Behaviour):
    def greet(self, answer: direct_pb2.HelloResponse) -> direct_pb2.HelloResponse:
        if answer.HasField("welcome"):
            answer.welcome.mailbox.box_bytes = BOX_BYTES
        return answer


@caught_by("mailbox.who-does-not-ask-gets-none[direct]")
class MailboxIsOfferedToAll(Mailboxed):
    offers_unasked = True


@caught_by("mailbox.the-memory-keeps-its-size[direct]")
class MailboxIsNotSealed(Mailboxed):
    seals = False


@caught_by("mailbox.each-channel-has-its-own[direct]")
class AllChannelsHaveOneMailbox(Mailboxed):
    keeps_memory = True


@caught_by("mailbox.a-client-that-sleeps-is-answered-on-the-socket[direct]")
class AnswersSleepersInTheBox(Mailboxed):
    minds_sleepers = False


@caught_by("mailbox_wakes.a-client-that-falls-asleep-in-a-long-step-is-woken[direct]")
class WakesNoClient(Mailboxed):
    wakes = False


@caught_by("mailbox_wakes.no-request-is-lost-as-the-server-falls-asleep[direct]")
class SleepsWithoutAnotherLook(Mailboxed):
    looks_again = False


@caught_by("mailbox_wakes.a-wake-is-not-answered/one[direct]")
class WakesAreRequests(Mailboxed):
    ignores_wakes = False


@caught_by("mailbox_wakes.half-a-wake-disturbs-no-request-in-the-box/asleep[direct]")
class HalfAWakeIsReadWithTheBox(Mailboxed):
    keeps_apart = False


@caught_by("mailbox_requests.a-frame-that-may-not-be-ends-the-channel/one-too-long[direct]")
class RequestsInTheBoxAreNotBounded(Mailboxed):
    bounds_requests = False


@caught_by("mailbox_requests.a-frame-that-may-not-be-ends-the-channel/empty[direct]")
class EmptyRequestsInTheBoxArePassedOver(Mailboxed):
    refuses_empty = False


@caught_by("mailbox.an-answer-too-long-for-the-box-comes-on-the-socket/too-long[direct]")
class AnswersInTheBoxAreCutOff(Mailboxed):
    bounds_answers = False


@caught_by("mailbox.answers-come-into-the-box[direct]")
class AnswersAreCountedTwice(Mailboxed):
    adds = 2
