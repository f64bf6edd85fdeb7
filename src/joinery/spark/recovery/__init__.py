"""What a run does when something went wrong, or is made anew beside what runs."""
