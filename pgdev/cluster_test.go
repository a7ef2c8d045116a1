package pgdev_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// begin starts a cluster that the test stops, or else its end does.
func begin(t *testing.T, cfg pgdev.Config) *pgdev.Cluster {
	t.Helper()
	c, err := pgdev.Start(t.Context(), cfg)
	if errors.Is(err, pgdev.ErrNotFound) {
		pgtest.Cluster(t) // skips or fails by the one rule
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *pgdev.Cluster) {
	t.Helper()
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// folder is where a kept cluster of a test lives; it is not made yet.
func folder(t *testing.T) string {
	t.Helper()
	return filepath.Join(pgtest.Dir(t), "kept")
}

// ask runs one statement and gives its only value, as text.
func ask(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var answer *string
	err = conn.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&answer)
	if errors.Is(err, pgx.ErrNoRows) {
		return ""
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return *answer
}

// working lists the processes whose working folder is dir or lies in it.
func working(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, dir) {
			list = append(list, link)
		}
	}
	return list
}

// watchers counts the processes that watch over the server of a folder.
func watchers(t *testing.T, dir string) (n int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		if words, err := os.ReadFile(list); err == nil &&
			strings.Contains(string(words), "watching over PostgreSQL in\x00"+dir) {
			n++
		}
	}
	return n
}

func dead(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z") // nobody may reap here
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func TestStop_TemporaryClusterLeavesNothing(t *testing.T) {
	t.Parallel()
	c := begin(t, pgdev.Config{})
	sockets := socketFolder(t, c)
	if got := ask(t, c.URL(), "SELECT current_database()"); got != "bellhop" {
		t.Errorf("database %q", got)
	}
	if len(working(t, c.Dir())) == 0 {
		t.Error("the look for processes is blind")
	}
	stop(t, c)
	if list := working(t, c.Dir()); len(list) > 0 {
		t.Errorf("processes left: %v", list)
	}
	if !missing(c.Dir()) || !missing(sockets) {
		t.Errorf("left: %s, %s", c.Dir(), sockets)
	}
	if c.PID() != 0 {
		t.Error("a stopped cluster has a PID")
	}
	stop(t, c) // once more does nothing
}

func socketFolder(t *testing.T, c *pgdev.Cluster) string {
	t.Helper()
	u, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}

func TestStop_EndedContextStillStops(t *testing.T) {
	t.Parallel()
	c := begin(t, pgdev.Config{Dir: folder(t)})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ended); err != nil {
		t.Fatal(err)
	}
	if list := working(t, c.Dir()); len(list) > 0 {
		t.Errorf("processes left: %v", list)
	}
}

func TestStart_EndedContextLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			short, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			c, err := pgdev.Start(short, pgdev.Config{Dir: dir})
			if err == nil { // a fast machine
				stop(t, c)
			}
			if list := working(t, dir); len(list) > 0 {
				t.Errorf("processes left: %v (%v)", list, err)
			}
		})
	}
}

func TestStart_KeptFolderKeepsDataAndPort(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := begin(t, pgdev.Config{Dir: dir, Durable: true})
	if got := ask(t, c.URL(), "SELECT current_setting('fsync') || current_setting('synchronous_commit') || current_setting('server_encoding')"); got != "ononUTF8" {
		t.Errorf("durable settings: %s", got)
	}
	ask(t, c.URL(), "CREATE TABLE kept AS SELECT 'yes' AS was")
	stop(t, c)
	if _, ok := pgdev.Running(dir); ok {
		t.Error("a stopped cluster is running")
	}

	again := begin(t, pgdev.Config{Dir: dir, Durable: true})
	if got := ask(t, again.URL(), "SELECT was FROM kept"); got != "yes" {
		t.Errorf("kept: %q", got)
	}
	if again.URL() != c.URL() || again.TCPURL() != c.TCPURL() {
		t.Errorf("moved from %s to %s", c.URL(), again.URL())
	}
	if running, ok := pgdev.Running(dir); !ok || running != again.URL() {
		t.Errorf("running %q %v, want %q", running, ok, again.URL())
	}
}

func TestStart_TakenPortMoves(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := begin(t, pgdev.Config{Dir: dir})
	u, err := url.Parse(c.TCPURL())
	if err != nil {
		t.Fatal(err)
	}
	stop(t, c)
	thief, err := net.Listen("tcp4", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	again := begin(t, pgdev.Config{Dir: dir})
	if again.TCPURL() == c.TCPURL() {
		t.Error("same port")
	}
	ask(t, again.TCPURL(), "SELECT 'there'")
}

func TestTCPURL_NeedsThePassword(t *testing.T) {
	t.Parallel()
	c := pgtest.Cluster(t)
	if got := ask(t, c.TCPURL(), "SELECT current_user::text"); got != "bellhop" {
		t.Errorf("user %q", got)
	}
	u, err := url.Parse(c.TCPURL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("bellhop", "wrong")
	if conn, err := pgx.Connect(t.Context(), u.String()); err == nil {
		conn.Close(t.Context())
		t.Error("let in with a wrong password")
	}
	info, err := os.Stat(socketFolder(t, c))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder is open: %v %v", info.Mode(), err)
	}
}

func TestURL_WorksForPsql(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("no psql in PATH: type `apt-get install postgresql-client`")
	}
	c := pgtest.Cluster(t)
	for _, url := range []string{c.URL(), c.TCPURL()} {
		out, err := exec.CommandContext(t.Context(), psql, "-XAtc", "SELECT 6*7", url).CombinedOutput()
		if string(out) != "42\n" {
			t.Errorf("psql %s: %s %v", url, out, err)
		}
	}
}

