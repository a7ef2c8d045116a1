package pgtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

func TestURL_EachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	first, second := pgtest.URL(t), pgtest.URL(t)
	if first == second {
		t.Fatal("the same database twice")
	}
	if _, err := connect(t, first).Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, second).Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
		t.Fatal(err)
	}
}

func TestURL_DatabaseIsDropped(t *testing.T) {
	t.Parallel()
	var made string
	t.Run("a test", func(t *testing.T) {
		made = pgtest.URL(t)
		connect(t, made) // a connection that is still open does not keep it
	})
	if conn, err := pgx.Connect(t.Context(), made); err == nil {
		conn.Close(t.Context())
		t.Errorf("%s is still there", made)
	}
}

// TestURL_NamedServer: the databases are made in the server that the
// environment names.
func TestURL_NamedServer(t *testing.T) {
	c := pgtest.Cluster(t)
	t.Setenv("BELLHOP_TEST_DATABASE_URL", c.TCPURL())
	var port string
	if err := connect(t, pgtest.URL(t)).QueryRow(t.Context(), "SHOW port").Scan(&port); err != nil {
		t.Fatal(err)
	}
	var want string
	if err := connect(t, c.URL()).QueryRow(t.Context(), "SHOW port").Scan(&want); err != nil || port != want {
		t.Errorf("on port %s, not %s: %v", port, want, err)
	}
}

// A process that is frozen does nothing more, however busy it was.
func TestFreeze(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "said")
	busy := exec.Command("sh", "-c", "while :; do echo >>"+path+"; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	pgtest.Eventually(t, time.Minute, "it is busy", func() bool { return size() > 0 })
	for range 20 {
		pgtest.Freeze(t, busy.Process.Pid)
		if before := size(); before != size() {
			t.Error("it goes on")
		}
		if err := busy.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}
