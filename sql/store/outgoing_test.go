package store

import (
	"fmt"
	"testing"
	"time"

	"bellhop/scheduler/notice"
)

// A rule that was deleted tells nobody of what ends later, nor of what has ended and is nobody's yet; what waits to be
// sent by it goes out.
func TestOutgoing_ADeletedRuleTellsNobody(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	o := desk(e, func(url string) (*Outgoing, error) { return NewOutgoing(url, []string{"mail"}, time.Hour) })
	e.apply("w", "null", chain)
	fails := func(run int) {
		t.Helper()
		e.exec("select bellhop.workflow_run('w')")
		e.exec("select bellhop.run_ended($1, 'failed', null)", run)
	}
	address := func(ends int, want string) {
		t.Helper()
		if n, err := o.Address(t.Context()); n != ends || err != nil {
			t.Errorf("%d ends were told of, want %d: %v", n, ends, err)
		}
		if got := e.one("select string_agg(run || ' ' || target || ' ' || status, ', ' order by id) from bellhop.notice"); got != want {
			t.Errorf("messages are %q, want %q", got, want)
		}
	}
	ops := e.one("select bellhop.notice_rule_add(mail => '{ops@example.org}')")
	boss := e.one("select bellhop.notice_rule_add(mail => '{boss@example.org}')")
	drop := func(rule string) {
		t.Helper()
		for _, want := range []string{"true", "false"} {
			if got := e.one(fmt.Sprintf("select bellhop.notice_rule_delete(%s)", rule)); got != want {
				t.Errorf("rule %s was there: %s, want %s", rule, got, want)
			}
		}
	}
	drop(ops)
	fails(1)
	address(1, "1 boss@example.org waiting")
	fails(2)
	drop(boss)
	address(1, "1 boss@example.org waiting")
	fails(3)
	address(0, "1 boss@example.org waiting")
}

// What a receiver answered may be no text that PostgreSQL can hold: else no message would ever be marked again.
func TestOutgoing_AnAnswerOfAnyBytesIsMarked(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	o := desk(e, func(url string) (*Outgoing, error) { return NewOutgoing(url, []string{"mail"}, time.Hour) })
	e.exec(`insert into bellhop.notice (id, run, workflow, project, state, ended_at, channel, target, needs, until, status, instance)
		overriding system value values (1, 1, 'w', '', 'failed', now(), 'mail', 'a', 'mail', now() + interval '1 h', 'waiting', $1)`, int64(e.me))
	full := notice.Outcome{ID: 1, Error: "552 \xfcberf\xfcllt\x00", Over: true}
	if err := o.Mark(t.Context(), e.me, []notice.Outcome{full}); err != nil {
		t.Error(err)
	}
	if got := e.one("select error from bellhop.notice"); got != "552 \uFFFDberf\uFFFDllt\uFFFD" {
		t.Errorf("it is marked %q", got)
	}
}
