"""Authentication and authorization: tokens, certificates, scopes and the operator's lists."""
