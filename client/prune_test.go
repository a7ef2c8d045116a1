package client_test

import (
	"testing"
	"time"
)

// On a busy queue jobs grow old while others are deleted. Prune deletes those that were old enough when it began, and
// ends: with a bound that moves, each transaction would find a few more, and read the whole queue for them.
func TestPrune_DoesNotFollowTheClock(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.exec(`create table public.noted (at timestamptz);
		create function slow() returns trigger language plpgsql as $$
			begin insert into public.noted values (clock_timestamp()); perform pg_sleep(0.3); return null; end $$;
		create trigger slow after delete on bellhop.jobqueue for each statement execute function slow();
		set session_replication_role = replica;
		insert into bellhop.jobqueue (type, state, attempt, fence, host, child, started_at, ended_at, exit_code)
		select 't', 'succeeded', 1, 1, 'local', 't.1', at, at, 0
		  from generate_series(1, 4100) g, lateral (select now() - interval '1 hour'
			+ case when g <= 1100 then interval '-1 hour' else (g - 1100) * interval '20 ms' end) t (at);
		create table public.grows as select id, ended_at from bellhop.jobqueue where id > 1100;
		reset session_replication_role`)
	n, err := a.Prune(t.Context(), time.Hour)
	if err != nil || n < 1100 {
		t.Fatalf("%d, %v", n, err)
	}
	if calls := value[int](a, "select count(*) from public.noted"); calls < 2 {
		t.Fatalf("%d transactions: one has no next", calls)
	}
	if late := value[int](a, `select count(*) from public.grows g
		where not exists (select from bellhop.jobqueue j where j.id = g.id)
		  and g.ended_at >= (select min(at) - interval '1 hour' from public.noted)`); late > 0 {
		t.Errorf("%d jobs grew old meanwhile, and are deleted", late)
	}
}
