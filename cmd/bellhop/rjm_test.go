package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
)

// setUp runs rjmsetup with a configuration on stdin.
func (s *harness) setUp(config string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(append([]string{"--database-url", s.url, "rjmsetup"}, args...), strings.NewReader(config), &stdout,
		&stderr)
	return result{code, stdout.String(), stderr.String()}
}

// isSetUp runs rjmsetup, which must succeed, without a word.
func (s *harness) isSetUp(config string, args ...string) {
	s.t.Helper()
	if r := s.setUp(config, args...); r.code != 0 || r.stdout+r.stderr != "" {
		s.t.Fatalf("rjmsetup %q: %+v", args, r)
	}
}

func (s *harness) refused(code int, says, config string, args ...string) {
	s.t.Helper()
	s.check(s.setUp(config, args...), code, says, args)
}

func (s *harness) count(what string) (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), "select count(*) from "+what).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func TestRJMSetup_TheSameAgainIsNothingAndOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	config := "userid=simpsons\ninvoice=8761230871234\n"
	s.isSetUp(config, "billing.simpsons-1")
	s.isSetUp(config, "billing.simpsons-1")
	s.refused(1, `another configuration: line 2 is "invoice=8761230871234", not "invoice=5"`, "userid=simpsons\ninvoice=5\n", "billing.simpsons-1")
	s.refused(1, `another configuration: line 3 is "", not "x=1"`, config+"x=1", "billing.simpsons-1")
	s.refused(1, "another priority: n, not na", config, "-p", "na", "billing.simpsons-1")
	if got := s.ok("rjmls"); got != "wait billing.simpsons-1 n - -\n" {
		t.Errorf("rjmls: %q", got)
	}
	s.ok("rjmgo", "billing.simpsons-1")
	s.isSetUp(config, "billing.simpsons-1") // whatever its state
	s.over("1", "failed", 3)
	s.isSetUp(config, "billing.simpsons-1")
	if n := s.count("bellhop.jobqueue"); n != 1 {
		t.Errorf("%d jobs", n)
	}
	has(t, s.ok("rjmls", "-t", "billing"), "failed billing.simpsons-1 n local 3")
	if got := s.ok("rjmls", "-t", "shipping"); got != "" {
		t.Errorf("of another type: %q", got)
	}
	if r := s.run("rjmexit", "-q", "billing.simpsons-1"); r.code != 3 || r.stdout+r.stderr != "" {
		t.Errorf("rjmexit -q: %+v", r)
	}
	if got := s.ok("rjmexit", "billing.simpsons-1"); got != "3\n" {
		t.Errorf("rjmexit: %q", got)
	}
	if r := s.run("rjmexit", "-q", "billing.nobody"); r.code != cli.ExitUnknown {
		t.Errorf("rjmexit -q of no job: %+v", r)
	}
	s.fails(cli.ExitNotFound, "no job with the key", "rjmgo", "billing.nobody")
}

