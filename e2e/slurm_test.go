package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// slurm is a Slurm cluster of the test's own: a controller and two nodes on loopback, with a munge of its own.
type slurm struct {
	e    *env
	dir  string
	conf string
}

// newSlurm starts one, or skips where that cannot be.
func newSlurm(t *testing.T, e *env) *slurm {
	t.Helper()
	path := os.Getenv("PATH") + ":/usr/sbin"
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if _, err := os.Stat("/usr/sbin/" + program); err != nil {
			t.Skipf("%s is not here (slurmctld, slurmd, slurm-client, munge): jobs on Slurm are not tested", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("slurmd wants to be root: jobs on Slurm are not tested")
	}
	s := &slurm{e: e, dir: filepath.Join(e.dir, "slurm")}
	for _, d := range []string{"state", "work"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	s.conf = s.file("slurm.conf", fmt.Sprintf(slurmConf, host, freePort(t), s.dir, freePort(t), freePort(t)), 0o644)
	s.file("munge.key-file", strings.Repeat("not a secret, but long enough. ", 40), 0o600)
	munge := func(name string) string { return "--" + name + "=" + filepath.Join(s.dir, "munge."+name) }
	s.daemon(path, "munged", "--foreground", "--force", munge("key-file"), munge("socket"), munge("pid-file"), munge("log-file"),
		munge("seed-file"))
	pgtest.Eventually(t, patience, "munge answers", func() bool {
		_, err := os.Stat(filepath.Join(s.dir, "munge.socket"))
		return err == nil
	})
	s.daemon(path, "slurmctld", "-D", "-f", s.conf)
	for _, node := range []string{"n1", "n2"} {
		s.daemon(path, "slurmd", "-D", "-N", node, "-f", s.conf)
	}
	said := ""
	pgtest.Eventually(t, patience, "two nodes are idle", func() bool {
		out, _ := s.command("sinfo", "-h", "-N", "-o", "%N %T").CombinedOutput()
		said = string(out)
		return strings.Contains(said, "n1 idle") && strings.Contains(said, "n2 idle")
	})
	return s
}

const slurmConf = `ClusterName=bellhop
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.socket
CredType=cred/munge
StateSaveLocation=%[3]s/state
SlurmdSpoolDir=%[3]s/spool-%%n
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/slurmd-%%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=2
NodeName=n1 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[4]d CPUs=4 State=UNKNOWN
NodeName=n2 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[5]d CPUs=4 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES State=UP
`

func (s *slurm) file(name, text string, mode os.FileMode) string {
	s.e.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.e.t.Fatal(err)
	}
	return path
}

// daemon runs a program until the test is over.
func (s *slurm) daemon(path, name string, args ...string) {
	s.e.t.Helper()
	daemon(s.e.t, []string{"PATH=" + path, "SLURM_CONF=" + s.conf}, s.dir, name, args...)
}

func (s *slurm) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.conf)
	return cmd
}

// names are the jobs' that Slurm knows, with how many there are of each.
func (s *slurm) names() map[string]int {
	s.e.t.Helper()
	out, err := s.command("squeue", "-h", "-t", "all", "-O", "Name:64").Output()
	if err != nil {
		s.e.t.Fatal(err)
	}
	all := map[string]int{}
	for _, name := range strings.Fields(string(out)) {
		all[name]++
	}
	return all
}

// What a type runs on Slurm: real jobs on a real cluster of two nodes, through the death of their instance, a cancel, a
// timeout, and what sbatch refuses.
func TestEngine_Slurm(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s := newSlurm(t, e)
	config := fmt.Sprintf(`agents:
  - {type: far, mode: engine, engine: slurm, command: [/bin/sh, -c], workdir: %[1]s/work, env: {SLURM_CONF: %[2]s}, poll_every: 500ms, submits: 2}
  - {type: nowhere, mode: engine, engine: slurm, command: ["true"], workdir: %[1]s/work, env: {SLURM_CONF: %[2]s}, options: [--partition=nope]}
`, s.dir, s.conf)
	first := e.serve(config)
	gate := filepath.Join(s.dir, "gate")
	good := e.insert("type, args", "far", `echo "it's $BELLHOP_JOB_ID on $SLURMD_NODENAME"`)
	bad := e.insert("type, args", "far", "echo oops; exit 3")
	waits := e.insert("type, args", "far", "until [ -e "+gate+" ]; do sleep 0.2; done; echo went on")
	cancelled := e.insert("type, args", "far", "sleep 1000")
	late := e.insert("type, args, timeout", "far", "sleep 1000", "1 s")
	refused := e.insert("type", "nowhere")
	e.waitState(good, "succeeded")
	has(t, e.logged(good), fmt.Sprintf("out: it's %d on n", good))
	if j := e.waitState(bad, "failed"); j.ExitCode != 3 || !strings.HasPrefix(j.Error, "exit status 3: failed") {
		t.Errorf("%+v", j)
	}
	if j := e.waitState(refused, "failed"); !strings.Contains(j.Error, "engine_refused: ") || !strings.Contains(j.Error, "nvalid partition") {
		t.Errorf("%+v", j)
	}
	if j := e.waitState(late, "failed"); !strings.HasPrefix(j.Error, "timeout: after 1s") {
		t.Errorf("%+v", j)
	}
	e.eventually("both run there", "select count(*) = 2 from bellhop.engine_job where stage = 'running' and state = 'running'")
	has(t, e.ok("explain", fmt.Sprint(waits)), "engine slurm, tag "+tagOf(waits, 1)+" (there: ")
	first.kill()
	e.serve(config)
	e.ok("cancel", fmt.Sprint(cancelled))
	e.waitState(cancelled, "cancelled")
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if j := e.waitState(waits, "succeeded"); j.Attempt != 1 || j.Fence != 2 {
		t.Errorf("%+v", j)
	}
	has(t, e.logged(waits), "out: went on")
	for name, n := range s.names() {
		if n > 1 || !strings.HasSuffix(name, "-1") {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	pgtest.Eventually(t, patience, "no output is left", func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, "work", "*.log"))
		return err == nil && left == nil
	})
}
