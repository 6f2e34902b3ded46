#!/bin/sh
# Draws the secrets that compose.yaml mounts, once; an existing file is kept, so that it can be run again.
# The directory is private. The files are not: a container's user, who is none of this machine's, must read them.
set -eu

directory="${1:-$(dirname "$0")/secrets}"
mkdir -p "$directory"
chmod 0700 "$directory"

random() {
    python3 -c 'import secrets; print(secrets.token_urlsafe(48), end="")'
}

keep() {
    if [ -e "$directory/$1" ]; then
        echo "kept $directory/$1"
    else
        (umask 0222 && printf '%s' "$2" > "$directory/$1")
        echo "made $directory/$1"
    fi
}

keep secret_key "$(random)"
keep postgres_password "$(random)"
keep valkey_password "$(random)"
keep database_url "postgresql://envfactory:$(cat "$directory/postgres_password")@postgres:5432/envfactory"
keep redis_url "redis://:$(cat "$directory/valkey_password")@valkey:6379"
