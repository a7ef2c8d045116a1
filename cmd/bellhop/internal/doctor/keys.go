package doctor

import (
	"context"
	"fmt"
	"os"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/seal"
)

// checkKeyFile looks at the file with which the configuration opens sealed jobs.
func (d *doctor) checkKeyFile() {
	file := d.config.Encryption.Keys
	if file == "" {
		return
	}
	word := cli.ShellWord(file)
	at, err := os.Stat(file)
	if err == nil && at.Mode().Perm()&0o077 != 0 {
		d.note("keys", fmt.Sprintf("other accounts may read %s, which opens sealed jobs", file), "chmod 600 "+word)
	}
	keys, err := seal.Read(file)
	switch {
	case os.IsPermission(err):
		d.note("keys", "this account may not read "+file, "sudo bellhop doctor")
	case err != nil:
		d.mend("keys", err.Error(), "bellhop key new "+word)
	default:
		d.ok("keys", fmt.Sprintf("%s: %s", file, cli.Count(len(keys.IDs()), "key")))
	}
}

// checkSealed looks for jobs that wait for a key, and for instances that lack one.
func (d *doctor) checkSealed(ctx context.Context, s *cli.Session) error {
	keys, err := s.Keys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		mend := "add it to the file of encryption.keys there, then: bellhop reload"
		switch {
		case k.Jobs > 0 && k.Has == "":
			d.mend("sealed jobs", fmt.Sprintf("sealed with key %s, which no live instance has: %s",
				k.Key, cli.Count(int(k.Jobs), "waiting job")), mend)
		case k.Has != "" && k.Lacks != "":
			d.note("sealed jobs", fmt.Sprintf("instances with key %s: %s; without it: %s", k.Key, k.Has, k.Lacks), mend)
		}
	}
	return nil
}
