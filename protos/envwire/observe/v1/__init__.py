"""The contract of observation: messages and service generated from the .proto file beside this one."""
