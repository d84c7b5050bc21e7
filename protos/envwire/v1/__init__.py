"""The wire contract: messages and service generated from the .proto files beside this one."""
