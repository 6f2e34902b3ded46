"""Sources, environments, jobs, people: everything that the other apps stand on."""
