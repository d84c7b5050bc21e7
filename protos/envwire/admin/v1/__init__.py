"""The contract of administration: messages and service generated from the .proto file beside this one."""
