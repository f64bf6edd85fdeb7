"""The page that shows all products of some projects, from the files that their runs write."""
