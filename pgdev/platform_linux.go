package pgdev

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// serves says whether pid is a live process of a PostgreSQL server whose data folder is data. A pid alone says
// nothing: after a crash it may be reused. A server works in its data folder.
func serves(pid int, data string) bool {
	name, dir, ok := describe(strconv.Itoa(pid))
	return ok && name == "postgres" && dir == data
}

// strays lists the processes that a crash of server or initdb left behind in h.
func strays(h home) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && isStray(pid, h) {
			list = append(list, pid)
		}
	}
	return list
}

// isStray says whether pid is PostgreSQL at work in h.
func isStray(pid int, h home) bool {
	name, dir, ok := describe(strconv.Itoa(pid))
	if !ok || dir != string(h) && dir != h.data() && dir != h.fresh() {
		return false
	}
	return name == "postgres" || name == "initdb" || name == "sh" && startsPostgres(pid)
}

// startsPostgres says whether a shell is one by which initdb starts a server: a moment later it is that server.
func startsPostgres(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil &&
		(bytes.Contains(line, []byte(`postgres" --boot`)) || bytes.Contains(line, []byte(`postgres" --single`)))
}

// describe gives a process's name and its working folder; false for one that
// is gone or only waits to be reaped.
func describe(pid string) (name, dir string, ok bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return "", "", false
	}
	// "123 (name) S …"; the name may hold blanks and brackets itself
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from || to+2 >= len(stat) || bytes.IndexByte([]byte("ZXx"), stat[to+2]) >= 0 {
		return "", "", false
	}
	dir, err = os.Readlink(filepath.Join("/proc", pid, "cwd"))
	if err != nil {
		return "", "", false
	}
	return string(stat[from+1 : to]), strings.TrimSuffix(dir, " (deleted)"), true
}

// pidSpace names the space in which this process's ids mean something:
// containers that share a folder do not see each other's processes.
func pidSpace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// dropSharedMemory removes the segment of a server that could not do so. It removes only an unused one with that
// key.
func dropSharedMemory(key, id int) {
	if key == 0 {
		return
	}
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err != nil || int(d.Perm.Key) != key || d.Nattch != 0 {
		return
	}
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // 56 bytes: not worth an error
}

// memoryFolder is a place in memory with room for a test's cluster, or "".
// There a database is made in a tenth of the time that it takes on some disks.
func memoryFolder() string {
	const dir, tmpfs, room = "/dev/shm", 0x01021994, 4 << 30
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Type != tmpfs || s.Bavail*uint64(s.Bsize) < room ||
		unix.Access(dir, unix.W_OK) != nil {
		return ""
	}
	return dir
}

// ownProgram is a path that leads to the running program even when its file
// was replaced or lies where another account may not go.
func ownProgram() (string, error) { return "/proc/self/exe", nil }
