"""`homing cron …`: a job's whole life by words."""
