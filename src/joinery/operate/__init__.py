"""What operators ask of runs, by a command or on the page."""
