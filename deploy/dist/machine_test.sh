# Runs a command as the first process of a system in the folder $1, in the namespaces that unshare made.
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
shift
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then # systemd gets a hierarchy of its own where the old ones are
	mount -t tmpfs tmpfs sys/fs/cgroup
	mkdir sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
export container=test
exec chroot . "$@"
