"""`homing chat`: a conversation in the terminal, with whatever the schedule brings into it meanwhile."""
