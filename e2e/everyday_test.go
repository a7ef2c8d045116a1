package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// everyday are the apps of examples/everyday: how each is run, or what is missing for that.
var everyday = []app{
	{"Go", func(t *testing.T, dir string) ([]string, string) {
		program := filepath.Join(dir, "everyday")
		if out, err := exec.Command("go", "build", "-o", program, "bellhop/examples/everyday").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{program}, ""
	}},
	{"Python", inPython("../everyday/app.py")},
	{"Node", func(t *testing.T, _ string) ([]string, string) {
		if cmd := exec.Command("node", "-e", "require('pg')"); withNodePath(cmd).Run() == nil {
			return []string{"node", example(t, "../everyday/app.js")}, ""
		}
		return nil, "apt-get install nodejs node-pg"
	}},
}

// inPython runs an example with the first Python that has psycopg.
func inPython(file string) func(*testing.T, string) ([]string, string) {
	return func(t *testing.T, _ string) ([]string, string) {
		for _, python := range []string{"python3", "/usr/bin/python3"} {
			if exec.Command(python, "-c", "import psycopg").Run() == nil {
				return []string{python, example(t, file)}, ""
			}
		}
		return nil, "apt-get install python3 python3-psycopg"
	}
}

// TestEveryday_InUnderFortyLines: with the shipped rights of an app, each submits
// in its transaction, shows progress and the result, cancels, and retries by
// filter what is its own.
func TestEveryday_InUnderFortyLines(t *testing.T) {
	t.Parallel()
	short := map[string]int{"main.go": 40, "app.py": 40, "app.js": 40, "bellhop.py": 400, "bellhop.js": 400}
	for file, most := range short {
		text, err := os.ReadFile(example(t, "../everyday/"+file))
		if n := strings.Count(string(text), "\n"); err != nil || n >= most {
			t.Errorf("%s: %v, %d lines", file, err, n)
		}
	}
	for n, app := range everyday {
		t.Run(app.name, func(t *testing.T) {
			t.Parallel()
			dir := pgtest.Dir(t)
			argv, missing := app.command(t, dir)
			if argv == nil {
				t.Skipf("NOT TESTED: the everyday example in %s; type `%s`", app.name, missing)
			}
			c, e := setupOwn(t)
			login := fmt.Sprintf("app%d", n)
			e.sql("create role " + login + " login password 'x'")
			e.sql("grant bellhop_submitter to " + login)
			e.sql("create table orders (id bigint primary key)")
			e.sql("grant insert, select on orders to " + login)
			fifo, write := e.fifo("go")
			e.serve(agents("type: mail, mode: exec, command: [sh, -c]", `type: invoice, command: [sh, `+e.file("invoice", `echo '{"bellhop":1}'
while read -r job; do
  echo '{"progress":{"done":0.5,"text":"page 1"}}'
  read -r go <`+fifo+`
  echo '{"result":{"pages":2}}'; echo '{"ok":true}'
done
`, 0o644)+"]"))
			others := e.insert("type, args", "mail", "exit 1") // another's
			e.waitState(others, "failed")
			address, err := url.Parse(c.TCPURL()) // not every driver reads a socket's URL
			if err != nil {
				t.Fatal(err)
			}
			address.User = url.UserPassword(login, "x")
			mail := "[ -e " + filepath.Join(dir, "up") + " ]"
			submitted := e.runIn([]string{"DATABASE_URL=" + address.String()}, "submit", "mail", mail)
			mine, err := strconv.ParseInt(strings.TrimSpace(submitted.stdout), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			e.waitState(mine, "failed")
			if err := os.WriteFile(filepath.Join(dir, "up"), nil, 0o644); err != nil {
				t.Fatal(err)
			}

			cmd := exec.Command(argv[0], append(argv[1:], "42")...)
			withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+address.String())
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			e.eventually("it is half done", "select exists (select from bellhop.job where type = 'invoice' and progress = 0.5)")
			write("go")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			has(t, said.String(), "succeeded", "pages", "the reminder is cancelled", "1 failed mails are tried again")
			e.waitState(mine, "succeeded")
			if j := e.job(others); j.State != "failed" || j.Attempt != 1 {
				t.Errorf("another's job: %+v", j)
			}
			if keys := column[string](e, "select key from bellhop.jobqueue where key is not null"); len(keys) != 1 || keys[0] != "invoice.42" {
				t.Errorf("keys are %q", keys)
			}
			again := exec.Command(argv[0], append(argv[1:], "42")...) // the order is there: its job is not submitted again
			withNodePath(again).Env = cmd.Env
			if text, failed := again.CombinedOutput(); failed == nil || !strings.Contains(string(text), "orders_pkey") {
				t.Errorf("the same order: %v, %s", failed, text)
			}
		})
	}
}

