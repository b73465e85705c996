"""One file a stage; each is a function from one record of a proposal to the next."""
