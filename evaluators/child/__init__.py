"""Scripts that run in the user's interpreter: standard library only, started by path, never imported."""
