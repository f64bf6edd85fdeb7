"""Keys of subjects: kept, given to those who seal and open, destroyed for good."""
