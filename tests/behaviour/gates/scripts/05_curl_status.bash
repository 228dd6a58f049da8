#!/bin/bash
# is the site up?
code=$(curl -s -o /dev/null -w '%{http_code}' --max-time 5 https://status.example.org/health)
if [ "$code" != "200" ]; then
  echo "{\"wakeAgent\": true, \"data\": {\"status\": \"$code\"}}"
else
  echo '{"wakeAgent": false}'
fi
