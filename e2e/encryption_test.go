package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/client"
	"bellhop/pgdev"
)

// sealingApps submit a job of type json under key KEYS with the args and the var SECRET that the command line names.
var sealingApps = map[string]string{
	"Python": `
import os, psycopg, sys
sys.path.insert(0, %q)
import bellhop
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
    keys = bellhop.Keys(sys.argv[1])
    given = {"vars": {"SECRET": sys.argv[3], "CUSTOMER": "42"}, "plain": ["CUSTOMER"], "key": "python", "keys": keys}
    ids = {bellhop.submit(conn, "json", {"text": sys.argv[2]}, **given) for _ in range(2)}
    assert len(ids) == 1, ids
`,
	"Node": `
const bellhop = require(%q + '/bellhop.js')
const { Client } = require('pg')
const [file, text, secret] = process.argv.slice(2)
const main = async () => {
  const client = new Client(process.env.DATABASE_URL)
  await client.connect()
  const given = { vars: { SECRET: secret, CUSTOMER: '42' }, plain: ['CUSTOMER'], key: 'node', keys: new bellhop.Keys(file) }
  const ids = [await bellhop.submit(client, 'json', { text }, given), await bellhop.submit(client, 'json', { text }, given)]
  if (ids[0] !== ids[1]) throw new Error(ids)
  await client.end()
}
main().catch(e => { console.error(e); process.exit(1) })
`,
}

// sealedAgents write what they get into the file got.
func (e *env) sealedAgents(keys string) string {
	got := filepath.Join(e.dir, "got")
	return "encryption: {keys: " + keys + "}\nhosts: [{name: local, slots: 4}, {name: far, slots: 2, connect: [env, HOME=" + e.dir + ", XDG_CACHE_HOME=]}]\n" + agents(
		`type: json, vars: ["*"], command: [bash, -c, 'echo "{\"bellhop\":1}"; while read -r l; do echo "$l" >>`+got+`; echo "{\"ok\":true}"; done']`,
		`type: classic, vars: ["*"], command: [bash, -c, 'echo OK; while read -r l; do echo "$l" >>`+got+`; echo OK; done']`,
		`type: exec, mode: exec, vars: ["*"], command: [sh, -c, 'echo "$0 $SECRET" >>`+got+`']`)
}

