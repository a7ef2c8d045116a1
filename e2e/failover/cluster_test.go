package failover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// member is one server of PostgreSQL, and the Patroni that looks after it.
type member struct {
	name, address, rest string // address and rest are host:port
	dir                 string
	patroni             *os.Process
}

// cluster is two members, an etcd and a HAProxy, with the configuration of docs/production.md.
type cluster struct {
	t       *testing.T
	members []member
	proxy   string // host:port
	subnet  string // "127.1.2."
	conf    string // of one member, for patronictl
	who     *syscall.Credential
}

// page gives a block of docs/production.md.
func page(t *testing.T, language, begins string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(" + begins + ".*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("docs/production.md has no block of %s that begins with %q", language, begins)
	}
	return string(m[1])
}

// needed looks for a program, and skips the test without it.
func needed(t *testing.T, name, pack string) string {
	t.Helper()
	for _, at := range []string{name, "/usr/bin/" + name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(at); err == nil {
			return path
		}
	}
	t.Skip("NOT TESTED: failovers by Patroni; type `apt-get install " + pack + "`")
	return ""
}

// start starts them all, and returns when both members are as they should be.
func start(t *testing.T) *cluster {
	t.Helper()
	etcd, patroni := needed(t, "etcd", "etcd-server"), needed(t, "patroni", "patroni")
	haproxy := needed(t, "haproxy", "haproxy")
	needed(t, "patronictl", "patroni")
	programs, err := pgdev.Find()
	if err != nil {
		t.Skip("NOT TESTED: failovers by Patroni: " + err.Error())
	}
	// All of 127.0.0.0/8 is this machine: each member has an address of its own, as on the page.
	c := &cluster{t: t, subnet: fmt.Sprintf("127.%d.%d.", 1+os.Getpid()>>8&127, os.Getpid()&255), who: servant(t)}
	pg, rest, client, peer := freePort(t), freePort(t), freePort(t), freePort(t)
	c.proxy = fmt.Sprintf("%s8:%d", c.subnet, pg)
	at := strings.NewReplacer("10.0.0.", c.subnet, "5432", strconv.Itoa(pg), "8008", strconv.Itoa(rest),
		"2379", strconv.Itoa(client))

	keys := c.folder()
	own, others := fmt.Sprintf("http://%s9:%d", c.subnet, client), fmt.Sprintf("http://%s9:%d", c.subnet, peer)
	c.run(keys, etcd, "--name=one", "--data-dir="+keys+"/data", "--listen-client-urls="+own,
		"--advertise-client-urls="+own, "--listen-peer-urls="+others, "--initial-advertise-peer-urls="+others,
		"--initial-cluster=one="+others, "--logger=zap", "--log-outputs=stderr")

	text := page(t, "yaml", "scope: app")
	for n, name := range []string{"one", "two"} {
		m := member{name: name, dir: c.folder(), address: fmt.Sprintf("%s%d:%d", c.subnet, n+1, pg),
			rest: fmt.Sprintf("%s%d:%d", c.subnet, n+1, rest)}
		mine := strings.NewReplacer("name: one ", "name: "+name+" ", c.subnet+"1:", fmt.Sprintf("%s%d:", c.subnet, n+1),
			"/var/lib/postgresql/15/app", m.dir+"/data", "/var/lib/postgresql/", m.dir+"/",
			"/usr/lib/postgresql/15/bin", programs.Dir, "/var/run/postgresql", m.dir)
		conf := c.file(m.dir, "patroni.yml", mine.Replace(at.Replace(text)))
		m.patroni = c.run(m.dir, patroni, conf)
		c.members, c.conf = append(c.members, m), conf
	}
	dir := c.folder()
	c.run(dir, haproxy, "-db", "-f", c.file(dir, "haproxy.cfg", at.Replace(page(t, "haproxy", "defaults"))))
	c.settle(true)
	return c
}

