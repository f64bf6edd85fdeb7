"""Documents, streams and previews as DataFrames of a user's own session."""
