"""Ways to make a candidate from a parent, one file each."""