func TestStart_LongOddFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), strings.Repeat("a long, 'odd' folder/", 12), "cluster")
	c := begin(t, pgdev.Config{Dir: dir})
	sockets := socketFolder(t, c)
	ask(t, c.URL(), "SELECT 'there'")
	if running, _ := pgdev.Running(dir); running != c.URL() {
		t.Errorf("running %q, want %q", running, c.URL())
	}
	stop(t, c)
	if !missing(sockets) {
		t.Errorf("left %s", sockets)
	}
}

func TestRestart_KeepsURLAndData(t *testing.T) {
	t.Parallel()
	c := pgtest.Cluster(t)
	ask(t, c.URL(), "CREATE TABLE kept AS SELECT 'yes' AS was")
	for _, mode := range []string{"fast", "immediate", "smart"} {
		before, url := c.PID(), c.URL()
		if err := c.Restart(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		if c.PID() == before || !dead(before) {
			t.Errorf("%s: the old server lives", mode)
		}
		if c.URL() != url || ask(t, url, "SELECT was FROM kept") != "yes" {
			t.Errorf("%s: %s became %s, or lost data", mode, url, c.URL())
		}
	}
	if err := c.Restart(t.Context(), "softly"); err == nil || c.PID() == 0 {
		t.Errorf("an unknown mode: %v", err)
	}
}

func TestRestart_AfterKillRecovers(t *testing.T) {
	t.Parallel()
	c := pgtest.Cluster(t)
	ask(t, c.URL(), "CREATE TABLE kept AS SELECT 'yes' AS was")
	busy, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close(context.Background())
	// a backend that does not notice its postmaster's end by itself
	loop := busy.PgConn().Exec(t.Context(), "DO $$ BEGIN LOOP END LOOP; END $$")
	c.Kill()
	if err := c.Restart(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	if err := loop.Close(); err == nil {
		t.Error("the endless statement ended well")
	}
	if got := ask(t, c.URL(), "SELECT was FROM kept"); got != "yes" {
		t.Errorf("kept: %q", got)
	}
}

func TestNewDatabase_CopiesTemplate(t *testing.T) {
	t.Parallel()
	c := pgtest.Cluster(t)
	first, err := c.NewDatabase(t.Context(), "first one", "")
	if err != nil {
		t.Fatal(err)
	}
	ask(t, first, "CREATE TABLE copied AS SELECT 'yes' AS was")
	second, err := c.NewDatabase(t.Context(), "second", "first one")
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, second, "SELECT was FROM copied"); got != "yes" {
		t.Errorf("copied: %q", got)
	}
	if got := ask(t, c.URL(), "SELECT coalesce(to_regclass('copied')::text, 'none')"); got != "none" {
		t.Errorf("the main database has %q", got)
	}
}

func TestSettings_AreTheServers(t *testing.T) {
	t.Parallel()
	c := begin(t, pgdev.Config{Settings: map[string]string{"work_mem": "7MB", "port": "5432"}})
	if got := ask(t, c.URL(), "SELECT current_setting('work_mem') || current_setting('max_connections')"); got != "7MB200" {
		t.Errorf("settings %q", got)
	}
	if got := ask(t, c.URL(), "SELECT current_setting('port')"); got == "5432" {
		t.Error("moved to port 5432")
	}
}

func TestStart_ZombieServerIsDead(t *testing.T) {
	t.Parallel()
	c := pgtest.Cluster(t)
	pid := c.PID()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// nobody reaps it before Restart or Stop
	pgtest.Eventually(t, 30*time.Second, "the killed server counts as dead", func() bool { return c.PID() == 0 })
}

// TestStart_IsUTF8WhateverTheEnvironmentSays: initdb would take the encoding
// from the caller's language, and make SQL_ASCII in the C locale.
func TestStart_IsUTF8WhateverTheEnvironmentSays(t *testing.T) { // changes the process's environment
	for _, language := range []string{"C", "POSIX", "de_DE.ISO-8859-1"} {
		for _, name := range []string{"LC_ALL", "LANG", "PGCLIENTENCODING"} {
			t.Setenv(name, language)
		}
		if encoding := ask(t, begin(t, pgdev.Config{}).URL(), "show server_encoding"); encoding != "UTF8" {
			t.Errorf("%s: %s", language, encoding)
		}
	}
}
