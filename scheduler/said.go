package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DefaultResult is how long what a job gives back may be, in bytes.
const DefaultResult = 64 << 10

// resultDepth is how deep it may be nested.
const resultDepth = 100

// ReadResult makes JSON of an agent's such as jsonb can hold, with at most so many
// bytes. why is for the job's error: a code, and what to do.
func ReadResult(raw []byte, most int) (text []byte, why string) {
	if len(raw) > most {
		return nil, TooLong(len(raw), most)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		err = errors.New("something stands behind it")
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

// TooLong is what is said of a result with more bytes than are allowed.
func TooLong(n, most int) string {
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

// ReadHowFar reads what an agent says of how far it is: {"done":0.4,"text":"…"}, done
// and of, or a number alone.
func ReadHowFar(raw []byte) (h HowFar, ok bool) {
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

// longestPause is how far an agent may put off a job.
const longestPause = 366 * 24 * time.Hour

// CheckPause tells whether an agent may ask for so long a time before the next try.
func CheckPause(d time.Duration) error {
	if d < time.Millisecond || d > longestPause {
		return fmt.Errorf("%s is not between 1ms and %s", d, longestPause)
	}
	return nil
}
