"""`homing doctor`: looks at everything that commonly goes wrong, and says how to fix what did."""
