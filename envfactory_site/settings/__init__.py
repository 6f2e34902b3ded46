"""Settings: `local` for one machine, `production` behind a proxy, `test` for the suite; all extend `base`."""
