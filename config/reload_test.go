package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/config"
)

const running = `
instance: {name: a}
limits: {idle: 15m, db_rows: 10}
hosts: [{name: local, slots: 4}, {name: big, slots: 8, connect: [ssh, big]}]
agents:
  - {type: a, command: [/bin/a]}
  - {type: b, command: [/bin/b], locks: ["db:x=shared"]}
`

// What a running instance takes of a file that has changed, and what it says of
// the rest.
func TestCompare_WhatIsTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, says string }{
		"nothing":          {"", "", "nothing has changed"},
		"an agent more":    {"agents:\n", "agents:\n  - {type: c, command: [/bin/c]}\n", "agents added: c"},
		"an agent less":    {"  - {type: a, command: [/bin/a]}\n", "", "agents removed: a"},
		"another command":  {"/bin/a", "/bin/aa", "agents changed: a"},
		"another timeout":  {"/bin/a]", "/bin/a], timeout: 1m", "agents changed: a"},
		"fewer slots":      {"slots: 4", "slots: 1", "hosts changed: local"},
		"another name":     {"slots: 8", "slots: 8, serves: [srv]", "hosts changed: big"},
		"limits":           {"idle: 15m", "idle: 1m, min_ready: 1s", "limits changed: idle, min_ready"},
		"fixed limits":     {"db_rows: 10", "db_rows: 11", "nothing changes now; holds from the next start: limits.db_rows"},
		"a host more":      {"hosts: [", "hosts: [{name: new, slots: 1}, ", "nothing changes now; holds from the next start: hosts.new"},
		"a host elsewhere": {"[ssh, big]", "[ssh, bigger]", "nothing changes now; holds from the next start: hosts.big.connect"},
		"a host less": {"{name: local, slots: 4}, ", "", "nothing changes now; holds from the next start: " +
			"hosts.local (not in the file any more)"},
		"locks": {"db:x=shared", "db:x=exclusive", "nothing changes now; holds from the next start: agents.b.locks"},
		"locks and a command": {`/bin/b], locks: ["db:x=shared"`, `/bin/bb], locks: ["db:x=exclusive"`,
			"nothing changes now; holds from the next start: agents.b.locks, and with it its other changes"},
		"a host elsewhere and smaller": {"slots: 8, connect: [ssh, big]", "slots: 2, connect: [ssh, bigger]",
			"nothing changes now; holds from the next start: hosts.big.connect, and with it its other changes"},
		"locks of a new": {"agents:\n", "agents:\n  - {type: c, command: [/c], locks: ['db:y=shared']}\n", "nothing changes now; holds from the next start: agents.c.locks"},
		"an engine":      {"agents:\n", "agents:\n  - {type: e, mode: engine, engine: slurm, command: [/bin/e]}\n", "nothing changes now; holds from the next start: agents.e"},
		"no engine any more": {"  - {type: e, mode: engine, engine: slurm, command: [/bin/e]}\n", "", "nothing changes now; holds from the next start: " +
			"agents.e (not in the file any more)"},
		"the rest": {"instance: {name: a}", "instance: {name: b}\nlisten: 127.0.0.1:1\ncommands_from_database: true", "nothing changes now; holds from the next start: instance, commands_from_database, listen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := running
			if strings.Contains(c.from, "engine") {
				text += c.from
			}
			old, now := parse(t, text), parse(t, strings.Replace(text, c.from, c.to, 1))
			r := config.Compare(old, now)
			if r.String() != c.says {
				t.Errorf("it says %q, want %q", r, c.says)
			}
			if taken := !strings.HasPrefix(c.says, "nothing "); taken == r.Nothing() {
				t.Errorf("%+v", r)
			}
			if len(r.Restart) == 0 && !reflect.DeepEqual(r.Config, now) {
				t.Errorf("goes on with %+v, want %+v", r.Config, now)
			}
			if again := config.Compare(r.Config, now); !again.Nothing() || !slices.Equal(again.Restart, r.Restart) {
				t.Errorf("the same once more: %s", again)
			}
		})
	}
}

// Law: a field of the configuration that nobody has thought of is not taken in silence.
func TestCompare_TellsOfEveryField(t *testing.T) {
	t.Parallel()
	of := reflect.TypeFor[config.Config]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if slices.Contains([]string{"File", "Agents", "Hosts", "Limits", "Encryption"}, name) {
			continue
		}
		old, now := config.Default(), config.Default()
		if !change(reflect.ValueOf(&now).Elem().Field(i)) {
			t.Errorf("%s: the test does not know how to change it", name)
			continue
		}
		if r := config.Compare(old, now); len(r.Restart) != 1 || !r.Nothing() {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The keys for sealed jobs are read again in any case.
func TestCompare_TakesTheFileOfKeys(t *testing.T) {
	t.Parallel()
	old, now := config.Default(), config.Default()
	now.Encryption.Keys = "/etc/bellhop/keys"
	r := config.Compare(old, now)
	if r.Nothing() || r.Config.Encryption != now.Encryption || r.String() != "encryption.keys changed" {
		t.Errorf("it says %q, and goes on with %+v", r, r.Config.Encryption)
	}
}

// change makes a value another one.
func change(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + int64(time.Second))
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		return change(v.Field(0))
	default:
		return false
	}
	return true
}

func parse(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := config.Parse("bellhop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
