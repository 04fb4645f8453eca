#!/bin/bash
# Succeeds if /readyz on this port of the loopback interface responds with 200: the health check of a container.
# bash alone, which every Debian image has: starting Node for each check takes fifty times the CPU time.
#
#   bash check-ready.sh 9090
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
read -r -t 5 _version status _reason <&3
[ "$status" = 200 ]
