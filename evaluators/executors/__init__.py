"""Where evaluations run: on this machine (`local`), or on the nodes of a Ray cluster (`ray`)."""
