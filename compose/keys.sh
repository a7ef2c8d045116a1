#!/bin/sh
# Makes the keys by which bellhop and its other host know each other, once.
# /bellhop becomes bellhop's, /host the other host's: neither sees the other's
# secret. Both run as user 10001, and ssh wants its files to be its user's own.
set -eu
if [ ! -e /host/authorized_keys ]; then
	rm -f /bellhop/id /bellhop/id.pub /host/host_key /host/host_key.pub
	ssh-keygen -q -t ed25519 -N '' -C bellhop -f /bellhop/id
	ssh-keygen -q -t ed25519 -N '' -C big1 -f /host/host_key
	printf '[big1]:2222 %s\n' "$(cat /host/host_key.pub)" >/bellhop/known_hosts
	chmod 600 /bellhop/id /host/host_key
	chown -R 10001:10001 /bellhop /host
	chmod 700 /bellhop /host
	cp -p /bellhop/id.pub /host/authorized_keys # last: it says that all is there
fi
