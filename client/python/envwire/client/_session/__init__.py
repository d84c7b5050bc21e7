"""One session as the client sees it: numbered requests, their answers, and what was recorded of them."""
