"""What people see of a campaign."""
