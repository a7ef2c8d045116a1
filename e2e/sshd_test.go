package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

// sshd is an OpenSSH server of the test's own on a port of loopback, with keys
// and a configuration of its own: another host, as far as bellhop can tell. The
// test's own account logs in, root or not, to another home: what its real login
// scripts do is none of the tests' business. What runs there has the server's
// folder in its environment, as TMPDIR.
type sshd struct {
	t      *testing.T
	dir    string
	port   int
	server *exec.Cmd
	over   chan struct{}
}

// openSSHD starts one, or skips the test loudly where there is none. env is
// added to what sessions find in their environment.
func openSSHD(t *testing.T, env ...string) *sshd {
	t.Helper()
	for _, program := range []string{"sshd", "ssh", "ssh-keygen"} {
		if _, err := lookSbin(program); err != nil {
			t.Skipf("SKIPPED: no %s here, so hosts behind ssh are not tested; install openssh-server and openssh-client",
				program)
		}
	}
	s := &sshd{t: t, dir: pgtest.Dir(t)}
	if os.Geteuid() == 0 { // where the server confines itself to
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"cache", "tmp"} {
		if err := os.Mkdir(filepath.Join(s.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.key("host_key")
	s.key("user_key")
	s.write("authorized_keys", s.read("user_key.pub"))
	s.port = freePort(t)
	s.trust("host_key.pub")
	s.write("sshd_config", fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s/host_key
AuthorizedKeysFile %[2]s/authorized_keys
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PrintMotd no
MaxStartups 5
SetEnv HOME=%[2]s TMPDIR=%[2]s/tmp XDG_CACHE_HOME=%[2]s/cache %s
`, s.port, s.dir, strings.Join(env, " ")))
	s.write("ssh_config", s.config("far", s.port))
	s.start()
	t.Cleanup(func() {
		s.reboot()
		if t.Failed() {
			t.Logf("sshd said:\n%s", s.read("sshd.log"))
		}
	})
	return s
}

// config is a host of ssh's configuration.
func (s *sshd) config(name string, port int) string {
	me, err := user.Current()
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf(`Host %s
  HostName 127.0.0.1
  Port %d
  User %s
  HostKeyAlias far
  IdentityFile %s/user_key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile %[4]s/known_hosts
  GlobalKnownHostsFile none

`, name, port, me.Username, s.dir)
}

// also adds a name under which the server is reached through a proxy.
func (s *sshd) also(name string, p *wire.Proxy) {
	_, port, err := net.SplitHostPort(p.Address())
	if err != nil {
		s.t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("ssh_config", s.read("ssh_config")+s.config(name, n))
}

// proxy stands between ssh and the server; its name in ssh's configuration is "proxied".
func (s *sshd) proxy() *wire.Proxy {
	p := before(s.t, "tcp", s.address())
	s.also("proxied", p)
	return p
}

func (s *sshd) address() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// host is the line of a bellhop.yaml's hosts that reaches a name of ssh's configuration.
func (s *sshd) host(name string, more string) string {
	return fmt.Sprintf("  - {name: %s, connect: [ssh, -F, %s/ssh_config, %s], %s}\n", name, s.dir, name, more)
}

// trust makes this the key that the client knows.
func (s *sshd) trust(public string) { s.write("known_hosts", "far "+s.read(public)) }

// key makes a pair of keys.
func (s *sshd) key(name string) {
	s.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f",
		filepath.Join(s.dir, name)).CombinedOutput(); err != nil {
		s.t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

func (s *sshd) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sshd) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(text)
}

// start starts the server and waits until it answers.
func (s *sshd) start() {
	s.t.Helper()
	path, err := lookSbin("sshd") // it wants to be called by its whole path
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = exec.Command(path, "-D", "-f", filepath.Join(s.dir, "sshd_config"), "-E", filepath.Join(s.dir, "sshd.log"))
	s.server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.server.Start(); err != nil {
		s.t.Fatal(err)
	}
	server, over := s.server, make(chan struct{})
	s.over = over
	go func() {
		defer close(over)
		_ = server.Wait() // it is killed
	}()
	pgtest.Eventually(s.t, patience, "sshd listens", func() bool {
		select {
		case <-over:
			s.t.Fatalf("sshd ended:\n%s", s.read("sshd.log"))
		default:
		}
		conn, err := net.Dial("tcp", s.address())
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

// reboot is what the client sees of one: the server and all that runs under it
// is gone at once, and connections are refused until start.
func (s *sshd) reboot() {
	s.t.Helper()
	pgtest.Eventually(s.t, patience, "everything of the host is dead", func() bool {
		all := append(guard.Descendants(s.server.Process.Pid), s.processes()...)
		for _, pid := range append(all, s.server.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(s.processes()) == 0
	})
	<-s.over
}

// processes are the living ones on the host that bellhop has to do with: its
// guards, and whatever came from them.
func (s *sshd) processes() (pids []int) {
	guard.EachProcess(func(pid int) {
		program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // gone meanwhile: empty
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if !strings.HasPrefix(program, filepath.Join(s.dir, "cache")) && !strings.Contains("\x00"+string(environment), "\x00TMPDIR="+s.dir+"/tmp\x00") {
			return
		}
		if st, ok := guard.ReadStat(pid); ok && !st.Dead() {
			pids = append(pids, pid)
		}
	})
	return pids
}

// empty waits until nothing of bellhop runs on the host.
func (s *sshd) empty() {
	s.t.Helper()
	pgtest.Eventually(s.t, patience, "nothing of bellhop runs on the host", func() bool { return len(s.processes()) == 0 })
}

// lookSbin finds a program that may be where only root looks.
func lookSbin(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", name))
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