// holds reports whether a server has a text in any of its files: tables, journal and log.
func holds(t *testing.T, c *pgdev.Cluster, text string) (in []string) {
	t.Helper()
	err := filepath.WalkDir(c.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a file that goes meanwhile
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			in = append(in, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestEncryption_AgentsGetPlainText_TheServerNeverHasIt: apps in four languages seal, agents of each dialect, here and
// on another host, and items of a query. Not a file of the server has a text of them.
func TestEncryption_AgentsGetPlainText_TheServerNeverHasIt(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	e.sql("alter system set log_statement = 'all'")
	e.sql("select pg_reload_conf()")
	keys := filepath.Join(e.dir, "keys")
	e.ok("key", "new", keys)
	e.serve(e.sealedAgents(keys))
	secrets := []string{}
	secret := func(name string) string {
		s := "xyzzy-" + name + "-plugh"
		secrets = append(secrets, s)
		return s
	}
	e.ok("submit", "classic", secret("classic"), "--seal-with", keys, "--wait") // which gets no vars
	for _, typ := range []string{"json", "exec"} {
		e.ok("submit", typ, secret(typ), "--var", "SECRET="+secret("var-"+typ), "--seal-with", keys, "--wait")
	}
	e.ok("submit", "exec", secret("far"), "--var", "SECRET="+secret("var-far"), "--run-on", "far", "--seal-with", keys,
		"--wait")
	k, err := client.ReadKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	sealing := client.New(e.pool).WithKeys(k)
	id, err := sealing.Submit(t.Context(),
		client.Job{Type: "json", JSON: secret("go"), Vars: map[string]string{"SECRET": secret("var-go")}})
	if err != nil {
		t.Fatal(err)
	}
	e.waitState(int64(id), "succeeded")
	for lang, text := range sealingApps {
		argv := workerOf(t, lang)
		file := e.file("submit."+lang, fmt.Sprintf(text, example(t, "../everyday")), 0o644)
		cmd := exec.Command(argv[0], append(argv[1:], file, keys, secret(lang), secret("var-"+lang))...)
		withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+c.TCPURL(), "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", lang, err, out)
		}
		e.eventually(lang+"'s is done", "select state = 'succeeded' from bellhop.job where key = $1", strings.ToLower(lang))
	}
	e.sql("create table address (id int, text text)")
	for n, typ := range []string{"classic", "json"} {
		envelope := e.sealed(keys, typ, "item.address", secret("item-"+typ))
		e.sql("insert into address values ($1, $2)", n, envelope)
		e.ok("submit", typ, "--msq", fmt.Sprintf("select id, text as address from address where id = %d", n), "--wait")
	}

	got := strings.Join(e.lines("got"), "\n")
	has(t, got, secrets...)
	has(t, got, `address="xyzzy-item-classic-plugh"`, `"CUSTOMER":"42"`)
	if strings.Contains(got, "bellhop:sealed:") {
		t.Errorf("an agent got an envelope: %s", got)
	}
	const control = "xyzzy-control-plugh"
	e.ok("submit", "exec", control, "--wait")
	e.sql("checkpoint")
	if len(holds(t, c, control)) < 2 {
		t.Errorf("a plain text is in %q: is this all that the server has?", holds(t, c, control))
	}
	for _, s := range secrets {
		if in := holds(t, c, s); in != nil {
			t.Errorf("%s is in %q", s, in)
		}
	}
	id2 := value[int64](e, "select max(id) from bellhop.jobqueue where type = 'json' and msq is null")
	for _, said := range []string{
		e.ok("show", fmt.Sprint(id2)), e.ok("ls", "-s", "succeeded", "-o", "json"),
		e.ok("show", fmt.Sprint(id2), "-o", "json"),
	} {
		has(t, said, "sealed with key ")
		if strings.Contains(said, "bellhop:sealed:") {
			t.Errorf("it shows an envelope: %s", said)
		}
	}
}

// sealed is an envelope of a text.
func (e *env) sealed(keys, typ, place, text string) string {
	e.t.Helper()
	cmd := exec.Command(binary, "key", "seal", typ, place, "--keys", keys)
	cmd.Env, cmd.Stdin = environment(e.dir), strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestEncryption_AJobWaitsForItsKey: it does not fail, and counts no attempt. explain and doctor say what is missing.
// The job runs as soon as an instance has the key. What cannot be opened at all fails at once.
func TestEncryption_AJobWaitsForItsKey(t *testing.T) {
	t.Parallel()
	e := setup(t)
	keys, other := filepath.Join(e.dir, "keys"), filepath.Join(e.dir, "other")
	e.ok("key", "new", keys, "--id", "old")
	e.ok("key", "new", other, "--id", "new")
	i := e.serve(e.sealedAgents(keys))
	waiting := []int64{}
	for _, typ := range []string{"json", "classic", "exec"} {
		envelope := e.sealed(other, typ, "args", "of "+typ)
		id := value[int64](e, "select bellhop.submit($1, $2, max_attempts => 2)", typ, envelope)
		e.eventually("it waits", "select state = 'scheduled' and waiting_for like 'no_key: %' from bellhop.job where id = $1", id)
		waiting = append(waiting, id)
	}
	e.because(waiting[0], "no_key", "sealed with key new, and the keys here are old; no live instance has that key")
	has(t, e.run("doctor", "-c", i.config).stdout, "sealed with key new, which no live instance has: 3 waiting jobs")
	moved := value[int64](e, "select bellhop.submit('json', $1, max_attempts => 3)", e.sealed(keys, "exec", "args", "x"))
	if j := e.waitState(moved, "failed"); j.Attempt != 1 || !strings.Contains(j.Error, "sealed_broken") {
		t.Errorf("an envelope of another type: %+v", j)
	}
	e.because(moved, "sealed_broken", "another type or place")
	if lines := e.lines("got"); len(lines) > 0 {
		t.Errorf("an agent got %q", lines)
	}

	text, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, append(before, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, e.ok("reload"), "keys changed: old, new")
	for _, id := range waiting {
		if j := e.waitState(id, "succeeded"); j.Attempt != 1 {
			t.Errorf("%+v", j)
		}
	}
	old := e.sealed(keys, "exec", "args", "sealed before")
	e.ok("key", "new", keys, "--id", "third")
	has(t, e.ok("key", "ls", keys), "third", "seals and opens")
	has(t, e.ok("reload"), "keys changed: third, old, new")
	for _, envelope := range []string{old, e.sealed(keys, "exec", "args", "sealed after")} {
		e.waitState(value[int64](e, "select bellhop.submit('exec', $1)", envelope), "succeeded")
	}
	has(t, strings.Join(e.lines("got"), "\n"), "of json", "of classic", "of exec", "sealed before", "sealed after")
	if err := os.WriteFile(keys, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.run("reload"); r.code != 2 || !strings.Contains(r.stderr, "KEYID BASE64") {
		t.Errorf("a broken file of keys: %+v", r)
	}
}

const (
	pythonSealedWorker = `
import os, psycopg, sys
sys.path.insert(0, %q)
import bellhop

keys = bellhop.Keys(%q)

def mail(job):
    if job.args == "parent":
        job.children({"type": "mail", "args": "child", "vars": {"A": "a", "B": "b"}, "plain": ["B"]})
    job.finish(keys.seal("mail", "result", "%%s %%s" %% (job.args, job.vars)))

bellhop.work(psycopg.connect(os.environ["DATABASE_URL"]), {"mail": mail}, keys=keys)
`
	nodeSealedWorker = `
const bellhop = require(%q + '/bellhop.js')
const { Client } = require('pg')
const keys = new bellhop.Keys(%q)
bellhop.work(new Client(process.env.DATABASE_URL), {
  async mail (job) {
    if (job.args === 'parent') await job.children({ type: 'mail', args: 'child', vars: { A: 'a', B: 'b' }, plain: ['B'] })
    await job.finish(keys.seal('mail', 'result', job.args + ' ' + JSON.stringify(job.vars)))
  }
}, { keys })
`
)

// TestEncryption_Workers: they open what they take, seal child jobs, and leave a job whose key they lack.
func TestEncryption_Workers(t *testing.T) {
	t.Parallel()
	for lang, text := range map[string]string{"Python": pythonSealedWorker, "Node": nodeSealedWorker} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			argv := workerOf(t, lang)
			e, address := workerDatabase(t)
			e.sql("grant bellhop_submitter to mailer")
			keys, other := filepath.Join(e.dir, "keys"), filepath.Join(e.dir, "other")
			e.ok("key", "new", keys)
			e.ok("key", "new", other, "--id", "other")
			unknown := e.sealed(other, "mail", "args", "x")
			lacks := value[int64](e, "select bellhop.submit('mail', $1, max_attempts => 2)", unknown)
			broken := value[int64](e, "select bellhop.submit('mail', $1)", e.sealed(keys, "post", "args", "x"))
			id := value[int64](e, "select bellhop.submit('mail', $1)", e.sealed(keys, "mail", "args", "parent"))
			file := e.file("sealed."+lang, fmt.Sprintf(text, example(t, "../everyday"), keys), 0o644)
			cmd := exec.Command(argv[0], append(argv[1:], file)...)
			withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+address, "PYTHONDONTWRITEBYTECODE=1")
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }() // it works until then
			e.waitState(id, "succeeded")
			if j := e.waitState(broken, "failed"); !strings.Contains(j.Error, "it was sealed for another type or place") {
				t.Errorf("%+v", j)
			}
			e.eventually("it waits for its key", `select state = 'scheduled' and attempt = 0 and waiting_for = 'no_key: sealed with key other, which the worker mailer lacks'
				from bellhop.jobqueue where id = $1`, lacks)
			child := value[string](e, `select concat_ws(' ', args, vars ->> 'A', vars ->> 'B', result) from bellhop.jobqueue where id > $1`, id)
			if strings.Count(child, "bellhop:sealed:1:") != 3 || !strings.Contains(child, " b ") {
				t.Errorf("the child job is %s", child)
			}
		})
	}
}

