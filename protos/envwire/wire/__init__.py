"""Bytes on the wire: frames, attachments and protobuf's smallest parts. No I/O happens here."""
