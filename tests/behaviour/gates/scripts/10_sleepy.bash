#!/bin/bash
# wait for the nightly build to finish
while [ ! -f /workspace/build.done ]; do
  sleep 5
done
echo '{"wakeAgent": true}'
