package containers

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"

	"bellhop/e2e/containers/standin"
)

// remote starts another host, which is reached by ssh with keys that were made
// for it, as the stack's are. It gives what a scheduler has to mount.
func (b *bed) remote() (big1 *node, mounts []string) {
	b.t.Helper()
	mine, its := folder(b.t), folder(b.t)
	compose := filepath.Join(standin.Root(), "compose")
	keys := b.start(&dockertest.RunOptions{
		User:       "0",
		Entrypoint: []string{"sh", "/keys.sh"},
		Mounts:     []string{filepath.Join(compose, "keys.sh") + ":/keys.sh:ro", mine + ":/bellhop", its + ":/host"},
	}, bellhopImage, "keys")
	code, err := b.pool.Client.WaitContainer(keys.resource.Container.ID)
	if err != nil || code != 0 {
		b.t.Fatalf("no keys: %d, %v\n%s", code, err, keys.said())
	}
	b.agent()
	big1 = b.start(&dockertest.RunOptions{Mounts: []string{its + ":/keys:ro", b.dir + ":/shared"}}, hostImage, "big1")
	big1.connect()
	big1.leave("bridge")
	return big1, []string{mine + ":/keys:ro", filepath.Join(compose, "ssh_config") + ":/etc/bellhop/ssh_config:ro"}
}

// onlyThere is a configuration whose work is done on the other host.
const onlyThere = "hosts:\n  - {name: big1, slots: 3, connect: [ssh, -F, /etc/bellhop/ssh_config, big1]}\n" + work

func (b *bed) waitHost(name, state string) {
	b.t.Helper()
	b.eventually("host "+name+" is "+state, func() bool {
		var is bool
		err := b.query.QueryRow(b.t.Context(), "select coalesce(bool_or(h.state = $2), false) from bellhop.host h join bellhop.instance i on i.id = h.instance where h.name = $1 and i.state = 'live'", name, state).Scan(&is)
		if err != nil {
			b.t.Fatal(err)
		}
		return is
	})
}

// A host that is reached by ssh is gone with all that runs there, or nobody can
// tell: then what runs there ends by itself, and only then is it begun anew.
func TestHost_Lost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose, mend func(*node)
		dead       time.Duration // what is promised
	}{
		"killed":  {(*node).kill, (*node).boot, 0},
		"cut off": {(*node).cut, (*node).connect, 8 * time.Second}, // the lease of the line
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			big1, mounts := b.remote()
			b.scheduler("one", onlyThere, mounts...)
			b.submit(3, "hold")
			b.waitBegun("big1", 3)
			test.lose(big1)
			b.within("the agents there are dead", b.waitDead(), test.dead)
			b.waitHost("big1", "down")
			began := time.Now()
			test.mend(big1)
			b.waitBegun("big1", 6)
			b.within("the jobs run there again", time.Since(began), 30*time.Second) // the longest pause between two attempts
			b.letGo()
			b.waitAll(3)
			b.waitHost("big1", "up")
		})
	}
}

// With the scheduler dies what it runs on other hosts, when it cannot say so too.
func TestHost_OutlivesNoScheduler(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*node){"killed": (*node).kill, "cut off": (*node).cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, mounts := b.remote()
			one := b.scheduler("one", onlyThere, mounts...)
			b.submit(3, "hold")
			b.waitBegun("big1", 3)
			lose(one)
			b.within("the agents there are dead", b.waitDead(), 8*time.Second)
			b.scheduler("two", onlyThere, mounts...)
			b.waitBegun("big1", 6)
			b.letGo()
			b.waitAll(3)
		})
	}
}
