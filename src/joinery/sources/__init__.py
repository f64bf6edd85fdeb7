"""What a user is warned of in the sources of a project, before and while they are read."""
