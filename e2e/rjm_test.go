package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// site is a host of RJM's: a home with its tasks, and the programs by their names.
type site struct {
	*env
	host string
	home string
	bin  string
}

// site makes a host. The tasks file finds the test's folder in $DIR.
func (e *env) site(host, tasks string) *site {
	e.t.Helper()
	s := &site{env: e, host: host, home: filepath.Join(e.dir, host), bin: filepath.Join(e.dir, host, "bin")}
	for _, dir := range []string{s.home, s.bin, filepath.Join(s.home, ".rjm"), filepath.Join(s.home, "wd")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			e.t.Fatal(err)
		}
	}
	if err := link(binary, filepath.Join(s.bin, "bellhop")); err != nil {
		e.t.Fatal(err)
	}
	for _, name := range []string{"rjmsetup", "rjmgo", "rjmls", "rjmexit", "rjmout", "rjmproc", "rjmd", "rjmflush"} {
		if err := os.Symlink("bellhop", filepath.Join(s.bin, name)); err != nil {
			e.t.Fatal(err)
		}
	}
	s.write(".rjm/conf.sh",
		fmt.Sprintf("rjm_hostid=%s\nrjm_wd=%s\nrjm_tmpdir=%s\n", host, filepath.Join(s.home, "wd"), s.home))
	s.tasks(tasks)
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.home, name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) tasks(text string) {
	s.t.Helper()
	s.write(".rjm/tasks.sh", "DIR="+s.dir+"\n"+text)
}

// work is a file in the folder in which jobs run.
func (s *site) work(name string) string { return filepath.Join(s.home, "wd", name) }

func (s *site) environ() []string {
	env := append(environment(s.home), "DATABASE_URL="+s.url)
	env[0] = "PATH=" + s.bin + ":" + os.Getenv("PATH")
	return env
}

