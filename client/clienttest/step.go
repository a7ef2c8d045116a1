package clienttest

import (
	"encoding/json"
	"time"

	"bellhop/client/agent"
)

// stepsSaid is what an agent says about steps.
type stepsSaid struct {
	Step *struct {
		Name   string          `json:"name"`
		Output json.RawMessage `json:"output"`
	} `json:"step"`
	Sleep string `json:"sleep"`
	Await *struct {
		Event   string `json:"event"`
		Timeout string `json:"timeout"`
	} `json:"await"`
	Children  []agent.Child `json:"children"`
	KeepLocks bool          `json:"keep_locks"`
}

// hearSteps notes that a step is kept, or that the run ends and goes on later.
func (r *Result) hearSteps(said []byte) int {
	var m stepsSaid
	_ = json.Unmarshal(said, &m) // hear has read it
	switch {
	case m.Step != nil:
		return kept
	case m.Sleep != "":
		r.Rest = &agent.Rest{KeepLocks: m.KeepLocks}
		r.Rest.Pause, _ = time.ParseDuration(m.Sleep)
	case len(m.Children) > 0:
		r.Rest = &agent.Rest{Children: m.Children, KeepLocks: m.KeepLocks}
	case m.Await != nil:
		r.Rest = &agent.Rest{Event: m.Await.Event, KeepLocks: m.KeepLocks}
		r.Rest.Pause, _ = time.ParseDuration(m.Await.Timeout)
	default:
		return 0
	}
	r.Error = "it rests"
	return over
}

// keep notes a step, and is the answer to it.
func (r *Result) keep(said []byte) []byte {
	var m stepsSaid
	_ = json.Unmarshal(said, &m) // hear has read it
	if r.Steps == nil {
		r.Steps = map[string]json.RawMessage{}
	}
	r.Steps[m.Step.Name] = m.Step.Output
	answer, _ := json.Marshal(map[string]string{"step": m.Step.Name}) // strings always can
	return answer
}
