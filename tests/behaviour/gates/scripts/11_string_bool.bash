#!/bin/bash
NEW=1
[ "$NEW" -gt 0 ] && WAKE="true" || WAKE="false"
echo "{\"wakeAgent\": \"$WAKE\"}"
