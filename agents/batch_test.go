package agents

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/scheduler"
)

// batcher is an agent that takes batches; body sees one in $batch.
func batcher(t *testing.T, n int, body string) Spec {
	return sh(t, fmt.Sprintf(`echo '{"bellhop":1,"type":"work","batch":%d}'
while IFS= read -r batch; do %s
done`, n, body))
}

// each says something for each job of the batch, in turn.
const each = `for id in $(echo "$batch" | grep -o '"id":[0-9]*' | cut -d: -f2); do `

func TestBatch_EachJobIsAnsweredByItsID(t *testing.T) {
	t.Parallel()
	b := setup(t, batcher(t, 3, each+`echo "{\"id\":$id,\"result\":$id}"; done
`+each+`if [ $id = 2 ]; then echo "{\"id\":2,\"fail\":\"bad\",\"exit_code\":7}"; else echo "{\"id\":$id,\"ok\":true}"; fi; done`))
	c := b.launch()
	if ev := c.await(scheduler.EventReady); ev.N != 3 {
		t.Errorf("it takes %d", ev.N)
	}
	var lines []scheduler.Line
	for i := 1; i <= 5; i++ {
		lines = append(lines, line(i, "a"))
	}
	c.feed(lines...)
	for batch, want := range [][]scheduler.JobID{{1, 2, 3}, {4, 5}} {
		began := c.await(scheduler.EventBegan)
		if len(began.Lines) != len(want) {
			t.Fatalf("batch %d has %d jobs, want %v", batch, len(began.Lines), want)
		}
		for _, id := range want {
			ev := c.await(scheduler.EventAnswered)
			if ev.Claim.Job != id || ev.OK != (id != 2) || ev.Answer == nil || string(ev.Answer.Result) != fmt.Sprint(id) {
				t.Errorf("job %d: %+v, %+v", id, ev, ev.Answer)
			}
		}
	}
}

// An agent that takes batches of one reads lists, too.
func TestBatch_OfOneIsAList(t *testing.T) {
	t.Parallel()
	b := setup(t, batcher(t, 1, `case $batch in '{"batch":['*) `+each+`echo "{\"id\":$id,\"ok\":true}"; done;; *) echo '{"fail":"no list"}';; esac`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "a"), line(2, "b"))
	for id := scheduler.JobID(1); id <= 2; id++ {
		if ev := c.await(scheduler.EventAnswered); ev.Claim.Job != id || !ev.OK {
			t.Errorf("job %d: %+v", id, ev)
		}
	}
}

// What cannot be told apart ends the agent, and all that it has in hand with it.
func TestBatch_WordsOfNoJob(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{`{"ok":true}`: "did not say which it means", `{"id":9,"ok":true}`: "of another job"} {
		b := setup(t, batcher(t, 3, `echo '`+said+`'`))
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(line(1, "a"), line(2, "b"))
		c.await(scheduler.EventBegan)
		if ev := c.await(scheduler.EventOutputClosed); !strings.Contains(ev.Error, want) {
			t.Errorf("%s: %+v", said, ev)
		}
	}
}

// An item and a job of earlier deaths come alone.
func TestBatch_SomeComeAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, batcher(t, 10, each+`echo "{\"id\":$id,\"ok\":true}"; done`))
	c := b.launch()
	c.await(scheduler.EventReady)
	died, item := line(3, "c"), line(5, "e")
	died.Deaths, item.Item = 1, 1
	c.feed(line(1, "a"), line(2, "b"), died, line(4, "d"), item)
	for _, want := range []int{2, 1, 1, 1} {
		if ev := c.await(scheduler.EventBegan); len(ev.Lines) != want {
			t.Errorf("a batch of %d, want %d", len(ev.Lines), want)
		}
		for range want {
			if ev := c.await(scheduler.EventAnswered); !ev.OK {
				t.Errorf("%+v", ev)
			}
		}
	}
}

func TestBatch_TooManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, -1, 1001} {
		b := setup(t, batcher(t, n, "true"))
		if ev := b.launch().await(scheduler.EventOutputClosed); !strings.Contains(ev.Error, "from 1 to 1000") {
			t.Errorf("%d: %+v", n, ev)
		}
	}
}
