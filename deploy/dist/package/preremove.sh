#!/bin/sh
# deb: remove, or upgrade; rpm: 0 (removed) or 1 (upgraded).
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then systemctl disable --now bellhop || true; fi
	;;
esac