// TestEncryption_WhatTheDatabaseGoesByStaysPlain: no lock is made of a sealed var, and explain says why. One is made of
// a plain var. A sealed share is none.
func TestEncryption_WhatTheDatabaseGoesByStaysPlain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	keys := filepath.Join(e.dir, "keys")
	e.ok("key", "new", keys)
	e.serve("encryption: {keys: " + keys + "}\n" + agents(
		`type: locked, mode: exec, command: [true], vars: [CUSTOMER], locks: ["customer:${vars.CUSTOMER}=exclusive"]`,
		`type: shared, mode: exec, command: [true], vars: [CUSTOMER], share: "${vars.CUSTOMER}"`))
	submit := func(typ string, more ...string) (id int64) {
		t.Helper()
		said := e.ok(append([]string{"submit", typ, "x", "--var", "CUSTOMER=42", "--seal-with", keys}, more...)...)
		if _, err := fmt.Sscan(said, &id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	e.waitState(submit("locked", "--plain", "CUSTOMER"), "succeeded")
	e.because(submit("locked"), "locks_malformed", "a var that is sealed", "--plain NAME")
	for id, want := range map[int64]string{submit("shared", "--plain", "CUSTOMER"): "42", submit("shared"): "none"} {
		e.waitState(id, "succeeded")
		share := value[string](e, "select coalesce(share, 'none') from bellhop.job where id = $1", id)
		if share != want {
			t.Errorf("job %d has share %s, want %s", id, share, want)
		}
	}
}
