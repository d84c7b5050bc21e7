"""Who a client is and what it may ask for: tokens, certificates, scopes and the operator's lists."""
