#!/bin/bash
set -euo pipefail
day=$(date +%u)
if [ "$day" -le 7 ]; then
  echo "Today is day $day" >&2
  echo "{\"wakeAgent\": true, \"data\": {\"weekday\": $day}}"
else
  echo '{"wakeAgent": false}'
fi
