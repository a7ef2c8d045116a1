package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellhop/pgdev/wire"
)

// instance is one `bellhop serve`, behind a line of its own.
type instance struct {
	program string
	dir     string
	url     string
	yaml    string
	line    *wire.Proxy // nil: it reaches its servers without one
	log     *os.File

	mu     sync.Mutex // of the rest
	cmd    *exec.Cmd
	exited chan struct{}
	ended  bool // for good
}

// configuration is that of a newcomer, but for the times of the lease, which a history of seconds has to outlast.
func configuration(url, name, program, journal string, lag time.Duration) string {
	agent := fmt.Sprintf("command: [%q, %s], env: {%s: %q}, retry: {attempts: %d, first: 100ms, most: 1s}", program, Witness,
		journalVariable, journal, attempts)
	return fmt.Sprintf(`listen: 127.0.0.1:0
database: {url: %q}
instance: {name: %s, heartbeat: %s, lag: %s}
limits: {kill_after: 1s, deaths: 0}
hosts: [{name: local, slots: 6}]
agents:
  - {type: warm, %s}
  - {type: item, %s}
  - {type: exec, mode: exec, %s}
`, url, name, lag/6, lag, agent, agent, agent)
}

// start starts it where it does not run, and waits for nothing. One that was ended for good is not started again.
func (i *instance) start() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended || i.cmd != nil && !closed(i.exited) {
		return nil
	}
	path := filepath.Join(i.dir, "bellhop.yaml")
	if err := errors.Join(os.MkdirAll(i.dir, 0o755), os.WriteFile(path, []byte(i.yaml), 0o600)); err != nil {
		return err
	}
	if i.log == nil {
		log, err := os.OpenFile(filepath.Join(i.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		i.log = log
	}
	i.cmd = exec.Command(i.program, "serve", "-c", path)
	i.cmd.Dir, i.cmd.Stderr, i.cmd.Stdout = i.dir, i.log, i.log
	i.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + i.dir, "LANG=C.UTF-8"}
	i.cmd.SysProcAttr = tied()
	if err := i.cmd.Start(); err != nil {
		return fmt.Errorf("start %s serve: %w", i.program, err)
	}
	exited, cmd := make(chan struct{}), i.cmd
	i.exited = exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended stands in its log
	}()
	return nil
}

// process is the newest one, and what closes when it has ended.
func (i *instance) process() (*os.Process, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.cmd.Process, i.exited
}

func (i *instance) signal(s syscall.Signal) {
	p, _ := i.process()
	_ = p.Signal(s) // it may have ended
}

// kill ends it at once; when it returns, the process is gone.
func (i *instance) kill() {
	p, exited := i.process()
	_ = p.Kill() // it may have ended
	<-exited
}

// retire ends it for good.
func (i *instance) retire() (killed bool) {
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
	return i.end()
}

// end asks it to stop, and kills it when it does not.
func (i *instance) end() (killed bool) {
	_, exited := i.process()
	i.signal(syscall.SIGCONT)
	i.signal(syscall.SIGTERM)
	select {
	case <-exited:
		return false
	case <-time.After(time.Minute):
		i.kill()
		return true
	}
}

// over reports whether the process has ended.
func (i *instance) over() bool {
	_, exited := i.process()
	return closed(exited)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// guards lists the parents of its agents, which are its own children.
func (i *instance) guards() (pids []int) {
	p, _ := i.process()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Pid))
	for _, thread := range threads {
		text, _ := os.ReadFile(thread) // a thread that has ended has none
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// marked lists processes that carry a journal's folder in their environment: witnesses, wherever they are.
func marked(journal string) (pids []int) {
	want := []byte(journalVariable + "=" + journal + "\x00")
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append(text, 0), want) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil && startTicks(pid) != "" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// leasesLost counts how often instances said that they had lost their leases.
func (s *stage) leasesLost() (n int) {
	for _, i := range append(s.instances, s.gone...) {
		said, err := os.ReadFile(filepath.Join(i.dir, "log"))
		if err == nil {
			n += bytes.Count(said, []byte(`"msg":"lease lost`))
		}
	}
	return n
}
