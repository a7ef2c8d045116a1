package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"bellhop/scheduler"
)

// defaultResult is how long what a job gives back may be, in bytes.
const defaultResult = 64 << 10

// resultDepth is how deep it may be nested.
const resultDepth = 100

// given is what the agent has said besides, about the line in hand.
type given struct {
	answer  *scheduler.Answer // nil: nothing
	refused string            // why the line fails, whatever becomes of it
	fails   string            // mode exec: why it fails, says the agent
}

// result makes JSON of an agent's such as jsonb can hold, with at most so many
// bytes. why is for the job's error: a code, and what to do.
func result(raw []byte, most int) (text []byte, why string) {
	if len(raw) > most {
		return nil, tooLong(len(raw), most)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something stands behind it")
		}
	}
	if err == nil {
		err = holdable(v, resultDepth)
	}
	if err == nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err = e.Encode(v); err == nil { // which makes UTF-8 of what is none
			text = bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
		}
	}
	if err != nil {
		return nil, "result_refused: what the agent gave back cannot be kept: " + err.Error()
	}
	return text, ""
}

func tooLong(n, most int) string {
	return fmt.Sprintf("result_refused: what the agent gave back has %d bytes, and %d are allowed (limits.result); "+
		"put it into a file or a table, and give back where it is", n, most)
}

// holdable finds what is JSON and yet more than jsonb can hold.
func holdable(v any, depth int) error {
	if depth == 0 {
		return fmt.Errorf("it is nested more than %d deep", resultDepth)
	}
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return errors.New(`PostgreSQL has no room for the character \u0000`)
		}
	case json.Number:
		if f, err := strconv.ParseFloat(string(v), 64); err != nil || math.IsInf(f, 0) || smallExponent(string(v)) {
			return fmt.Errorf("the number %.30s is too large or too small", v)
		}
	case []any:
		for _, e := range v {
			if err := holdable(e, depth-1); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, e := range v {
			if err := holdable(name, depth); err != nil {
				return err
			}
			if err := holdable(e, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// smallExponent: as many digits as there were zeros would be kept.
func smallExponent(number string) bool {
	_, exponent, is := strings.Cut(strings.ToLower(number), "e")
	n, err := strconv.Atoi(exponent)
	return is && (err != nil || n < -400)
}

// howFar reads what an agent says of how far it is: {"done":0.4,"text":"…"}, done
// and of, or a number alone.
func howFar(raw json.RawMessage) (h scheduler.HowFar, ok bool) {
	var said struct {
		Done *float64 `json:"done"`
		Of   *float64 `json:"of"`
		Text string   `json:"text"`
	}
	var number *float64
	if json.Unmarshal(raw, &number) == nil {
		said.Done = number
	} else if json.Unmarshal(raw, &said) != nil {
		return h, false
	}
	if said.Of != nil && said.Done != nil && *said.Of > 0 {
		*said.Done /= *said.Of
	}
	if said.Done == nil && said.Text == "" || said.Done != nil && !(*said.Done >= 0 && *said.Done <= 1) {
		return h, false
	}
	if said.Done != nil {
		done := float32(*said.Done)
		h.Done = &done
	}
	h.Text = said.Text
	return h, true
}

// longestWait is how far an agent may put off a job.
const longestWait = 366 * 24 * time.Hour

// wish reads what an agent that failed says of another try: "retry": false, or
// "10m", or seconds; or "snooze": "10m". nil: nothing. An error fails the line.
func wish(retry, snooze json.RawMessage) (*scheduler.Answer, error) {
	if isThere(snooze) {
		d, err := pause(snooze)
		if err != nil {
			return nil, fmt.Errorf(`"snooze" is no time: write {"snooze":"10m"}: %w`, err)
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

// pause reads "10m", or a number of seconds.
func pause(raw json.RawMessage) (d time.Duration, err error) {
	var seconds float64
	var text string
	switch {
	case json.Unmarshal(raw, &seconds) == nil:
		d = time.Duration(min(seconds, 1e9) * float64(time.Second))
	case json.Unmarshal(raw, &text) == nil:
		if d, err = time.ParseDuration(text); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("%.40s", raw)
	}
	if d < time.Millisecond || d > longestWait {
		return 0, fmt.Errorf("%s is not between 1ms and %s", d, longestWait)
	}
	return d, nil
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
		why = tooLong(len(raw), most)
	} else {
		text, why = result(raw, most)
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

// wishes keeps what the agent wants to become of the line in hand, if it fails.
func (p *Process) wishes(w *scheduler.Answer) {
	if w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.give()
	a.Never, a.After, a.Snooze = w.Never, w.After, w.Snooze
}

// tellHowFar passes on how far the line in hand is; what is no such thing is kept with the job.
func (p *Process) tellHowFar(raw []byte, truncated bool) {
	h, ok := howFar(raw)
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
