//go:build unix

package pgdev

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// home is the folder of a cluster; doc.go tells what lies in it.
type home string

func (h home) fresh() string  { return filepath.Join(string(h), "data.new") }
func (h home) socket() string { return filepath.Join(string(h), "socket") }
func (h home) log() string    { return filepath.Join(string(h), "log") }
func (h home) state() string  { return filepath.Join(string(h), "cluster.json") }

// data is the cluster itself. A user may have moved it to another disk and left a link: a running server names the
// folder that the link leads to.
func (h home) data() string {
	path := filepath.Join(string(h), "data")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// DefaultDir is where `serve` keeps its cluster when nothing else is said:
// /var/lib/bellhop for root, else $XDG_DATA_HOME/bellhop or
// ~/.local/share/bellhop.
func DefaultDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/bellhop"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) { // the standard says to ignore others
		return filepath.Join(dir, "bellhop")
	}
	if dir, err := os.UserHomeDir(); err == nil {
		return filepath.Join(dir, ".local", "share", "bellhop")
	}
	return filepath.Join(os.TempDir(), "bellhop-"+strconv.Itoa(os.Geteuid()))
}

// lookHome resolves dir, which must exist, to the path that the system tells of
// a server in it.
func lookHome(dir string) (home, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find the cluster's folder: %w", err)
	}
	return home(dir), nil
}

// openHome is lookHome, but makes dir and what is missing above it.
func openHome(dir string) (home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the cluster's folder: %w", err)
	}
	if err := makeFolders(dir); err != nil {
		return "", fmt.Errorf("make the cluster's folder: %w", err)
	}
	return lookHome(dir)
}

// makeFolders is os.MkdirAll, except that what root makes can be passed
// through by the account that he lends, whatever the umask.
func makeFolders(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o755
	}
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeFolders(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	switch {
	case err == nil:
		return os.Chmod(dir, mode)
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// temporaryHome makes a folder that will be thrown away, in a place where the
// account may go; in memory, where that can be had and is allowed.
func temporaryHome(a account, memory bool) (home, error) {
	parents := []string{os.TempDir(), "/tmp"}
	if dir := memoryFolder(); memory && dir != "" {
		parents = []string{dir, os.TempDir(), "/tmp"}
	}
	dir, err := a.temporary(parents...)
	if err != nil {
		return "", err
	}
	if a.lent { // entered by the account, but ours: it cannot plant links in it
		if err := os.Chmod(dir, 0o711); err != nil {
			return "", fmt.Errorf("make the temporary folder: %w", err)
		}
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("find the temporary folder: %w", err)
	}
	return home(dir), nil
}

// temporary makes a folder, mode 0700, in the first of parents that the account
// may enter.
func (a account) temporary(parents ...string) (string, error) {
	var problem error
	for _, parent := range parents {
		if problem = a.canEnter(parent); problem != nil {
			continue
		}
		var dir string
		if dir, problem = os.MkdirTemp(parent, "bellhop-"); problem == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("make a temporary folder: %w", problem)
}

// state is what of a cluster outlives its server.
type state struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
	Sockets  string `json:"sockets"`   // the folder of the unix socket
	PIDSpace string `json:"pid_space"` // in which the server was started: process ids of another one say nothing here
}

// readState gives what is known of the cluster; a missing or broken file means
// nothing is, and Start makes up what it needs anew.
func (h home) readState() state {
	var s state
	text, err := os.ReadFile(h.state())
	if err != nil || json.Unmarshal(text, &s) != nil {
		return state{}
	}
	return s
}

func (h home) writeState(s state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write cluster.json: %w", err)
	}
	fresh := h.state() + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write cluster.json: %w", err)
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write cluster.json: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close(), os.Rename(fresh, h.state())); err != nil {
		return fmt.Errorf("write cluster.json: %w", err)
	}
	return nil
}

// newPassword needs no escaping in SQL, in a URL or in JSON.
func newPassword() string { return rand.Text() }

// longestSocket is the longest path of a unix socket that every system takes
// (Linux 107 bytes, macOS 103).
const longestSocket = 103

// fitsSocket says whether a server with its socket in dir can be named: the
// path must be short, and commas and blanks mean something in a URL's host
// and in unix_socket_directories.
func fitsSocket(dir string) bool {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+", r))
	}
	return len(dir)+len("/.s.PGSQL.65535.lock") <= longestSocket && strings.IndexFunc(dir, odd) < 0
}

// makeSockets makes an empty folder for the unix socket: a lock file that a
// dead server left there could name a process that lives.
func (h home) makeSockets(a account) (string, error) {
	dir := h.socket()
	if !fitsSocket(dir) {
		dir, err := a.temporary("/tmp")
		if err != nil {
			return "", err
		}
		if err := a.own(dir); err != nil {
			return "", fmt.Errorf("make the socket's folder: %w", err)
		}
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("clear the socket's folder: %w", err)
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), a.own(dir)); err != nil {
		return "", fmt.Errorf("make the socket's folder: %w", err)
	}
	return dir, nil
}

// dropSockets removes a socket folder that lies outside of h. Only what a
// server puts there is removed, since the path was read from a file.
func (h home) dropSockets(dir string) {
	if dir == "" || dir == h.socket() || !strings.HasPrefix(filepath.Base(dir), "bellhop-") {
		return
	}
	names, _ := filepath.Glob(filepath.Join(dir, ".s.PGSQL.*"))
	for _, name := range names {
		os.Remove(name)
	}
	os.Remove(dir)
}

// openLog opens the server's log for writing at its end, after putting a large
// one aside.
func (h home) openLog() (*os.File, error) {
	if info, err := os.Lstat(h.log()); err == nil && info.Size() > 16<<20 {
		if err := os.Rename(h.log(), h.log()+".1"); err != nil {
			return nil, fmt.Errorf("put the old log aside: %w", err)
		}
	}
	f, err := os.OpenFile(h.log(), os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	return f, nil
}
