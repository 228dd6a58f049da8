#!/usr/bin/env python3
import json, sys
given = json.load(sys.stdin)
count = (given.get("state") or {}).get("count", 0) + 1
print(json.dumps({"wakeAgent": count % 3 == 0, "data": f"checked {count} times", "state": {"count": count}}))
