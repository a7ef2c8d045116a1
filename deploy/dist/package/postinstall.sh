#!/bin/sh
# deb: configure [OLD VERSION]; rpm: 1 (first) or 2 (upgrade).
set -e
if ! getent passwd bellhop >/dev/null 2>&1; then
	if command -v systemd-sysusers >/dev/null 2>&1; then
		systemd-sysusers /usr/lib/sysusers.d/bellhop.conf
	elif command -v useradd >/dev/null 2>&1; then
		useradd --system --user-group --home-dir /var/lib/bellhop --no-create-home --shell /usr/sbin/nologin bellhop
	else
		echo "bellhop: this system can make no accounts: make one called bellhop" >&2
	fi
fi
[ -d /var/lib/bellhop ] || install -d -m 0700 -o bellhop -g bellhop /var/lib/bellhop || true
running() { [ -d /run/systemd/system ]; }
if running; then systemctl daemon-reload || true; fi
case "$1:$2" in
configure:?* | 2:*)
	# A restart would end jobs, and the service where the schema is not migrated yet. The running program does better.
	if running && systemctl is-active --quiet bellhop; then
		echo "bellhop: upgraded. The service is not restarted: it finishes its jobs, and goes on as the new program."
		echo "  If the new program needs a newer schema, the old one goes on until you type: bellhop migrate"
	else
		echo "bellhop: upgraded; configuration and data are as they were. Next: bellhop migrate --plan, then"
		echo "  bellhop migrate && systemctl enable --now bellhop"
	fi
	;;
configure: | 1:*)
	echo "bellhop: installed, not started. Next: put DATABASE_URL=… into /etc/bellhop/environment, then"
	echo "  bellhop migrate && systemctl enable --now bellhop"
	;;
esac
