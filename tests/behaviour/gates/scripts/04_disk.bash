#!/usr/bin/env bash
used=$(df --output=pcent / | tail -1 | tr -dc '0-9')
if [ "$used" -gt 101 ]; then
  printf '{"wakeAgent": true, "data": "The disk is %s%% full"}\n' "$used"
else
  printf '{"wakeAgent": false}\n'
fi
