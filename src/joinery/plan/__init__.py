"""What must hold: the logical plan, built, verified and explained."""