// bash runs a script that finds RJM's names on its PATH.
func (s *site) bash(script string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
	cmd.Dir, cmd.Env = s.home, append(s.environ(), "DIR="+s.dir)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// does is bash that must succeed.
func (s *site) does(script string) string {
	s.t.Helper()
	r := s.bash(script)
	if r.code != 0 {
		s.t.Fatalf("%s\nexit code %d\n%s%s", script, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// run starts one of RJM's long-running programs.
func (s *site) run(name string, args ...string) *instance {
	s.t.Helper()
	i := &instance{b: s.env, dir: s.home, exited: make(chan struct{})}
	i.cmd = exec.Command(filepath.Join(s.bin, name), args...)
	i.cmd.Dir, i.cmd.Env, i.cmd.Stderr = s.home, s.environ(), i
	if err := i.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(i.exited)
		_ = i.cmd.Wait() // how it ended is in ProcessState
	}()
	s.t.Cleanup(func() {
		_ = i.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-i.exited
		if s.t.Failed() {
			s.t.Logf("%s %v said:\n%s", name, args, i.said())
		}
	})
	return i
}

// rjmls waits until rjmls, with these arguments, prints all of this.
func (s *site) listed(args string, want ...string) {
	s.t.Helper()
	var got string
	pgtest.Eventually(s.t, patience, fmt.Sprintf("rjmls %s says %q", args, want), func() bool {
		s.t.Helper()
		got = s.does("rjmls " + args)
		for _, line := range want {
			if !strings.Contains("\n"+got, "\n"+line+"\n") {
				return false
			}
		}
		return true
	})
}

func TestRJM_TasksAreFunctionsOrPrograms(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s := e.site("north", `task_billing() { echo "bill for $userid, ${list[1]}"; echo "to stderr" >&2; pwd; return 0; }
task_fails() { exit 7; }`)
	s.write("bin/task_program", "#!/bin/sh\necho \"program sees $userid\"\n")
	s.run("rjmd")
	s.run("rjmproc", "-i", "1")
	s.does(`printf 'userid=simpsons\nlist=(a "b c")\n' | rjmsetup billing.1
rjmsetup program.1 --set userid=flanders
rjmsetup fails.1 </dev/null; rjmsetup nowhere.1 </dev/null
rjmls -o json | grep -c wait; rjmgo billing.1 program.1 fails.1 nowhere.1`)
	for id, want := range map[string]int{"billing.1": 0, "program.1": 0, "fails.1": 7, "nowhere.1": 127} {
		if r := s.bash("rjmexit -q -w " + id); r.code != want || r.stdout+r.stderr != "" {
			t.Errorf("%s: %+v, want %d", id, r, want)
		}
	}
	if got := s.does("rjmout billing.1"); got != "bill for simpsons, b c\n"+filepath.Join(s.home, "wd")+"\n" {
		t.Errorf("rjmout: %q", got)
	}
	if got := s.does("rjmout -e billing.1"); got != "to stderr\n" {
		t.Errorf("rjmout -e: %q", got)
	}
	if got := s.does("rjmout program.1"); got != "program sees flanders\n" {
		t.Errorf("a program: %q", got)
	}
	has(t, s.does("rjmout -e nowhere.1"), "task_nowhere: command not found")
	s.listed("-s old", "failed fails.1 n north:1 7", "failed nowhere.1 n north:1 127", "old billing.1 n north:1 0", "old program.1 n north:1 0")

	// The tasks file is read before each job.
	s.tasks("task_nowhere() { echo found; }")
	s.does("bellhop retry nowhere.1; rjmexit -w nowhere.1; test $(rjmout nowhere.1) = found")
}

// A parent that failed is restarted, and its children, which were released
// with it, run then; results of the failed run are there meanwhile.
func TestRJM_FilesGoOnlyOnSuccessAndARestartNeedsNoRelease(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s := e.site("north", `task_make() { echo data > out; cp --link out "${copies[0]}" ; cp --link out "${copies[1]}"; test -e "$DIR/mended"; }
task_use() { cat "$input"; }`)
	s.run("rjmd")
	s.run("rjmproc", "-i", "1")
	s.does(`printf 'input=one\nrjm_delete=(one)' | rjmsetup use.1
printf 'input=two\nrjm_delete=(two never-was)' | rjmsetup use.2
printf 'copies=(one two)\nrjm_blocks=(use.1 use.2)\nrjm_delete=(out folder)' | rjmsetup make.1
mkdir wd/folder; rjmgo make.1`)
	if r := s.bash("rjmexit -q -w make.1"); r.code != 1 {
		t.Fatalf("%+v", r)
	}
	s.listed("", "ready use.1 n - - blocked by 1", "failed make.1 n north:1 1")
	for _, name := range []string{"out", "one", "two"} {
		if _, err := os.Stat(s.work(name)); err != nil {
			t.Errorf("of a job that failed: %v", err)
		}
	}
	s.does(`rm wd/one wd/two; touch "$DIR/mended"; bellhop retry make.1; rjmexit -q -w use.1; rjmexit -q -w use.2`)
	s.listed("-s old -s dusting", "old use.1 n north:1 0", "old use.2 n north:1 0", "dusting make.1 n north:1 0 "+s.work("folder")+" is a folder, which is not deleted")
	for _, name := range []string{"out", "one", "two"} {
		if _, err := os.Stat(s.work(name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	s.does("rmdir wd/folder")
	s.listed("-s old", "old make.1 n north:1 0")
}

// rjmd that dies while it deletes leaves the job dusting; the next one goes on.
// And only the host that ran a job deletes its files.
func TestRJM_AnInterruptedCleanUpIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s, other := e.site("north", ""), e.site("south", "")
	other.run("rjmd")
	s.does(`touch wd/file ../south/wd/file ../south/wd/its-own
echo 'rjm_delete=(file)' | rjmsetup a.1; echo 'rjm_delete=(its-own)' | rjmsetup a.2`)
	s.sql("update bellhop.rjm set state = 'dusting'")
	s.sql(`update bellhop.jobqueue set state = 'succeeded', held = false, exit_code = 0, ended_at = now(),
	       host = case key when 'a.1' then 'north:1' else 'south' end`)
	s.listed("-s dusting -s old", "dusting a.1 n north:1 0", "old a.2 n south 0")
	if _, err := os.Stat(other.work("its-own")); err == nil {
		t.Error("south's file is still there")
	}
	s.run("rjmd")
	s.listed("-s old", "old a.1 n north:1 0")
	if _, err := os.Stat(s.work("file")); err == nil {
		t.Error("the file is still there")
	}
	if _, err := os.Stat(other.work("file")); err != nil {
		t.Error("another host has deleted its file of that name")
	}
}

// A graph that a running job builds is built once, also when that job is
// killed in the middle and begins again.
func TestRJM_AGraphIsBuiltFromInsideAJob(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s := e.site("north", `task_plan() {
  for n in 1 2 3; do
    rjmsetup part.$n --set n=$n || return
    if [ $n = 2 ] && [ ! -e "$DIR/once" ]; then touch "$DIR/once"; kill -9 $$; fi
  done
  echo "rjm_blocks=(end.1)" | rjmsetup dummy.end # what comes after the plan waits for all its parts too
  rjmsetup last.1 --block dummy.end && rjmgo last.1
  for n in 1 2 3; do rjmgo part.$n; done
}
task_part() { echo $n >> "$DIR/parts"; }
task_last() { :; }
task_end() { echo end >> "$DIR/parts"; }`)
	s.run("rjmd", "-n", "2")
	s.does(`rjmsetup end.1 </dev/null; echo "rjm_blocks=(end.1)" | rjmsetup plan.1; rjmgo plan.1
rjmexit -w -q plan.1 || { bellhop retry plan.1; rjmexit -w -q plan.1; }
for id in part.1 part.2 part.3 end.1; do rjmexit -w -q $id; done`)
	if got := strings.Join(e.lines("parts"), " "); len(strings.Fields(got)) != 4 || !strings.Contains(got, "end") {
		t.Errorf("done: %s", got)
	}
	s.listed("-s old", "old dummy.end n - 0", "old plan.1 n north 0")
}

func TestRJM_WorkersTakeTheirTypesAndPriorities(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s := e.site("north", `task_billing() { echo "$BELLHOP_KEY" >> "$DIR/ran"; }
task_shipping() { task_billing; }`)
	// The worker that may do it comes last, and what it may not do stays.
	s.does(`for id in billing.1 billing.2 shipping.1; do rjmsetup -p b $id </dev/null; rjmgo $id; done
rjmsetup -p n billing.3 </dev/null; rjmgo billing.3; rjmsetup -p ab billing.0 </dev/null; rjmgo billing.0`)
	early := s.run("rjmproc", "-i", "1", "-t", "^bill", "-p", "^[a-g]")
	early.waitSaid("waits for the rjmd of north")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where started_at is not null"); n > 0 {
		t.Errorf("%d jobs were started before rjmd was there", n)
	}
	d := s.run("rjmd")
	e.eventually("what one worker takes is done", "select count(*) = 3 from bellhop.jobqueue where state = 'succeeded'")
	if got := strings.Join(e.lines("ran"), " "); got != "billing.0 billing.1 billing.2" {
		t.Errorf("in the order of priorities: %s", got)
	}
	second := s.run("rjmproc", "-i", "1")
	if code := second.exit(); code != 0 || !strings.Contains(second.said(), "another worker 1 runs") {
		t.Errorf("a second one of that name: %d, %s", code, second.said())
	}
	again := s.run("rjmd")
	if code := again.exit(); code != 0 || !strings.Contains(again.said(), "another rjmd runs") {
		t.Errorf("a second rjmd: %d, %s", code, again.said())
	}
	s.listed("", "ready billing.3 n - -", "ready shipping.1 b - -")
	s.run("rjmproc", "-i", "2")
	e.waitAll("succeeded 5")
	select {
	case <-d.exited:
		t.Error("rjmd has ended")
	default:
	}
	has(t, e.ok("agents"), "rjm")
}

// A worker that starts after a kill -9 of rjmd waits for the next one, though
// the heartbeat of the dead one is not too old; the next takes over at once.
func TestRJM_AKilledRjmdLetsNoWorkerBegin(t *testing.T) {
	t.Parallel()
	e := setup(t)
	s := e.site("north", `task_long() { touch "$DIR/began"; until [ -e "$DIR/go" ]; do sleep 0.05; done; }
task_short() { :; }`)
	first := s.run("rjmd", "-n", "1")
	s.does("rjmsetup long.1 </dev/null; rjmgo long.1")
	pgtest.Eventually(t, patience, "it runs", func() bool {
		_, err := os.Stat(filepath.Join(e.dir, "began"))
		return err == nil
	})
	first.kill()
	s.does("rjmsetup short.1 </dev/null; rjmgo short.1")
	worker := s.run("rjmproc", "-i", "1", "-t", "short")
	worker.waitSaid("waits for the rjmd of north")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where key = 'short.1' and state <> 'ready'"); n > 0 {
		t.Error("a worker has begun without rjmd")
	}
	e.eventually("the guard of the killed one gives its jobs back", "select state = 'gone' from bellhop.instance where id = 1")
	s.run("rjmd", "-n", "1")
	e.eventually("the worker goes on", "select state = 'succeeded' from bellhop.jobqueue where key = 'short.1'")
	e.file("go", "", 0o600)
	e.waitAll("succeeded 2")
}

// One rjmd on a host for each database: a second database is served too.
func TestRJM_EachDatabaseHasItsOwn(t *testing.T) {
	t.Parallel()
	one, two := setup(t), setup(t)
	s := one.site("north", "task_a() { :; }")
	s.run("rjmd", "-n", "1")
	one.eventually("the first is there", "select count(*) = 1 from bellhop.instance where state = 'live'")
	url := s.url
	s.url = two.url
	s.run("rjmd", "-n", "1")
	s.does("rjmsetup a.1 </dev/null; rjmgo a.1; rjmexit -w -q a.1")
	// By another way to the same database, it is the same one.
	s.url = url + "&application_name=another"
	again := s.run("rjmd")
	if code := again.exit(); code != 0 || !strings.Contains(again.said(), "another rjmd runs on this host, for this database") {
		t.Errorf("a second rjmd of the first: %d, %s", code, again.said())
	}
}

// Workers and rjmd are killed, with kill -9, while graphs run; what they had
// is done again, by others too, and nothing runs twice at once.
func TestRJM_KilledAtRandom(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("the tasks need flock (util-linux)")
	}
	e := setup(t)
	s := e.site("north", `task_step() {
  exec 9> "$DIR/lock.$BELLHOP_JOB_ID"; flock -n 9 || echo "$BELLHOP_KEY" >> "$DIR/twice"
  echo "$BELLHOP_KEY" >> "$DIR/begun"; sleep 0.2; : > "$BELLHOP_KEY"; }`)
	const width = 20
	jobs := width * max(10, int(nemesisDuration.Seconds())) // about as long as the harm goes on
	for n := jobs; n > 0; n-- {
		var blocks []string
		for k := range 3 {
			if child := ((n-1)/width+1)*width + (n+k)%width + 1; child <= jobs {
				blocks = append(blocks, fmt.Sprintf("step.%d", child))
			}
		}
		config := fmt.Sprintf("rjm_blocks=(%s)", strings.Join(blocks, " "))
		e.sql("select bellhop.rjm_setup($1, $2, 'n', $3::text[], array[$1])", fmt.Sprintf("step.%d", n), config, blocks)
	}
	running := map[string]*instance{"rjmd": s.run("rjmd", "-n", "2"), "1": s.run("rjmproc", "-i", "1"), "2": s.run("rjmproc", "-i", "2")}
	var roots []string
	for n := range width {
		roots = append(roots, fmt.Sprintf("step.%d", n+1))
	}
	s.does("rjmgo " + strings.Join(roots, " "))
	kills := 0
	for end := time.Now().Add(*nemesisDuration); time.Now().Before(end); {
		for name, i := range running { // any of them
			_ = i.cmd.Process.Kill()
			<-i.exited
			if kills++; name == "rjmd" {
				running[name] = s.run("rjmd", "-n", "2")
			} else {
				running[name] = s.run("rjmproc", "-i", name)
			}
			break
		}
		time.Sleep(700 * time.Millisecond) // the pace of the harm, no event to wait for
	}
	e.waitAll(fmt.Sprintf("succeeded %d", jobs))
	if twice := e.lines("twice"); len(twice) > 0 {
		t.Errorf("in two processes at once: %v", twice)
	}
	e.eventually("all is cleaned up", "select not exists (select from bellhop.rjm where state <> 'old')")
	if left, err := os.ReadDir(s.work("")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	t.Logf("%d jobs, begun %d times; %d processes killed", jobs, len(e.lines("begun")), kills)
}

// The script of docs/rjm.md is run as it stands there.
func TestRJMDoc_TheScriptWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/rjm.md")
	if err != nil {
		t.Fatal(err)
	}
	_, worked, _ := strings.Cut(string(page), "## Worked through")
	_, script, _ := strings.Cut(worked, "```sh\n")
	script, rest, _ := strings.Cut(script, "```")
	_, want, _ := strings.Cut(rest, "```\n")
	want, _, _ = strings.Cut(want, "```")
	s := setup(t).site("north", "")
	s.run("rjmd")
	s.run("rjmproc", "-i", "1")
	if got := s.does(script); got != want || want == "" {
		t.Errorf("it printed\n%s\nand should\n%s", got, want)
	}
	s.listed("-s old", "old billing.simpsons-876 n north:1 0", "old notify.simpsons-876 c north:1 0", "old shipping.simpsons-876 n north:1 0")
	if left, err := os.ReadDir(s.work("")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// make install puts the program and its names in place, each with its help.
func TestInstall_TheProgramAndRJMsNames(t *testing.T) {
	t.Parallel()
	dest := t.TempDir()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	cmd := exec.Command("make", "--no-print-directory", "-C", "..", "install", "DESTDIR="+dest, "PREFIX=/opt/bellhop")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bin := filepath.Join(dest, "opt/bellhop/bin")
	names, err := os.ReadDir(bin)
	if err != nil || len(names) != 9 {
		t.Errorf("installed: %v, %v", names, err)
	}
	for _, name := range names {
		want := "Example:\n  bellhop "
		if name.Name() != "bellhop" {
			want += name.Name()
		}
		out, err := exec.Command(filepath.Join(bin, name.Name()), "--help").Output()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s --help: %v\n%s", name.Name(), err, out)
		}
	}
}
