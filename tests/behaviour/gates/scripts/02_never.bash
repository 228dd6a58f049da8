#!/bin/bash
# nothing to do today
echo '{"wakeAgent": false}'
