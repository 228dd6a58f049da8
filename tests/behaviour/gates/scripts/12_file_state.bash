#!/bin/bash
# remember what we saw last time
LAST=$(cat ~/.last_seen 2>/dev/null || echo none)
NOW="2026-11-17"
echo "$NOW" > ~/.last_seen
if [ "$LAST" != "$NOW" ]; then
  echo "{\"wakeAgent\": true, \"data\": \"last seen: $LAST\"}"
else
  echo '{"wakeAgent": false}'
fi
