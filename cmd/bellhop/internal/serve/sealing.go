package serve

import (
	"slices"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/instance"
	"bellhop/seal"
)

// readKeys reads the keys that open sealed jobs; nil: none are configured.
func readKeys(c config.Config) (*seal.Keys, error) {
	if c.Encryption.Keys == "" {
		return nil, nil
	}
	keys, err := seal.Read(c.Encryption.Keys)
	if err != nil {
		return nil, cli.Usage("serve", "encryption.keys: "+err.Error(), "bellhop key ls "+cli.ShellWord(c.Encryption.Keys))
	}
	return keys, nil
}

// opener opens lines with the keys of a configuration.
func opener(c config.Config) (*instance.Opener, *seal.Keys, error) {
	keys, err := readKeys(c)
	o := &instance.Opener{}
	o.Take(keys)
	return o, keys, err
}

// takeKeys takes the keys of the configuration, and says which they are if they have changed.
func (i *Instance) takeKeys(keys *seal.Keys) string {
	i.opener.Take(keys)
	if ids := keys.IDs(); !slices.Equal(i.me.Load().Keys, ids) {
		me := *i.me.Load()
		me.Keys = ids
		i.me.Store(&me)
		if len(ids) == 0 {
			return "keys changed: there are none"
		}
		return "keys changed: " + strings.Join(ids, ", ")
	}
	return ""
}