func TestRJMSetup_BadInputIsRefusedAndMakesNothing(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for _, id := range []string{"billing", "billing.a.b", ".a", "billing.", "bill ing.a", "billing.a b", "billing.a/b", "command.a", "rjm.a"} {
		s.refused(cli.ExitUsage, "", "", id)
	}
	s.refused(cli.ExitUsage, "letters and digits", "", "-p", "a-b", "a.1")
	s.refused(cli.ExitUsage, "unexpected", "x=(1", "a.1")
	s.refused(cli.ExitUsage, "more than assignments", "exit 0", "a.1")
	s.refused(cli.ExitUsage, "more than assignments", "x=1 > "+filepath.Join(t.TempDir(), "file")+" || exit 1", "a.1")
	s.refused(cli.ExitUsage, "rjm_block:", "rjm_block=(b.1)", "a.1")
	s.refused(cli.ExitUsage, "100000", "x="+strings.Repeat("y", 100_001), "a.1")
	s.refused(1, "child.1, which a.1 is to block, is not set up", "rjm_blocks=(child.1)", "a.1")
	s.refused(1, "a.1 cannot wait for itself", "rjm_blocks=(a.1)", "a.1")
	s.refused(cli.ExitUsage, "--set", "", "--set", "rjm_x=1", "a.1")
	s.refused(cli.ExitUsage, "not a string", `{"x": [1]}`, "a.1")
	s.refused(cli.ExitUsage, "nor an array", `{"x": 1}`, "a.1")
	s.refused(cli.ExitUsage, "they are arrays", `{"rjm_blocks": "b.1"}`, "a.1")
	s.refused(cli.ExitUsage, "not a valid name", `{"x y": "1"}`, "a.1")
	s.refused(cli.ExitUsage, "dummy", "rjm_delete=(f)", "dummy.1")
	s.refused(cli.ExitUsage, "exclusive", "rjm_locks=(customer:42)", "a.1")
	s.refused(cli.ExitUsage, "shared", "", "--lock", "customer:42=both", "a.1")
	s.refused(cli.ExitUsage, "they are arrays", `{"rjm_locks": "customer:42=exclusive"}`, "a.1")
	s.refused(cli.ExitUsage, "one ID", "", "a.1", "b.1")
	if n := s.count("bellhop.jobqueue") + s.count("bellhop.rjm") + s.count("bellhop.dependency"); n != 0 {
		t.Errorf("%d rows", n)
	}
	s.isSetUp("", "b.1")
	s.ok("rjmgo", "b.1")
	s.refused(1, "b.1, which a.1 is to block, is released already: it is ready", "rjm_blocks=(b.1)", "a.1")
	if n := s.count("bellhop.jobqueue"); n != 1 {
		t.Errorf("%d jobs", n)
	}
	s.id("other", "--key", "plain.1")
	s.refused(1, "rjmsetup has not made", "", "plain.1")
}

// What bash, flags and JSON say is the same, whatever is in it.
func TestRJMSetup_WithoutAShell(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.isSetUp("", "ship.1")
	s.isSetUp("", "mail.1")
	nasty := "a'b\" $(rm x)\n\\"
	s.isSetUp("", "bill.1", "--set", "note="+nasty, "--block", "ship.1", "--block", "mail.1", "--delete", "my file", "-p", "c")
	s.isSetUp(`{"note": "a'b\" $(rm x)\n\\", "list": ["x", "y z"], "rjm_blocks": ["ship.1", "mail.1"], "rjm_delete": ["my file"]}`, "bill.2")
	s.isSetUp("x='a b'\nrjm_blocks=()\nrjm_blocks=(\"${rjm_blocks[@]}\" ship.1)\nrjm_blocks+=(mail.1)\nrjm_delete=(\"my file\")\necho noise\n", "bill.3")
	for _, id := range []string{"3", "4", "5"} {
		if n := s.count("bellhop.dependency where needs = " + id); n != 2 {
			t.Errorf("job %s blocks %d", id, n)
		}
		if n := s.count("bellhop.rjm where files = '{my file}' and state = 'done' and job = " + id); n != 1 {
			t.Errorf("the files of job %s are not known", id)
		}
	}
	for _, id := range []string{"6", "7", "8"} {
		switch id {
		case "6":
			s.isSetUp("rjm_locks=('file:my file=shared' customer:42=exclusive)\nrjm_delete=(x)", "lock.1")
		case "7":
			s.isSetUp("", "lock.2", "--lock", "file:my file=shared", "--lock", "customer:42=exclusive", "--delete", "x")
		default:
			s.isSetUp(`{"rjm_locks": ["file:my file=shared", "customer:42=exclusive"], "rjm_delete": ["x"]}`, "lock.3")
		}
		if n := s.count("bellhop.jobqueue where locks = '{\"file:my file=shared\",customer:42=exclusive}' and id = " + id); n != 1 {
			t.Errorf("the locks of job %s are not known", id)
		}
	}
	s.refused(1, "another configuration", "rjm_locks=(customer:43=exclusive)", "lock.1")
	has(t, s.ok("rjmls", "-t", "ship"), "wait ship.1 n - - blocked by 3")
	if got := s.ok("rjmls", "-t", "bill"); got != "wait bill.1 c - -\nwait bill.2 n - -\nwait bill.3 n - -\n" {
		t.Errorf("by priority, then id: %q", got)
	}
	has(t, s.ok("rjmls", "-t", "ship", "-o", "json"), `"blocked_by": 3`)
	s.fails(cli.ExitUsage, "states are wait, ready", "rjmls", "-s", "running")
}

