#!/bin/bash
# exit 1 = nothing new
grep -q "ERROR" /var/log/myapp.log 2>/dev/null || exit 1
echo '{"wakeAgent": true}'
