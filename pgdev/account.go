//go:build unix

package pgdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the account that runs the server. PostgreSQL refuses to run as root, so root lends it another account;
// other users run it themselves.
type account struct {
	name     string
	uid, gid int
	lent     bool // not ourselves: drop to it
}

// accountFor gives the account for the cluster in data: its owner if it exists. Otherwise root takes the first of
// the two unprivileged system accounts that exists.
func accountFor(data string) (account, error) {
	self := os.Geteuid()
	info, err := os.Stat(data)
	switch {
	case err == nil:
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) == self && self != 0 {
			break
		}
		a := account{name: strconv.Itoa(int(owner.Uid)), uid: int(owner.Uid), gid: int(owner.Gid), lent: true}
		if u, err := user.LookupId(a.name); err == nil {
			a.name = u.Username
		}
		if self != 0 {
			return account{}, fmt.Errorf("%s belongs to the user %s: run bellhop as that user or as root, or choose another folder with --data-dir", data, a.name)
		}
		if a.uid != 0 {
			return a, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return account{}, fmt.Errorf("look at the cluster's folder: %w", err)
	}
	if self != 0 {
		return account{name: strconv.Itoa(self), uid: self, gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil || uid == 0 {
			continue
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			continue
		}
		return account{name: name, uid: uid, gid: gid, lent: true}, nil
	}
	return account{}, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody to run it: type `useradd --system postgres`, or run bellhop as an ordinary user")
}

// command is a program of PostgreSQL's, run by the account in a session of its
// own (so that Ctrl-C in the terminal does not reach it), with dir as its
// folder and nothing of the caller's environment that could lead it astray.
func (a account) command(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C"}
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.lent {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return cmd
}

// own makes path the account's.
func (a account) own(path string) error {
	if !a.lent {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// canEnter says whether the account may pass through every folder down to dir.
// The error names the first one that it may not.
func (a account) canEnter(dir string) error {
	if !a.lent {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := a.canEnter(parent); err != nil {
			return err
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	may := info.Mode().Perm()&0o001 != 0
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case int(owner.Uid) == a.uid:
			may = info.Mode().Perm()&0o100 != 0
		case int(owner.Gid) == a.gid:
			may = info.Mode().Perm()&0o010 != 0
		}
	}
	if !may {
		return fmt.Errorf("the folder %s may not be entered by the user %s, which runs PostgreSQL (it refuses to run as root): type `chmod o+x %s`, or choose a place outside of it", dir, a.name, dir)
	}
	return nil
}
