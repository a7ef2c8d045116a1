#!/bin/sh
# deb: remove, purge, or upgrade; rpm: 0 (removed) or 1 (upgraded).
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
case "$1" in
remove | purge | 0)
	echo "bellhop: removed. Kept: the database with its schema bellhop, /var/lib/bellhop, and the account bellhop"
	;;
esac