// A dummy holds a child of a graph that is released already, until the real
// parent is known.
func TestRJM_ADummyStandsForAParentThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.isSetUp("", "child.1")
	s.isSetUp("rjm_blocks=(child.1)", "dummy.1")
	s.isSetUp("rjm_blocks=(child.1)", "root.1")
	s.ok("rjmgo", "root.1")
	has(t, s.ok("rjmls"), "wait dummy.1", "ready child.1 n - - blocked by 2", "ready root.1")
	s.over("3", "succeeded", 0)
	s.sql("select bellhop.ended('{3}')")
	s.refused(1, "is released already: it is blocked", "rjm_blocks=(child.1)", "late.1")
	s.isSetUp("rjm_blocks=(dummy.1)", "real.1")
	s.ok("rjmgo", "real.1")                // and the dummy with it
	s.sql("select bellhop.look_again(10)") // as every instance does
	s.over("5", "succeeded", 0)            // late.1 would have been 4
	s.sql("select bellhop.ended('{5}')")   // no agent has the dummy: it ends in the statement that makes it ready
	has(t, s.ok("rjmls", "-s", "old"), "old dummy.1", "ready child.1 n - -\n")
	if got := s.ok("rjmexit", "dummy.1"); got != "0\n" {
		t.Errorf("the dummy's exit code: %q", got)
	}
}

// Inside a job, what waits for that very job may get another parent.
func TestRJMSetup_InsideAJobBlocksItsOwnChildren(t *testing.T) {
	s := newHarness(t)
	s.isSetUp("", "child.1")
	s.isSetUp("rjm_blocks=(child.1)", "root.1")
	s.ok("rjmgo", "root.1")
	s.sql("update bellhop.jobqueue set state = 'running', started_at = now(), attempt = 1, fence = 1 where id = 2")
	s.refused(1, "released already", "rjm_blocks=(child.1)", "more.1")
	t.Setenv("BELLHOP_JOB_ID", "2")
	s.isSetUp("rjm_blocks=(child.1)", "more.1")
	has(t, s.ok("rjmls"), "ready child.1 n - - blocked by 2")
}

func TestRJMFlush_DeletesOnlyWhatIsOldAndRJMs(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.isSetUp("", "a.1")
	s.isSetUp("rjm_delete=(f)", "b.1")
	s.isSetUp("", "c.1")
	s.id("plain")
	for id, state := range map[string]string{"1": "succeeded", "2": "succeeded", "3": "failed", "4": "succeeded"} {
		s.over(id, state, 0)
	}
	s.sql("update bellhop.jobqueue set ended_at = ended_at - interval '4 days'")
	has(t, s.ok("rjmflush"), "1 deleted")
	has(t, s.ok("prune"), "1 deleted") // and b.1 has a file yet
	has(t, s.ok("rjmls", "-s", "done"), "failed c.1", "done b.1")
	s.sql("update bellhop.rjm set state = 'old'")
	has(t, s.ok("rjmflush", "--older-than", "5d"), "0 deleted")
	has(t, s.ok("rjmflush"), "1 deleted")
	if n := s.count("bellhop.rjm"); n != 1 {
		t.Errorf("%d records are left of one job", n)
	}
	s.fails(cli.ExitUsage, "3d, 36h", "rjmflush", "--older-than", "soon")
}

func TestRJM_ConfSaysWhereThingsAre(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"DATABASE_URL", "PGHOST", "PGSERVICE", "PGDATABASE", "PGPORT"} {
		t.Setenv(name, "")
	}
	s := newHarness(t)
	if err := os.Mkdir(filepath.Join(home, ".rjm"), 0o755); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(home, ".rjm", "conf.sh")
	clitest.Write(t, conf, "echo noise\nrjm_database='"+s.url+"'\nrjm_wd=/var/tmp\nrjm_hostid='big one'\n")
	if r := command("rjmls"); r.code != 0 {
		t.Errorf("the database of conf.sh: %+v", r)
	}
	clitest.Write(t, conf, "rjm_wd=here\n")
	if r := command("rjmls"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "not an absolute path") {
		t.Errorf("%+v", r)
	}
	clitest.Write(t, conf, "x=(\n")
	if r := command("rjmls"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, conf) {
		t.Errorf("%+v", r)
	}
}