// servant is the account that PostgreSQL's programs run under: they refuse root.
func servant(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Skip("NOT TESTED: failovers by Patroni; type `useradd --system postgres`")
	return nil
}

// folder gives a folder that the servers' account may write to.
func (c *cluster) folder() string {
	c.t.Helper()
	dir := filepath.Join(pgtest.Dir(c.t), "own")
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.own(dir)
	return dir
}

func (c *cluster) own(path string) {
	c.t.Helper()
	if c.who == nil {
		return
	}
	if err := os.Chown(path, int(c.who.Uid), int(c.who.Gid)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) file(dir, name, text string) string {
	c.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.own(path)
	return path
}

// run starts a program of the cluster's. When the test ends, it is told to end, and what it has started goes with it.
func (c *cluster) run(dir, program string, args ...string) *os.Process {
	c.t.Helper()
	log, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.who, Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // Patroni stops its PostgreSQL
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if pid := postmaster(dir); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGQUIT) // its Patroni was killed
		}
		_ = log.Close() // it has been written
		if c.t.Failed() {
			said, _ := os.ReadFile(log.Name())
			c.t.Logf("%s said:\n%s", filepath.Base(program), said[max(0, len(said)-8000):])
		}
	})
	return cmd.Process
}

// postmaster gives the pid of the server in a member's folder; 0: none.
func postmaster(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "data/postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, _ := strconv.Atoi(string(first))
	return pid
}

// answers asks a Patroni, and gives its status; 0: it does not answer.
func answers(method, url, body string) (status int, said []byte) {
	client := http.Client{Timeout: 10 * time.Second}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	said, _ = io.ReadAll(answer.Body)
	return answer.StatusCode, said
}

// primary gives the member that leads, and the other one; false: neither leads at the moment.
func (c *cluster) primary() (leads, follows member, ok bool) {
	for n, m := range c.members {
		if status, _ := answers("GET", "http://"+m.rest+"/primary", ""); status == http.StatusOK {
			return m, c.members[1-n], true
		}
	}
	return member{}, member{}, false
}

// settle waits until one member leads, and the other follows it closely, in this mode.
func (c *cluster) settle(synchronous bool) (leads, follows member) {
	c.t.Helper()
	path := "/replica"
	if synchronous {
		path = "/synchronous"
	}
	pgtest.Eventually(c.t, patience, "Patroni has a primary and a standby", func() bool {
		var ok bool
		leads, follows, ok = c.primary()
		if !ok {
			time.Sleep(100 * time.Millisecond) // Patroni looks every two seconds
			return false
		}
		status, said := answers("GET", "http://"+follows.rest+path, "")
		var state struct {
			Timeline int    `json:"timeline"`
			Sync     bool   `json:"sync_standby"`
			State    string `json:"state"`
		}
		_, lead := answers("GET", "http://"+leads.rest+"/patroni", "")
		var leader struct {
			Timeline    int
			Replication []struct{ State string }
		}
		follower := json.Unmarshal(said, &state) == nil && state.Timeline > 0 && state.Sync == synchronous
		return status == http.StatusOK && follower && json.Unmarshal(lead, &leader) == nil &&
			leader.Timeline == state.Timeline && len(leader.Replication) == 1 && leader.Replication[0].State == "streaming"
	})
	return leads, follows
}

// configure changes the cluster's dynamic configuration.
func (c *cluster) configure(json string) {
	c.t.Helper()
	pgtest.Eventually(c.t, patience, "Patroni takes "+json, func() bool {
		status, _ := answers("PATCH", "http://"+c.members[0].rest+"/config", json)
		return status == http.StatusOK
	})
}

// switchover hands the lead over as an operator does.
func (c *cluster) switchover(to member) {
	c.t.Helper()
	cmd := exec.Command("patronictl", "-c", c.conf, "switchover", "app", "--candidate", to.name, "--force")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(c.conf), "LC_ALL=C.UTF-8"}
	if said, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("patronictl switchover: %v\n%s", err, said)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
