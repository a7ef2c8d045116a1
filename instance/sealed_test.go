package instance_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/instance"
	"bellhop/scheduler"
	"bellhop/seal"
)

func keysOf(t *testing.T, ids ...string) *seal.Keys {
	t.Helper()
	text := ""
	for _, id := range ids {
		line, err := seal.NewKey(id)
		if err != nil {
			t.Fatal(err)
		}
		text += line
	}
	keys, err := seal.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func envelope(t *testing.T, k *seal.Keys, at, text string) string {
	t.Helper()
	sealed, err := k.Seal(seal.Place{Type: "mail", At: at}, text)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestOpener_GivesAnAgentPlainText_AndLeavesTheLineSealed(t *testing.T) {
	t.Parallel()
	k := keysOf(t, "a")
	o := &instance.Opener{}
	o.Take(k)
	address := envelope(t, k, seal.Item("address"), `ann "x" @example.org`)
	columns := []scheduler.Column{{Name: "id", Value: "7"}, {Name: "address", Value: address}}
	vars := scheduler.Vars(`{"A":"` + envelope(t, k, seal.Var("A"), "<secret>") + `","B":"plain"}`)
	for name, c := range map[string]struct{ line, want scheduler.Line }{
		"args": {
			scheduler.Line{HasArgs: true, Args: envelope(t, k, seal.Args, "to ann")},
			scheduler.Line{HasArgs: true, Args: "to ann"},
		},
		"vars": {scheduler.Line{Vars: vars}, scheduler.Line{Vars: `{"A":"\u003csecret\u003e","B":"plain"}`}},
		"an item": {
			scheduler.Line{Item: 1, HasArgs: true, Args: scheduler.Pairs(columns), Columns: columns},
			scheduler.Line{Item: 1, HasArgs: true, Args: `id="7" address="ann \"x\" @example.org"`,
				Columns: []scheduler.Column{{Name: "id", Value: "7"}, {Name: "address", Value: `ann "x" @example.org`}}},
		},
		"plain text": {scheduler.Line{HasArgs: true, Args: "x", Vars: `{ "A" : "1" }`},
			scheduler.Line{HasArgs: true, Args: "x", Vars: `{ "A" : "1" }`}},
	} {
		was := c.line
		got, err := o.Open("mail", &c.line)
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c.want)
		}
		if !reflect.DeepEqual(was, c.line) || columns[1].Value != address {
			t.Errorf("%s: the line itself was opened: %+v", name, c.line)
		}
	}
}

func TestOpener_SaysWhyALineStaysSealed(t *testing.T) {
	t.Parallel()
	k := keysOf(t, "a")
	o := &instance.Opener{}
	sealed := envelope(t, k, seal.Args, "x")
	for name, c := range map[string]struct {
		keys    *seal.Keys
		text    string
		why     string
		retried bool
	}{
		"no keys":      {nil, sealed, "no_key: sealed with key a, and no keys are here", true},
		"other keys":   {keysOf(t, "b", "c"), sealed, "no_key: sealed with key a, and the keys here are b, c", true},
		"a later form": {k, strings.Replace(sealed, ":1:", ":2:", 1), "no_key: sealed with key a in form 2", true},
		"another type": {k, envelope(t, k, "vars.A", "x"), "sealed_broken: ", false},
		"a cut text":   {k, sealed[:len(sealed)-8], "sealed_broken: ", false},
	} {
		o.Take(c.keys)
		_, err := o.Open("mail", &scheduler.Line{HasArgs: true, Args: c.text})
		var stays *scheduler.SealedError
		if !errors.As(err, &stays) || !strings.HasPrefix(stays.Why, c.why) || stays.Pause > 0 != c.retried {
			t.Errorf("%s: got %v (%+v), want %q", name, err, stays, c.why)
		}
	}
}

func TestLacksKey_RestsForAsLongAsTheJobIsOld(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{
		-time.Hour: 10 * time.Second, 0: 10 * time.Second, time.Minute: time.Minute, 24 * time.Hour: 10 * time.Minute,
	} {
		if got := scheduler.LacksKey("x", age).Pause; got != want {
			t.Errorf("a job that is %s old rests for %s, want %s", age, got, want)
		}
	}
}

// An item, and what no key opens, fails: a query would run its item again at once, for ever.
func TestSealedError_WhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	job, item := scheduler.Line{}, scheduler.Line{Item: 3}
	waits, broken := scheduler.LacksKey("x", 0), &scheduler.SealedError{Why: "sealed_broken: x"}
	for _, c := range []struct {
		of    *scheduler.SealedError
		line  *scheduler.Line
		again bool
	}{{waits, &job, true}, {waits, &item, false}, {broken, &job, false}, {broken, &item, false}} {
		ev := c.of.Refused(c.line, 126, time.Now())
		rests := ev.Answer.Snooze > 0
		if ev.Again != c.again || rests != c.again || ev.Answer.Never == c.again || ev.OK || ev.Item != c.line.Item {
			t.Errorf("%s, item %d: %+v", c.of.Why, c.line.Item, ev)
		}
	}
}
