"""What a run does when something went wrong, or is made again beside what runs."""
