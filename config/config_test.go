package config

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

func mustParse(t *testing.T, name, text string) Config {
	t.Helper()
	c, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatalf("a good file was refused:\n%v", err)
	}
	return c
}

func TestParse_EmptyFileGivesDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\n", "# nothing yet\n", "---\n", "~\n", "\ufeff", "%YAML 1.2\n---\n",
		"hosts:\nagents:\nlimits:\n", "database: {url: }\ncommands_from_database: ~\n",
	} {
		got := mustParse(t, "", text)
		if want := Default(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %+v, want %+v", text, got, want)
		}
	}
}

func TestDefault_IsThisMachineAndNoAgents(t *testing.T) {
	t.Parallel()
	c := Default()
	if len(c.Hosts) != 1 || c.Hosts[0].Name != "local" || c.Hosts[0].Slots < 4 || len(c.Agents) != 0 {
		t.Errorf("hosts %+v, agents %+v", c.Hosts, c.Agents)
	}
	if want := (Instance{Heartbeat: 2 * time.Second, Lag: 10 * time.Second}); c.Instance != want {
		t.Errorf("instance %+v, want %+v", c.Instance, want)
	}
	want := Limits{
		Deaths: 5, Window: 5 * time.Minute, Idle: 15 * time.Minute, MinReady: 20 * time.Second,
		KillAfter: 20 * time.Second, StartTimeout: time.Minute,
		DBTimeout: time.Minute, DBRows: 100_000, DBBytes: 64 << 20, Result: 64 << 10,
		Silence: 3 * time.Minute, AliveEvery: 2 * time.Minute, AliveChecks: 5,
	}
	if c.Limits != want {
		t.Errorf("limits %+v, want %+v", c.Limits, want)
	}
	if c.Production || c.CommandsFromDatabase != nil || c.Listen != "127.0.0.1:8470" {
		t.Errorf("production %v, commands %v, listen %q", c.Production, c.CommandsFromDatabase, c.Listen)
	}
}

