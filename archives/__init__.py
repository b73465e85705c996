"""What a campaign remembers: journal, Git store, checkouts, archive, lineage. No network, no model."""
