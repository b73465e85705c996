"""Tables of `evolve.toml` that describe a part of their own; `evolve.config` puts them together."""
