package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

// parcels are the programs of docs/orders.md.
var parcels = []app{
	{"River", func(t *testing.T, dir string) ([]string, string) {
		program := filepath.Join(dir, "river")
		build := exec.Command("go", "build", "-o", program, "bellhop/examples/parcel/river")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{program}, ""
	}},
	{"Absurd", inPython("../parcel/absurd.py")},
	{"Celery", inPython("../parcel/celery.py")},
	{"bash", func(t *testing.T, _ string) ([]string, string) {
		if _, err := exec.LookPath("psql"); err != nil {
			return nil, "apt-get install postgresql-client"
		}
		return []string{"bash", example(t, "../parcel/order.sh")}, ""
	}},
}

// The page shows each program as it is, and each has under 30 lines.
func TestOrders_ThePageShowsThem(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/orders.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"river/main.go", "absurd.py", "celery.py", "order.sh"} {
		text, err := os.ReadFile(example(t, "../parcel/"+file))
		if err != nil {
			t.Fatal(err)
		}
		shown := strings.TrimPrefix(string(text), "#!/bin/bash\n")
		if _, from, is := strings.Cut(shown, "func main() {\n"); is { // without imports, and without must
			shown, _, _ = strings.Cut("func main() {\n"+from, "\nfunc must")
		}
		if n := strings.Count(shown, "\n"); n >= 30 {
			t.Errorf("%s has %d lines", file, n)
		}
		has(t, string(page), "\n"+shown+"```\n")
	}
}

// Each program reserves, charges, waits for its parcel as a row, and mails. It is killed while it waits, and another
// one of its kind goes on: each row is there once.
func TestOrders_EachRowOnceInEachWay(t *testing.T) {
	t.Parallel()
	for _, way := range parcels {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			argv, missing := way.command(t, pgtest.Dir(t))
			if argv == nil {
				t.Skipf("NOT TESTED: an order in the way of %s; type `%s`", way.name, missing)
			}
			e := setup(t)
			e.sql(`create table orders (id bigint primary key); create table reserved (id bigint);
				create table charged (id bigint); create table mails (id bigint, addr text)`)
			start := func(orders ...string) (kill func()) {
				cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], orders...)...)
				library := filepath.Dir(example(t, "../everyday/bellhop.py"))
				cmd.Env = append(os.Environ(), "DATABASE_URL="+e.url, "PYTHONPATH="+library)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				kill = func() {
					if cmd.ProcessState == nil {
						_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
						_ = cmd.Wait()                                      // it was killed
					}
				}
				t.Cleanup(kill)
				return kill
			}
			const rows = `select concat_ws(' ', (select count(*) from orders), (select count(*) from reserved),
				(select count(*) from charged), (select string_agg(id || ' ' || addr, ',') from mails))`
			kill := start("42")
			e.eventually("the job waits for its parcel", "select exists (select from bellhop.awaits where waits)")
			kill()
			if got := value[string](e, rows); got != "1 1 1" {
				t.Errorf("before its parcel has come: %s", got)
			}
			e.ok("emit", "parcel.42", `{"to":"Prague"}`)
			start()
			e.eventually("its jobs have succeeded",
				"select count(*) > 0 and bool_and(state = 'succeeded') from bellhop.jobqueue")
			if got := value[string](e, rows); got != "1 1 1 42 Prague" {
				t.Errorf("in the end: %s", got)
			}
		})
	}
}
