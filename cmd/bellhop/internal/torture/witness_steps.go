package torture

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A witness in the dialect json saves steps, sleeps, awaits and makes child jobs, as its task says. It writes down each
// step that it does, and each that the scheduler has confirmed: such a one is never done again.

// Tokens of steps, ten for each job.
const firstStep = 50_000_000

func stepToken(job int64, i int) int64 { return firstStep + job*10 + int64(i) }

// awaitedFor is how long a job waits for its event at most.
const awaitedFor = "15s"

// through does the steps of a task; over: the job goes on later, after rest is said, or what asked for it is gone.
func (w *witness) through(t task, c claim) (rest string, over bool) {
	for i := 1; i <= t.steps; i++ {
		name := fmt.Sprint("s", i)
		if _, saved := c.Steps[name]; !saved {
			at := t
			at.token = stepToken(t.token, i)
			w.write(stepping, at, c)
			fmt.Printf(`{"step":{"name":%q,"output":%d}}`+"\n", name, i)
			if !w.confirmed(name) {
				return "", true
			}
			w.write(kept, at, c)
		}
		if _, slept := c.Steps["sleep.1"]; i == 1 && !slept && t.sleep > 0 {
			return fmt.Sprintf(`{"sleep":"%gs"}`, t.sleep.Seconds()), true
		}
		if _, came := c.Steps["event."+t.event]; i == 2 && !came && t.event != "" {
			return fmt.Sprintf(`{"await":{"event":%q,"timeout":%q}}`, t.event, awaitedFor), true
		}
	}
	if _, ended := c.Steps["children.1"]; t.children > 0 && !ended {
		var list []string
		for i := range t.children {
			list = append(list, fmt.Sprintf(`{"type":"warm","args":"n=%d ms=3","max_attempts":%d}`, childToken(t.token, i),
				attempts))
		}
		return fmt.Sprintf(`{"children":[%s]}`, strings.Join(list, ",")), true
	}
	return "", false
}

// confirmed waits for the word that a step is committed.
func (w *witness) confirmed(name string) bool {
	if !w.lines.Scan() {
		return false
	}
	var answer struct{ Step string }
	return json.Unmarshal(w.lines.Bytes(), &answer) == nil && answer.Step == name
}
