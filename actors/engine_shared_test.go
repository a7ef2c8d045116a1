package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
	"bellhop/sql/store"
)

// cluster is an engine that several instances ask.
type cluster struct {
	mu     sync.Mutex
	over   bool
	there  map[string]int             // how often a tag was submitted
	asked  map[string]map[string]bool // by tag, who has polled it
	calls  map[string]int             // by instance and command
	finest time.Duration              // the shortest time between two polls of one instance
	polled map[string]time.Time
}

// terminal is the cluster as one instance reaches it.
type terminal struct {
	*cluster
	name string
}

func (c terminal) Run(_ context.Context, call scheduler.EngineCall, _ func() time.Duration) scheduler.EngineSaid {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[c.name+" "+call.Op]++
	var out strings.Builder
	switch call.Op {
	case "submit":
		c.there[call.Args[0]]++
	case "poll":
		now := time.Now()
		if last, again := c.polled[c.name]; again {
			c.finest = min(c.finest, now.Sub(last))
		}
		c.polled[c.name] = now
		says := "running"
		if c.over {
			says = "succeeded"
		}
		for tag := range strings.FieldsSeq(call.In) {
			if c.asked[tag] == nil {
				c.asked[tag] = map[string]bool{}
			}
			c.asked[tag][c.name] = true
			fmt.Fprintln(&out, tag, says)
		}
	}
	return scheduler.EngineSaid{Out: out.String()}
}

// Two live instances share 10,000 jobs of an engine: each job is submitted once, watched by one of them, and the number
// of calls that ask about them hangs on time.
func TestEngine_TwoInstancesShareTenThousandJobs(t *testing.T) {
	const jobs, every = 10_000, 200 * time.Millisecond
	c := &cluster{there: map[string]int{}, asked: map[string]map[string]bool{}, calls: map[string]int{},
		polled: map[string]time.Time{}, finest: time.Hour}
	first := setup(t)
	second := &env{T: t, url: first.url, conn: first.conn, log: &logBook{}, scan: first.scan, minReady: first.minReady}
	first.exec("insert into bellhop.jobqueue (type) select 'solo' from generate_series(1, $1)", jobs)
	for name, b := range map[string]*env{"a": first, "b": second} {
		tags := startMSQ(b, store.NewEngines)
		b.change = func(cfg *actors.Config) {
			cfg.Agents = []port.AgentType{{Name: "solo", Max: jobs}}
			spec := port.EngineSpec{Engine: "cluster", Type: "solo", Rules: engine.Defaults, Poll: every, Submits: 64}
			cfg.Hosts = []port.HostSpec{{Name: "cluster:solo", Slots: jobs, Engine: &spec}}
			cfg.Tags, cfg.Leftovers, cfg.EngineCommands = tags, tags, terminal{c, name}
		}
		b.start(1)
	}
	first.eventually("all of them run there, half of them with each", func() bool {
		return first.one("select array_agg(n) = array[$1::bigint, $1] from (select count(*) as n from bellhop.jobqueue where state = 'running' group by instance) x",
			jobs/2) == "true"
	})
	first.eventually("all are submitted", func() bool {
		return first.one("select count(*) from bellhop.engine_job where stage = 'running'") == fmt.Sprint(jobs)
	})
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	first.eventually("all are over", func() bool { return first.count() == fmt.Sprintf("succeeded %d", jobs) })
	first.stop()
	second.stop()
	if len(c.there) != jobs || c.calls["a submit"]+c.calls["b submit"] != jobs {
		t.Errorf("%d tags were submitted, by %v", len(c.there), c.calls)
	}
	both := 0
	for tag, who := range c.asked {
		if len(who) > 1 {
			both++
			t.Logf("%s was polled by %v", tag, who)
		}
	}
	if both > 0 || len(c.asked) != jobs {
		t.Errorf("%d of %d were polled by both", both, len(c.asked))
	}
	if c.calls["a find"]+c.calls["b find"] > 0 || c.finest < every {
		t.Errorf("calls %v, polls of one instance %s apart", c.calls, c.finest)
	}
	t.Logf("calls: %v", c.calls)
}
