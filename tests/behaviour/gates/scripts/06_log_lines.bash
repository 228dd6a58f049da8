#!/bin/bash
echo "Checking..."
echo "Found 3 new items"
echo "Done."
echo '{"wakeAgent": true, "data": ["a", "b", "c"]}'
