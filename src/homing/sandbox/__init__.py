"""Where programs that nobody vouches for run: a workspace, a read-only system, and the hosts on a list.

Comes in: a command and its workspace. Goes out: exit code and output, or `NoSandbox` with the sentence that helps.
Promises: the program sees nothing else of this machine, and none of its processes outlives the run. Knows no row.
"""
