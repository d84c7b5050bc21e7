"""Makes: admission, queue, request ids, the warm pool, and the answer."""
