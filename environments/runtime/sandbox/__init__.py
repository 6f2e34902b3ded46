"""The locked worker process in which a pack's code runs, and its pool on the host's side.

Callers use `pool.WorkerPool`; `report.sandbox_report` tells what the lock has here.
Host side: `pool`, `runner`, `episodes`, `host`, `attestation`, `endings`, `policy`, `report`. Worker side: `worker`,
`boot`, `serve`, `zygote`, `lockdown`, `bpf`, `selftest`. Both: `frames`, `limits`, `errors`, `layers`, `syscalls`.
Nothing is imported here: a worker must not load the host's half.
"""