// TestEveryday_ClientsSubmitEveryColumn: the one-file clients make the row that SQL makes of the same values.
func TestEveryday_ClientsSubmitEveryColumn(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	first := value[int64](e, `select bellhop.submit('t', 'first', key => 'first')`)
	batch := value[int64](e, `select bellhop.submit('dummy', held => true, on_failure => 'run', key => 'batch')`)
	sql := fmt.Sprintf(`select bellhop.submit('t', msq => 'select 1 limit 1', repeat => 'once', run_on => 'h', key => 'sql', priority_name => 'b7',
		run_at => '2126-01-01T00:00:00Z', held => true, vars => '{"A": "1"}', locks => '{db:a=shared,big}', reasons => '{import:1}', max_attempts => 2,
		timeout => '90 s', on_failure => 'run', traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', after => '{%d}',
		after_keys => '{first}', wanted => '{succeeded,failed}', once => 'open', per => '1 day', replace => true,
		not_after => '2127-01-01T00:00:00Z', batch => %d)`, first, batch)
	if id := value[int64](e, sql); id <= batch {
		t.Fatalf("job %d", id)
	}
	const row = `select (to_jsonb(j) - '{id,txid,created_at,key}'::text[])::text || (select array_agg(d.needs || d.wanted::text)::text from bellhop.dependency d where d.job = j.id)
		|| split_part(key, '@', 2) || (select count(*) from bellhop.dependency d where d.job = %d and d.needs = j.id) from bellhop.jobqueue j where key like '%s@%%'`
	want := value[string](e, fmt.Sprintf(row, batch, "sql"))
	columns := func(key string) string {
		return fmt.Sprintf(`{"msq": "select 1 limit 1", "repeat": "once", "run_on": "h", "key": %q, "priority": 0, "priority_name": "b7",
		"run_at": "2126-01-01T00:00:00Z", "held": true, "vars": {"A": "1"}, "locks": ["db:a=shared", "big"], "reasons": ["import:1"], "max_attempts": 2,
		"timeout": "90 s", "on_failure": "run", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "after": [%d],
		"after_keys": ["first"], "wanted": ["succeeded", "failed"], "once": "open", "per": "1 day", "replace": true,
		"not_after": "2127-01-01T00:00:00Z", "batch": %d}`, key, first, batch)
	}
	for _, client := range []struct{ name, missing, code, columns string }{
		{"Python", "apt-get install python3 python3-psycopg", `import bellhop, json, os, psycopg
conn = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
bellhop.submit(conn, "t", None, **json.loads(os.environ["COLUMNS_OF_IT"]))
try: bellhop.submit(conn, "t", nosuch=1)
except ValueError as e: print(e)`, columns("Python")},
		{"Node", "apt-get install nodejs node-pg", `const bellhop = require('./bellhop'), { Client } = require('pg')
const client = new Client(process.env.DATABASE_URL)
client.connect().then(() => bellhop.submit(client, 't', null, JSON.parse(process.env.COLUMNS_OF_IT)))
  .then(() => bellhop.submit(client, 't', null, { nosuch: 1 })).catch(e => console.log(e.message)).finally(() => client.end())`, columns("Node")},
	} {
		t.Run(client.name, func(t *testing.T) {
			argv := everydayCommand(t, client.name, client.code)
			if argv == nil {
				t.Skipf("NOT TESTED: every column in %s; type `%s`", client.name, client.missing)
			}
			cmd := withNodePath(exec.Command(argv[0], argv[1:]...))
			cmd.Dir = filepath.Dir(example(t, "../everyday/app.py"))
			cmd.Env = append(cmd.Env, "DATABASE_URL="+c.TCPURL(), "COLUMNS_OF_IT="+client.columns, "PYTHONDONTWRITEBYTECODE=1")
			said, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(said), "nosuch") || !strings.Contains(string(said), "priority_name") {
				t.Fatalf("%v: %s", err, said)
			}
			if got := value[string](e, fmt.Sprintf(row, batch, client.name)); got != want {
				t.Errorf("it makes\n%s, SQL makes\n%s", got, want)
			}
		})
	}
}

// everydayCommand runs a line of code with the program that runs the app in a language; nil: that is not there.
func everydayCommand(t *testing.T, language, code string) []string {
	t.Helper()
	for _, app := range everyday {
		if app.name != language {
			continue
		}
		if argv, _ := app.command(t, ""); argv != nil {
			return []string{argv[0], map[string]string{"Python": "-c", "Node": "-e"}[language], code}
		}
	}
	return nil
}
