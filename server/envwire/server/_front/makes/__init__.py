"""Makes: admitted or refused, queued, counted, made once, and answered."""
