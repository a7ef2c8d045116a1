package agents

import (
	"encoding/json"
	"fmt"
	"time"

	"bellhop/scheduler"
)

// given is what the agent has said besides, about the line in hand.
type given struct {
	answer  *scheduler.Answer // nil: nothing
	refused string            // why the line fails, whatever becomes of it
	fails   string            // mode exec: why it fails, says the agent
}

// wish reads what an agent that failed says of another try: "retry": false, or
// "10m", or seconds; or "snooze": "10m". nil: nothing. An error fails the line.
func wish(retry, snooze json.RawMessage) (*scheduler.Answer, error) {
	if isThere(snooze) {
		d, err := pause(snooze)
		if err != nil {
			return nil, fmt.Errorf(`"snooze" is not a valid time: write {"snooze":"10m"}: %w`, err)
		}
		return &scheduler.Answer{Snooze: d}, nil
	}
	var again bool
	switch {
	case !isThere(retry):
		return nil, nil
	case json.Unmarshal(retry, &again) == nil:
		return &scheduler.Answer{Never: !again}, nil
	}
	d, err := pause(retry)
	if err != nil {
		return nil, fmt.Errorf(`"retry" is neither false nor a time: write "retry":false or "retry":"10m": %w`, err)
	}
	return &scheduler.Answer{After: d}, nil
}

func isThere(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// pause reads "10m", "3d", or a number of seconds.
func pause(raw json.RawMessage) (d time.Duration, err error) {
	var seconds float64
	var text string
	switch {
	case json.Unmarshal(raw, &seconds) == nil:
		d = time.Duration(min(seconds, 1e9) * float64(time.Second))
	case json.Unmarshal(raw, &text) == nil:
		if d, err = scheduler.ParsePause(text); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("%.40s", raw)
	}
	return d, scheduler.CheckPause(d)
}

// giveResult takes what the agent gives back of the line in hand: the last word counts.
func (p *Process) giveResult(raw []byte, truncated bool) {
	p.mu.Lock()
	in, item := p.inHand, p.hand.Item != 0
	p.mu.Unlock()
	if !in || item { // an item has no column of its own
		p.note(scheduler.LevelInfo, append([]byte("result "), raw...), truncated)
		return
	}
	text, why := []byte(nil), ""
	if most := p.launcher.result; truncated {
		why = scheduler.TooLong(len(raw), most)
	} else {
		text, why = scheduler.ReadResult(raw, most)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gives.refused = why
	p.give().Result = text
}

// give is what the answer to the line in hand comes with. mu is held.
func (p *Process) give() *scheduler.Answer {
	if p.gives.answer == nil {
		p.gives.answer = &scheduler.Answer{}
	}
	return p.gives.answer
}

// wishes keeps what the agent wants to become of the line in hand.
func (p *Process) wishes(w *scheduler.Answer) {
	if w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.give()
	a.Never, a.After, a.Snooze, a.EndedAs, a.Rest = w.Never, w.After, w.Snooze, w.EndedAs, w.Rest
}

// tellHowFar passes on how far the line in hand is; what is no such thing is kept with the job.
func (p *Process) tellHowFar(raw []byte, truncated bool) {
	h, ok := scheduler.ReadHowFar(raw)
	p.mu.Lock()
	h.Claim = p.hand.Claim
	ok = ok && p.inHand && p.hand.Item == 0
	p.mu.Unlock()
	if !ok {
		p.note(scheduler.LevelInfo, append([]byte("progress "), raw...), truncated)
		return
	}
	p.launcher.howFar(h)
}
