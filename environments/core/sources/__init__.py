"""What was fetched becomes operations: one reader for each kind of document, all with one result.

Fetching is in `environments.adapters.sources`; nothing here opens a file or a socket.
"""
