package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// app is an example of one that submits in its own transaction.
type app struct {
	name string
	// command is what runs it; empty, with what to install, where that cannot be.
	command func(t *testing.T, dir string) (argv []string, missing string)
}

var apps = []app{
	{"Go", func(t *testing.T, dir string) ([]string, string) {
		program := filepath.Join(dir, "order")
		if out, err := exec.Command("go", "build", "-o", program, "bellhop/examples/order").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{program}, ""
	}},
	{"Go with the client", func(t *testing.T, dir string) ([]string, string) {
		program := filepath.Join(dir, "order")
		if out, err := exec.Command("go", "build", "-o", program,
			"bellhop/examples/order/client").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{program}, ""
	}},
	{"Python", func(t *testing.T, _ string) ([]string, string) {
		// Debian's package is for Debian's python, which may not be the first one here.
		for _, python := range []string{"python3", "/usr/bin/python3"} {
			if exec.Command(python, "-c", "import psycopg").Run() == nil {
				return []string{python, example(t, "order.py")}, ""
			}
		}
		return nil, "apt-get install python3 python3-psycopg"
	}},
	{"Node", func(t *testing.T, _ string) ([]string, string) {
		if cmd := exec.Command("node", "-e", "require('pg')"); withNodePath(cmd).Run() == nil {
			return []string{"node", example(t, "order.js")}, ""
		}
		return nil, "apt-get install nodejs node-pg"
	}},
	{"psql", func(t *testing.T, _ string) ([]string, string) {
		if _, err := exec.LookPath("psql"); err != nil {
			return nil, "apt-get install postgresql-client"
		}
		// The words are those of the file's own first lines.
		return []string{"sh", "-c", `psql "$DATABASE_URL" -X -q -v ON_ERROR_STOP=1 -v id="$1" -v total="$2" -v traceparent="$TRACEPARENT" -f "$0"`,
			example(t, "order.sql")}, ""
	}},
}

func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../examples/order/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// withNodePath lets any node find Debian's modules.
func withNodePath(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(os.Environ(), "NODE_PATH="+os.Getenv("NODE_PATH")+":/usr/share/nodejs")
	return cmd
}

// TestExamples_InvoiceAgent: the agent in Go that is beside the apps.
func TestExamples_InvoiceAgent(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for name, pkg := range map[string]string{"agent": "bellhop/examples/order/agent", "app": "bellhop/examples/order/client"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(e.dir, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	e.sql("create table orders (id bigint primary key, total numeric check (total >= 0))")
	e.serve(agents("type: invoice, command: [" + filepath.Join(e.dir, "agent") + "]"))
	app := exec.Command(filepath.Join(e.dir, "app"), "42", "99.5", patience.String())
	app.Env = append(os.Environ(), "DATABASE_URL="+e.url, "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	out, err := app.CombinedOutput()
	id, bad := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || bad != nil {
		t.Fatalf("%v, it printed %q", err, out)
	}
	has(t, e.logged(id), "info: order 42 of 00-0af7651916cd43dd8448eb211c80319c-")
}

// TestExamples_CommittedRunsRolledBackNeverWas: the examples do what the
// README says of an app in any language, with a trace that reaches the agent.
func TestExamples_CommittedRunsRolledBackNeverWas(t *testing.T) {
	t.Parallel()
	for n, app := range apps {
		t.Run(app.name, func(t *testing.T) {
			t.Parallel()
			dir := pgtest.Dir(t)
			argv, missing := app.command(t, dir)
			if argv == nil {
				t.Skipf("NOT TESTED: the example in %s; type `%s`", app.name, missing)
			}
			c, e := setupOwn(t)
			e.sql("create table orders (id bigint primary key, total numeric check (total >= 0))")
			e.serve(agents(`type: invoice, mode: exec, command: [sh, -c, 'echo "order $0 of $TRACEPARENT"']`))
			trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333" + strconv.Itoa(n) + "-01"
			run := func(id, total string) (string, error) {
				cmd := exec.Command(argv[0], append(argv[1:], id, total)...)
				withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+c.TCPURL(), // not every driver reads a socket's URL
					"TRACEPARENT="+trace)
				out, err := cmd.CombinedOutput()
				return strings.TrimSpace(string(out)), err
			}

			out, err := run("42", "99.5")
			id, bad := strconv.ParseInt(out, 10, 64)
			if err != nil || bad != nil {
				t.Fatalf("%v, it printed %q", err, out)
			}
			e.waitState(id, "succeeded")
			if kept := value[string](e, "select traceparent from bellhop.jobqueue where id = $1", id); kept != trace {
				t.Errorf("the row has %q", kept)
			}
			has(t, e.logged(id), "order 42 of "+trace)

			// The order is refused when its job is inserted already.
			if out, err := run("43", "-1"); err == nil || !strings.Contains(out, "orders_total_check") {
				t.Errorf("an order that is refused: %v, it printed %q", err, out)
			}
			if jobs := column[string](e, "select key from bellhop.jobqueue"); len(jobs) != 1 || jobs[0] != "invoice.42" {
				t.Errorf("jobs are %q", jobs)
			}
			if n := value[int](e, "select count(*) from orders"); n != 1 {
				t.Errorf("%d orders", n)
			}
		})
	}
}
