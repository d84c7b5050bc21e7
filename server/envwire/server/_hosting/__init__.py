"""What is hosted: the libraries, making environments, vector and multi-agent environments."""
