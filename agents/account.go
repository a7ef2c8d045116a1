package agents

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// account is the user that a child runs as. The zero value is the scheduler's own.
type account struct {
	drop     bool
	uid, gid uint32
	groups   []uint32
	home     string
}

// lookUpAccount finds an account by name or number; empty means the scheduler's.
func lookUpAccount(name string) (account, error) {
	if name == "" {
		return account{}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if byID, idErr := user.LookupId(name); idErr == nil {
			u, err = byID, nil
		}
	}
	if err != nil {
		return account{}, &commandError{path: "user " + name, why: "no such account (agents[].user)", code: 126}
	}
	a := account{home: u.HomeDir}
	if a.uid, err = id(u.Uid); err != nil {
		return account{}, err
	}
	if a.gid, err = id(u.Gid); err != nil {
		return account{}, err
	}
	if os.Geteuid() != 0 && int(a.uid) == os.Geteuid() {
		return a, nil // already that account, and only root may set groups
	}
	a.drop = true
	ids, err := u.GroupIds()
	if err != nil {
		return account{}, fmt.Errorf("groups of user %s: %w", name, err)
	}
	for _, s := range ids {
		g, err := id(s)
		if err != nil {
			return account{}, err
		}
		a.groups = append(a.groups, g)
	}
	return a, nil
}

func id(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("account number %q: %w", s, err)
	}
	return uint32(n), nil
}
