"""Bytes on the wire: frames, attachments, envelopes and protobuf varints. No I/O."""
