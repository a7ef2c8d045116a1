package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// noise is a text of so many bytes that no index can make shorter.
func noise(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[rand.IntN(len(letters))]
	}
	return string(text)
}

// Whatever somebody writes, and however long it is, keeps back no job but his own.
func TestLocks_WhatIsTooLongForAnIndexKeepsNobodyElse(t *testing.T) {
	t.Parallel()
	label := noise(4000)
	for name, columns := range map[string]map[string]any{
		"label":         {"reasons": []string{"rate-limit:1:" + label}},
		"both are long": {"locks": []string{strings.Repeat(noise(512), 2) + ":" + noise(1024) + "=exclusive"}, "type": noise(500)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			typ := "cat"
			if columns["type"] != nil {
				typ = columns["type"].(string)
			}
			for range 2 {
				e.exec("insert into bellhop.jobqueue (type, locks, reasons) values ($1, $2, $3)", typ, columns["locks"], columns["reasons"])
			}
			other := e.locked("db:a=exclusive")
			d := demand(5)
			d.Locked = true
			d.Types = append(d.Types, scheduler.TypeDemand{Type: scheduler.TypeName(typ), Limit: 5, MaxPriority: 19})
			if typ == "cat" {
				d.Types = d.Types[:1]
			}
			got := e.claim(d)
			if !slices.Contains(ids(got), other) {
				t.Fatalf("%v start without %v", ids(got), other)
			}
			e.ends(got...)
			e.claim(d)
		})
	}
}

// A limit with a long text is one like others, and two texts are two limits.
func TestLocks_ALimitWithALongTextIsKept(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	label := noise(4000)
	limited := func(text string) scheduler.JobID {
		return e.insert("type, reasons", fmt.Sprintf("'cat', '{rate-limit:1:%s}'", text))
	}
	one, two, other := limited(label), limited(label), limited(label+"x")
	got := e.passed(5)
	if !slices.Equal(ids(got), []scheduler.JobID{one, other}) {
		t.Fatalf("%v start, want %v and %v", ids(got), one, other)
	}
	e.want(two, "behind", lock.Buckets([]string{"rate-limit:1:" + label})[0].String())
	e.ends(got...)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{two}) {
		t.Errorf("%v start, want %v", got, two)
	}
}
