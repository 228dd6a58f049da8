"""The front door: JSON API, live streams, and the page's built files.

Comes in: HTTP. Goes out: the operations' answers, or a problem that says what to do. Promises: nothing is decided here
that an operation decides; nobody gets in without proof; whatever comes in, no trace goes out.
"""
