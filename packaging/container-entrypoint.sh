#!/bin/sh
# Starts Aethon in a container. At the first start it makes the token that the pages ask for.
#
# The server takes the place of this script, so it is process 1: it collects orphans and gets the signals.
set -eu

case "${1:-}" in
    aethon-*) exec "$@" ;;
esac

token=${AETHON_HOME:-/data}/credentials/dashboard-token
# shellcheck disable=SC2016 # the reference itself, which the configuration resolves
if [ "${AETHON_DASHBOARD__AUTH_TOKEN:-}" = '${credential:dashboard-token}' ] && [ ! -s "$token" ]; then
    head -c 32 /dev/urandom | od -A n -t x1 | tr -d ' \n' | aethon-cli secrets set dashboard-token > /dev/null
    echo "container-entrypoint: made the token for the pages; it is in $token" >&2
fi
exec aethon-server "$@"
