"""Makes: admission, queue, request ids, and the answer."""
