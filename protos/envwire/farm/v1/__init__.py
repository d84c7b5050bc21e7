"""The farm's wire contract: messages and service generated from the .proto file beside this one."""
