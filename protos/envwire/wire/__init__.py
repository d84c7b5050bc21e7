"""Bytes on the wire: frames, attachments, envelopes and protobuf varints. No I/O.

Two forms carry the same messages. Over gRPC, a message is an InteractRequest or an InteractResponse. On a direct
channel it is in a frame, and large arrays may be behind it as attachments, which are sent from where they are and read
in place: copying an array through a message costs ten times as much as sending it.

`envelope` reads the kind of a request and its session header without parsing the rest. A relay needs no more than that,
and may not be held up by what a message contains. `local_channel` is what two ends on one machine share: a mailbox for
small frames and the decision when to poll. `encodings` compresses attachments on slow paths.

Whoever reads here reads bytes of a stranger: each length is checked against a limit before it is used.
"""