func TestParse_ReadsEveryKey(t *testing.T) {
	t.Parallel()
	got := mustParse(t, "/etc/bellhop/bellhop.yaml", `
database: {url: "postgres://a@h1,h2/b", listen_url: "host=/run dbname=b", msq_url: postgresql:///b, attach_url: "user=bellhop_attach"}
instance: {name: one, heartbeat: 1s, lag: 3s, grace: 1m}
limits: {deaths: 0, window: 1h, idle: 0s, min_ready: 0s, kill_after: 1ms, start_timeout: 2s, db_timeout: 3s, db_rows: 1, db_bytes: 2, result: 7, silence: 4s, alive_every: 5s, alive_checks: 6}
policy: {order: fifo, tick: 10s, ageing_ticks: 6, priority_tick: 0s, levels: [customer, db]}
production: true
commands_from_database: false
listen: "[::1]:0"
web: {prefix: /jobs/, trusted_proxies: [127.0.0.1, "::1", 10.0.0.0/8]}
token_file: token
hosts:
  - {name: local, slots: 0, resources: {gpu: 1}}
  - name: big1.example
    connect: [ssh, -p, 22, big1]
    resources: {gpu: 2, licence.v-1: 0}
    serves: ["srv:7"]
    only_types: [license]
    only_priorities: [-20, 19, urgent]
agents:
  - type: license
    command: [./agents/license, -n, 5, --, true, 1.50, "", "a\nb"]
    dialect: fossology
    max: 4
    max_per_host: 2
    slots: 2
    resources: {gpu: 1}
    weight: 3
    env: &common {LANG: C.UTF-8, PORT: 8080, EMPTY: "", TEXT: "a\nb", 7: x}
    vars: [USERID, "OPT_*", "*", PYTHONPATH]
    workdir: work
    user: root
    timeout: 1h30m
    locks: ["customer:${vars.CUSTOMER}=exclusive", big]
    config: conf
    exclusive: true
    local: true
    nokill: true
    noemail: true
    verbose: 3
  - {type: "a:b-C_9", command: [sleep], mode: exec, env: *common, workdir: /tmp/../srv, stdout: result,
     retry: {attempts: 5, first: 2s, most: 1h, factor: 1.5, jitter: 0, not: [64, timed_out], snooze: {75: 10m}}, ends: {no_data: [3, 4], skipped: [5]}}
`)
	no := false
	policy := lock.Policy{Order: lock.FIFO, Constants: lock.GanetiConstants, Levels: lock.Levels{"customer", "db"}}
	policy.Constants.Tick, policy.Constants.AgeingTicks, policy.Constants.PriorityTick = 10*time.Second, 6, 0
	env := map[string]string{"LANG": "C.UTF-8", "PORT": "8080", "EMPTY": "", "TEXT": "a\nb", "7": "x"}
	want := Config{
		File: "/etc/bellhop/bellhop.yaml",
		Database: Database{
			URL:       "postgres://a@h1,h2/b",
			ListenURL: "host=/run dbname=b",
			MSQURL:    "postgresql:///b",
			AttachURL: "user=bellhop_attach",
		},
		Instance: Instance{Name: "one", Heartbeat: time.Second, Lag: 3 * time.Second, Grace: time.Minute},
		Limits: Limits{
			Window:       time.Hour,
			KillAfter:    time.Millisecond,
			StartTimeout: 2 * time.Second,
			DBTimeout:    3 * time.Second,
			DBRows:       1,
			DBBytes:      2,
			Result:       7,
			Silence:      4 * time.Second,
			AliveEvery:   5 * time.Second,
			AliveChecks:  6,
		},
		Web: Web{Prefix: "/jobs", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"),
			netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8")}},
		Policy:               policy,
		Production:           true,
		CommandsFromDatabase: &no,
		Notifications:        Notifications{GiveUp: 24 * time.Hour},
		Retention:            DefaultRetention(),
		Listen:               "[::1]:0",
		TokenFile:            "/etc/bellhop/token",
		Hosts: []Host{
			{Name: "local", Resources: scheduler.Resources{"gpu": 1}},
			{
				Name: "big1.example", Slots: 4, Connect: []string{"ssh", "-p", "22", "big1"}, Serves: []string{"srv:7"},
				Resources: scheduler.Resources{"gpu": 2, "licence.v-1": 0},
				OnlyTypes: []string{"license"}, OnlyPriorities: []string{"-20", "19", "urgent"},
			},
		},
		Agents: []Agent{
			{
				Type: "license", Command: []string{"/etc/bellhop/agents/license", "-n", "5", "--", "true", "1.50", "", "a\nb"},
				Mode: ModeWarm, Dialect: DialectFOSSology, Max: 4, MaxPerHost: 2, Weight: 3, Slots: 2,
				Resources: scheduler.Resources{"gpu": 1}, Env: env,
				Vars: []string{"USERID", "OPT_*", "*", "PYTHONPATH"}, WorkDir: "/etc/bellhop/work", User: "root",
				Timeout: 90 * time.Minute, Locks: []string{"customer:${vars.CUSTOMER}=exclusive", "big"},
				FOSSology: FOSSology{
					Config: "/etc/bellhop/conf", Exclusive: true, Local: true, NoKill: true, NoEmail: true, Verbose: 3,
				},
			},
			{Type: "a:b-C_9", Command: []string{"sleep"}, Mode: ModeExec, Dialect: DialectAuto, Weight: 1, Slots: 1, Env: env,
				WorkDir: "/tmp/../srv",
				Stdout:  StdoutResult, Retry: &scheduler.RetryPolicy{
					Attempts: 5, First: 2 * time.Second, Most: time.Hour, Factor: 1.5,
					NotCodes: []int{64}, NotOutcomes: []scheduler.Outcome{scheduler.OutcomeTimedOut},
					Snooze: map[int]time.Duration{75: 10 * time.Minute}},
				Ends: scheduler.Ends{3: scheduler.NoData, 4: scheduler.NoData, 5: scheduler.Skipped}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestParse_HostWithoutSlotsTakesTheDefault(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "", "hosts: [{name: here}, {name: there, connect: [ssh, there]}]")
	if c.Hosts[0].Slots != Default().Hosts[0].Slots || c.Hosts[1].Slots != 4 {
		t.Errorf("slots %d and %d", c.Hosts[0].Slots, c.Hosts[1].Slots)
	}
}

func TestParse_RelativePathsStartFromTheFile(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{
		"":                   here,
		"bellhop.yaml":       here,
		"conf/bellhop.yaml":  filepath.Join(here, "conf"),
		"../bellhop.yaml":    filepath.Dir(here),
		"/etc/b/bellhop.yml": "/etc/b",
	} {
		a := mustParse(t, name, "agents: [{type: a, command: [bin/a, bin/b], workdir: w}]").Agents[0]
		if a.Command[0] != folder+"/bin/a" || a.Command[1] != "bin/b" || a.WorkDir != folder+"/w" {
			t.Errorf("%q: command %q, workdir %q", name, a.Command, a.WorkDir)
		}
	}
}

func TestParse_ExpandsNoVariables(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "", `agents: [{type: a, command: [echo, "${HOME}", $HOME], env: {X: "${HOME}"}}]`)
	if a := c.Agents[0]; a.Command[1] != "${HOME}" || a.Command[2] != "$HOME" || a.Env["X"] != "${HOME}" {
		t.Errorf("%+v", a)
	}
}

func TestLoad_ReadsTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bellhop.yaml")
	if err := os.WriteFile(path, []byte("agents: [{type: a, command: [./a]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(path), "a"); c.File != path || c.Agents[0].Command[0] != want {
		t.Errorf("file %q, command %q", c.File, c.Agents[0].Command)
	}
}

func TestLoad_UnreadableFileIsAProblemThatKeepsItsCause(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "none.yaml")
	for path, want := range map[string]string{
		missing: missing + ": no such file; copy bellhop.example.yaml there, or name another with -c",
		dir:     dir + ": cannot be read: is a directory",
	} {
		_, err := Load(path)
		var problems *Problems
		if !errors.As(err, &problems) || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if _, err := Load(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

const exampleFile = "../bellhop.example.yaml"

func TestExample_LoadsAndHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	got, err := Load(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	plain := mustParse(t, exampleFile, "hosts: [{name: local, slots: 4}]\nagents: [{type: license, command: [./agents/license]}]")
	// Written out or left out, an empty list is the same to its readers.
	if h := &got.Hosts[0]; len(h.Connect)+len(h.Serves)+len(h.OnlyTypes)+len(h.OnlyPriorities) == 0 {
		h.Connect, h.Serves, h.OnlyTypes, h.OnlyPriorities = nil, nil, nil, nil
	}
	if a := &got.Agents[0]; len(a.Env)+len(a.Vars) == 0 {
		a.Env, a.Vars = nil, nil
	}
	if n := &got.Notifications; len(n.Webhooks)+len(n.Commands) == 0 {
		n.Webhooks, n.Commands = nil, nil
	}
	if len(got.Retention.Types) == 0 {
		got.Retention.Types = nil
	}
	got.Agents = got.Agents[:1]
	if !reflect.DeepEqual(got, plain) {
		t.Errorf("the example says\n%+v\nthe defaults are\n%+v", got, plain)
	}
}

func TestExample_ShowsEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader("")
	var c Config
	sections := map[string][]field{
		"":         r.fileFields(&c),
		"database": r.databaseFields(&c.Database),
		"instance": r.instanceFields(&c.Instance),
		"limits":   r.limitsFields(&c.Limits),
		"hosts":    r.hostFields(&Host{}),
		"agents":   r.agentFields(&Agent{}),
	}
	shown, section := map[string]bool{}, ""
	for line := range strings.Lines(string(text)) {
		key, _, isKey := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ":")
		if !isKey || strings.HasPrefix(key, "#") {
			continue
		}
		if line[0] != ' ' {
			section = key
			shown[join("", key)] = true
			continue
		}
		shown[join(section, key)] = true
	}
	for at, fields := range sections {
		for _, f := range fields {
			if !shown[join(at, f.name)] {
				t.Errorf("the example lacks %s", join(at, f.name))
			}
		}
	}
}

func TestHost_OnlyPriorities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given []string
		want  *scheduler.Only
	}{
		{nil, nil},
		{[]string{"-20", "0"}, &scheduler.Only{Priorities: []int{-20, 0}}},
		{[]string{"urgent"}, &scheduler.Only{Names: "^(urgent)$"}},
		{[]string{"a*", "b?", "7"}, &scheduler.Only{Names: "^(a.*|b.)$", Priorities: []int{7}}},
	} {
		if got := (Host{OnlyPriorities: c.given}).Only(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.given, got, c.want)
		}
	}
}
