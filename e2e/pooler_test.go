package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// pooler puts a PgBouncer that gives each transaction another session in front
// of a cluster, and gives the database's URL through it.
func pooler(t *testing.T, c *pgdev.Cluster) string {
	t.Helper()
	program, err := lookSbin("pgbouncer")
	if err != nil {
		t.Skip("NOT TESTED: poolers; type `apt-get install pgbouncer`")
	}
	server, err := url.Parse(c.TCPURL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := server.User.Password()
	dir, port := pgtest.Dir(t), freePort(t)
	conf := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = %s/log
`, server.Port(), server.User.Username(), password, port, dir)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, conf)
	if os.Geteuid() == 0 { // it refuses to run as root
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("pgbouncer said:\n%s", log)
		}
	})
	pooled := fmt.Sprintf("postgres://%s@127.0.0.1:%d%s?sslmode=disable", server.User.Username(), port, server.Path)
	probe := on(t, pooled)
	pgtest.Eventually(t, patience, "the pooler answers", func() bool { return probe.pool.Ping(t.Context()) == nil })
	return pooled
}

// TestPooler_ServeNeedsTheServerItself: the message says what to set; with
// that, an instance works beside a pooler that apps and people go through.
func TestPooler_ServeNeedsTheServerItself(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	through := pooler(t, c)
	worker := agents("type: a, command: [" + e.worker("agent", `echo "did $line"`) + "]")

	for _, database := range []string{
		fmt.Sprintf("database: {url: %q}\n", through),
		fmt.Sprintf("database: {url: %q, listen_url: %q}\n", c.TCPURL(), through),
		fmt.Sprintf("database: {url: %q, listen_url: %[1]q}\n", through),
	} {
		i := e.start(e.configuration(database + worker))
		if code := i.exit(); code != 2 {
			t.Errorf("exit code %d of %s", code, database)
		}
		has(t, i.said(), "through a pooler", "set database.listen_url to the server itself")
	}
	if r := e.runIn([]string{"DATABASE_URL=" + through}, "migrate"); r.code != 2 || !strings.Contains(r.stderr, "through a pooler") {
		t.Errorf("migrate: %+v", r)
	}

	e.serve(
		fmt.Sprintf("database: {url: %q, listen_url: %q}\n", through, c.TCPURL()) + worker).waitSaid("through a pooler")
	for database, says := range map[string]string{
		fmt.Sprintf("{url: %q}", through):                             "database.url leads through a pooler",
		fmt.Sprintf("{url: %q, listen_url: %q}", c.TCPURL(), through): "database.listen_url leads through a pooler",
		fmt.Sprintf("{url: %q, msq_url: %q}", c.TCPURL(), through):    "it leads through a pooler",
		fmt.Sprintf("{url: %q, listen_url: %q}", through, c.TCPURL()): "bellhop serve makes its connections to database.listen_url",
	} {
		has(t, e.runIn(nil, "doctor", "-c", e.file("doctor.yaml", "database: "+database+"\n", 0o600)).stdout, says)
	}
	p := on(t, through)
	for n := range 5 { // each command, and each statement, in another session
		out := p.ok("submit", "a", fmt.Sprint(n), "--wait")
		has(t, p.ok("show", strings.TrimSpace(out)), "succeeded")
	}
	p.sql("insert into bellhop.jobqueue (type, args) select 'a', n::text from generate_series(1, 20) n")
	e.waitAll("succeeded 25")
	has(t, p.ok("ls", "-s", "succeeded"), "succeeded")
}
