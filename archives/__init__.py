"""What a campaign remembers: journal, Git store, checkouts, archive, lineage. Synchronous; no network, no model."""
