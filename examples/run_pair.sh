#!/bin/sh
# Starts tag_pingpong twice, as two unrelated processes, and ends with 0 when both did: run_pair.sh PATH/TO/tag_pingpong
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$1" "$folder/server.addr" &
server=$!
"$1" --connect "$folder/server.addr"
client_status=$?
[ $client_status -eq 0 ] || kill $server 2>/dev/null
wait $server
server_status=$?
echo "server ended with $server_status, client with $client_status"
[ $server_status -eq 0 ] && [ $client_status -eq 0 ]
