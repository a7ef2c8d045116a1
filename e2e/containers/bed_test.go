package containers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"bellhop/pgdev/pgtest"
)

// patience is for what takes seconds on a machine with nothing else to do.
const patience = 90 * time.Second

// lag and beat are those of every instance here. Nobody else may be given what
// an instance runs before its lag is over.
const lag, beat = 6 * time.Second, 500 * time.Millisecond

// bed is a network of the test's own, a database in it, and a folder that all
// containers of the test share.
type bed struct {
	t     *testing.T
	pool  *dockertest.Pool
	net   *dockertest.Network
	db    *node
	dir   string
	url   string // of the database as this machine reaches it
	query *pgxpool.Pool
}

func setup(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, pool: engine(t), dir: folder(t)}
	var err error
	name := fmt.Sprintf("bellhop-test-%s-%s", me, strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")))
	if b.net, err = b.pool.CreateNetwork(name, func(o *docker.CreateNetworkOptions) {
		o.Labels = map[string]string{label: me}
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.pool.RemoveNetwork(b.net) }) // sweep tries again
	port := freePort(t)
	b.url = fmt.Sprintf("postgres://bellhop:play@127.0.0.1:%d/bellhop?connect_timeout=3", port)
	// This machine reaches it through the default network, the others by the
	// test's: it can be looked at while it is cut off from them.
	b.db = b.start(&dockertest.RunOptions{
		Env:          []string{"POSTGRES_USER=bellhop", "POSTGRES_PASSWORD=play", "POSTGRES_DB=bellhop"},
		ExposedPorts: []string{"5432/tcp"},
		PortBindings: map[docker.Port][]docker.PortBinding{"5432/tcp": {{HostIP: "127.0.0.1", HostPort: fmt.Sprint(port)}}},
	}, postgresImage, "db")
	b.db.connect()
	config, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	config.MinConns = 0
	if b.query, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.query.Close)
	b.waitDatabase()
	migrate := exec.Command(filepath.Join(programs, "bellhop"), "migrate")
	migrate.Env = append(os.Environ(), "DATABASE_URL="+b.url)
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	return b
}

func (b *bed) waitDatabase() {
	b.t.Helper()
	b.eventually("the database answers", func() bool {
		ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Second)
		defer cancel()
		return b.query.Ping(ctx) == nil
	})
}

func (b *bed) eventually(reason string, ok func() bool) {
	b.t.Helper()
	pgtest.Eventually(b.t, patience, reason, ok)
}

// node is one container.
type node struct {
	b        *bed
	alias    string
	resource *dockertest.Resource
}

// start starts a container. The others of the test know it by this name from
// when it is connected.
func (b *bed) start(o *dockertest.RunOptions, of image, alias string) *node {
	b.t.Helper()
	name := of.name(b.t)
	o.Repository, o.Tag, _ = strings.Cut(name, ":")
	o.Hostname = alias
	o.Labels = map[string]string{label: me}
	r, err := b.pool.RunWithOptions(o, func(h *docker.HostConfig) { h.Init = true })
	if err != nil {
		b.t.Fatal(err)
	}
	n := &node{b, alias, r}
	b.t.Cleanup(func() {
		if b.t.Failed() {
			b.t.Logf("%s said:\n%s", alias, n.said())
		}
		if err := b.pool.Purge(r); err != nil {
			b.t.Error(err)
		}
	})
	return n
}

// said is what the container has written.
func (n *node) said() string {
	var text strings.Builder
	err := n.b.pool.Client.Logs(
		docker.LogsOptions{
			Container:    n.resource.Container.ID,
			OutputStream: &text,
			ErrorStream:  &text,
			Stdout:       true,
			Stderr:       true,
			Tail:         "200",
		},
	)
	if err != nil {
		return err.Error()
	}
	return text.String()
}

func (n *node) must(err error) {
	n.b.t.Helper()
	if err != nil {
		n.b.t.Fatalf("%s: %v", n.alias, err)
	}
}

// connect plugs it into the network of the test.
func (n *node) connect() {
	n.b.t.Helper()
	n.must(
		n.b.pool.Client.ConnectNetwork(n.b.net.Network.ID, docker.NetworkConnectionOptions{Container: n.resource.Container.ID,
			EndpointConfig: &docker.EndpointConfig{Aliases: []string{n.alias}}}))
}

// cut unplugs it: nothing that it sends arrives anywhere, and nobody is told.
func (n *node) cut() { n.leave(n.b.net.Network.ID) }

func (n *node) leave(network string) {
	n.b.t.Helper()
	n.must(n.b.pool.Client.DisconnectNetwork(network,
		docker.NetworkConnectionOptions{Container: n.resource.Container.ID, Force: true}))
}

// kill is `docker kill`: everything in it is dead at once.
func (n *node) kill() {
	n.b.t.Helper()
	n.must(n.b.pool.Client.KillContainer(docker.KillContainerOptions{ID: n.resource.Container.ID, Signal: docker.SIGKILL}))
}

// boot starts it again after kill or stop, with its disk as it was.
func (n *node) boot() {
	n.b.t.Helper()
	n.must(n.b.pool.Client.StartContainer(n.resource.Container.ID, nil))
}

// stop is `docker stop` without its limit: SIGTERM, and all the time to end.
// (dockertest starts containers with another signal to stop them.)
func (n *node) stop() {
	n.b.t.Helper()
	id := n.resource.Container.ID
	n.must(n.b.pool.Client.KillContainer(docker.KillContainerOptions{ID: id, Signal: docker.SIGTERM}))
	ctx, cancel := context.WithTimeout(n.b.t.Context(), patience)
	defer cancel()
	code, err := n.b.pool.Client.WaitContainerWithContext(id, ctx)
	n.must(err)
	if code != 0 {
		n.b.t.Errorf("%s ended with %d:\n%s", n.alias, code, n.said())
	}
}

// scheduler starts a `bellhop serve` with this configuration, and waits until
// its instance is registered.
func (b *bed) scheduler(name, yaml string, mounts ...string) *node {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name+".yaml")
	yaml = fmt.Sprintf("instance: {name: %s, heartbeat: %s, lag: %s}\n", name, beat, lag) + yaml
	if err := os.WriteFile(path, []byte(yaml), 0o644); err != nil {
		b.t.Fatal(err)
	}
	n := b.start(&dockertest.RunOptions{
		Env:    []string{"DATABASE_URL=postgres://bellhop:play@db/bellhop"},
		Mounts: append(mounts, path+":/etc/bellhop.yaml:ro", b.dir+":/shared"),
		Cmd:    []string{"serve", "-c", "/etc/bellhop.yaml"},
		// From the start: it gives up when it does not find its database then.
		Networks: []*dockertest.Network{b.net},
	}, bellhopImage, name)
	b.waitLive(name)
	return n
}

// waitLive waits until an instance of that name lives, under an id that is not
// one of these.
func (b *bed) waitLive(name string, not ...int64) (id int64) {
	b.t.Helper()
	b.eventually(name+" is registered", func() bool {
		ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Second)
		defer cancel()
		return b.query.QueryRow(ctx, "select id from bellhop.instance where name = $1 and state = 'live' and not id = any ($2) order by id desc limit 1", name, append([]int64{}, not...)).Scan(&id) == nil
	})
	return id
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it was only asked for its number
	return l.Addr().(*net.TCPAddr).Port
}
