package agents

import (
	"strings"
	"testing"

	"bellhop/scheduler"
)

// What was said of one job must not stand in the outcome of another, which may be somebody else's.
func TestWarm_LastWordsAreOfTheLineInHand(t *testing.T) {
	t.Parallel()
	const agent = `echo "hello of the start" >&2; echo OK
while read -r l; do
	echo "secret of customer $l" >&2
	if [ "$l" = 4 ]; then exit 7; fi
	echo OK
done`
	for name, feed := range map[string]func(*child){
		"fed ahead": func(c *child) {
			c.feed(line(1, "1"), line(2, "2"), line(3, "3"), line(4, "4"))
			for range 3 {
				c.await(scheduler.EventAnswered)
			}
		},
		"one by one": func(c *child) {
			for n, args := range []string{"1", "2", "3"} {
				c.feed(line(n+1, args))
				c.await(scheduler.EventAnswered)
			}
			c.feed(line(4, "4"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, sh(t, agent)).launch()
			c.await(scheduler.EventReady)
			feed(c)
			if ev := c.await(scheduler.EventExited); ev.Message != "secret of customer 4" || ev.Error != "exit status 7" {
				t.Errorf("it died with %q, and these words: %q", ev.Error, ev.Message)
			}
		})
	}
}

// What an idle agent says is nobody's, however late it is read.
func TestWarm_WhatAnIdleAgentSaysIsNotAboutTheNextLine(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; read -r l; echo OK; echo "late secret of $l" >&2; read -r l; exit 3`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "one"))
	c.await(scheduler.EventAnswered)
	eventually(t, patience, "it was heard", func() bool { return len(b.logged("late secret of one")) == 1 })
	c.feed(line(2, "two"))
	if ev := c.await(scheduler.EventExited); ev.Message != "" || ev.Told() != "exit status 3" {
		t.Errorf("it died with %q, and these words: %q", ev.Error, ev.Message)
	}
}

// Every reader of the queue may see the reason of an end: nothing in it was written by an agent.
func TestAgents_ReasonsHoldNothingThatAnAgentWrote(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	exec := func(text string) Spec {
		s := sh(t, text)
		s.Mode = ModeExec
		return s
	}
	fossology := func(text string) Spec {
		s := sh(t, text)
		s.Dialect = DialectFOSSology
		return s
	}
	for name, c := range map[string]struct {
		spec   Spec
		reason string
	}{
		"warm: dies":             {sh(t, `echo OK; read l; echo s3cret >&2; exit 3`), "exit status 3"},
		"warm: is killed":        {sh(t, `echo OK; read l; echo s3cret >&2; kill -9 $$`), "killed by signal 9"},
		"warm: before its OK":    {sh(t, `echo s3cret >&2; exit 3`), "exit status 3"},
		"json: fails":            {sh(t, `echo '{"bellhop":1}'; read l; echo '{"fail":"s3cret","exit_code":4}'; sleep 1000`), scheduler.SaidFailed},
		"json: of another type":  {sh(t, `echo '{"bellhop":1,"type":"s3cret"}'; sleep 1000`), "of another type"},
		"exec: fails":            {exec(`echo s3cret >&2; exit 5`), "exit status 5"},
		"exec: is killed":        {exec(`echo s3cret >&2; kill -11 $$`), "killed by signal 11"},
		"fossology: no VERSION":  {fossology(`echo s3cret; read l`), "invalid_agent: its first line is not VERSION"},
		"fossology: BYE 3":       {fossology(`echo VERSION: 1; echo OK; read l; echo FATAL s3cret; echo BYE 3`), "the agent said BYE 3"},
		"fossology: without BYE": {fossology(`echo VERSION: 1; echo OK; read l; echo FATAL s3cret; exit 6`), "it left without BYE: exit status 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := setup(t, c.spec).launch()
			ev := p.either()
			if ev.Kind == scheduler.EventReady {
				p.feed(line(1, "1"))
				ev = p.either()
			}
			if !strings.Contains(ev.Error, c.reason) || strings.Contains(ev.Error, secret) {
				t.Errorf("the reason is %q", ev.Error)
			}
			if !strings.Contains(ev.Message, secret) {
				t.Errorf("the words are %q", ev.Message)
			}
		})
	}
}

// either returns the next event, whatever it is.
func (c *child) either() scheduler.ChildEvent {
	c.b.t.Helper()
	eventually(c.b.t, patience, "something happens", func() bool { return !c.silent() })
	return c.await(c.events[c.next].Kind)
}
