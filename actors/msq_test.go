package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/msq"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// queries answers each query with so many rows, all at once.
type queries struct {
	calls
	rows   int
	refuse error // what opening one says
	cut    error // what reading one says
}

func (q *queries) Open(context.Context, string) (port.Rows, error) {
	q.add("open")
	if q.refuse != nil {
		return nil, q.refuse
	}
	return &rowsOf{q, q.rows}, nil
}

type rowsOf struct {
	*queries
	left int
}

func (r *rowsOf) Next(context.Context) (list [][]scheduler.Column, err error) {
	changed()
	for ; r.left > 0; r.left-- {
		list = append(list, []scheduler.Column{{Name: "g", Value: fmt.Sprint(r.left)}})
	}
	return list, r.cut
}

func (r *rowsOf) Close() { r.add("close") }

func playMSQ(t *testing.T, q *queries, with func(s *stage)) {
	t.Helper()
	play(t, Config{Queries: q, Maintenance: &chores{}, Retry: scheduler.DefaultRetry}, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleHosts, message.RoleMSQs, message.RoleHost("h"))
		job := scheduler.Job{Type: "a", MSQ: "select g from t",
			Line: scheduler.Line{Claim: claimOf(5), Instance: 1, Attempt: 1, MaxAttempts: 1}}
		s.start(message.RoleMSQ(5), msq.New(s.forMSQ(), job))
		with(s)
	})
}

// owed is what the outbox holds of a job, as its verdict and its error.
func owed(s *stage) (list []string) {
	batch, _, _ := s.outbox.Take(time.Now())
	for _, r := range batch.Records {
		list = append(list, strings.TrimSpace(fmt.Sprint(r.Verdict.State, " ", r.Result.Error)))
	}
	s.outbox.Acked(nil, time.Now())
	return list
}

// A query that is to blame ends its job; the error is the job's.
func TestMSQ_EndsWhenItsQueryFails(t *testing.T) {
	t.Parallel()
	q := &queries{refuse: fmt.Errorf("%w: no such table", scheduler.ErrQuery)}
	playMSQ(t, q, func(s *stage) {
		if got := after[*msq.Done](s, 0, message.RoleMSQs); len(got) != 1 {
			t.Fatalf("it is over %d times", len(got))
		}
		if got := owed(s); !slices.Equal(got, []string{"failed msq_error: no such table"}) {
			t.Errorf("owed: %q", got)
		}
	})
}

// A connection that breaks costs the job nothing: the query runs again, from its
// first row.
func TestMSQ_RunsAgainAfterALostConnection(t *testing.T) {
	t.Parallel()
	q := &queries{rows: 3, cut: errors.New("connection lost")}
	playMSQ(t, q, func(s *stage) {
		after[*message.MSQWaiting](s, 0, message.RoleDispatcher)
		q.cut = nil
		waits := after[*message.MSQWaiting](s, time.Second, message.RoleDispatcher)
		if len(waits) == 0 || waits[len(waits)-1].Waiting != 3 {
			t.Errorf("what waits: %+v", waits)
		}
		if names, _ := q.take(time.Now()); !slices.Equal(names, []string{"open", "close", "open", "close"}) {
			t.Errorf("%q", names)
		}
		if got := owed(s); got != nil {
			t.Errorf("owed: %q", got)
		}
	})
}

// Of a grant it takes what it has items for and gives back the rest; when all of
// them are answered the job is over.
func TestMSQ_GivesBackWhatItCannotUse(t *testing.T) {
	t.Parallel()
	playMSQ(t, &queries{rows: 3}, func(s *stage) {
		after[*message.MSQWaiting](s, 0, message.RoleDispatcher)
		s.Tell(message.RoleMSQ(5), &message.Grant{Host: "h", Epoch: 9, Now: 2, Spawn: 4})
		if got := after[*message.Refund](s, 0, message.RoleDispatcher); len(got) != 1 ||
			*got[0] != (message.Refund{Host: "h", Type: "a", Epoch: 9, Now: 0, Spawn: 3}) {
			t.Errorf("given back: %+v", got)
		}
		dealt := after[*message.Deal](s, 0, message.RoleHost("h"))
		if len(dealt) != 1 || len(dealt[0].Lines) != 3 || dealt[0].Lines[1].Assigned || !dealt[0].Lines[2].Assigned {
			t.Fatalf("dealt: %+v", dealt)
		}
		results := &message.Answered{}
		for _, l := range dealt[0].Lines {
			results.Results = append(results.Results, scheduler.Result{Line: &l, Outcome: scheduler.OutcomeSucceeded})
		}
		s.Tell(message.RoleMSQ(5), results)
		if got := after[*msq.Done](s, 0, message.RoleMSQs); len(got) != 1 {
			t.Errorf("it is over %d times", len(got))
		}
		if got := owed(s); !slices.Equal(got, []string{"succeeded"}) {
			t.Errorf("owed: %q", got)
		}
	})
}

// Items that were on their way to a host whose actor died are dealt anew; those
// of the host that is there now are not.
func TestMSQ_DealsAnewWhatADeadHostHad(t *testing.T) {
	t.Parallel()
	playMSQ(t, &queries{rows: 2}, func(s *stage) {
		after[*message.MSQWaiting](s, 0, message.RoleDispatcher)
		s.Tell(message.RoleMSQ(5), &message.Grant{Host: "h", Epoch: 9, Now: 2})
		after[*message.MSQWaiting](s, 0, message.RoleDispatcher)
		for _, c := range []struct {
			at   string
			want int
		}{{message.RoleHost("h"), 0}, {message.RoleDispatcher, 2}} { // another actor
			s.Tell(message.RoleMSQ(5), &message.HostRestarted{Host: "h", At: s.PID(c.at)})
			waits := after[*message.MSQWaiting](s, 0, message.RoleDispatcher)
			if n := len(waits); c.want == 0 && n > 0 || c.want > 0 && (n == 0 || waits[n-1].Waiting != c.want) {
				t.Errorf("after the host is %s: %+v", c.at, waits)
			}
		}
	})
}
