package scheduler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bellhop/scheduler"
)

// What is kept is what jsonb can hold, and says the same.
func TestSaid_Result(t *testing.T) {
	t.Parallel()
	const depth = 100
	deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	for raw, want := range map[string]string{
		`{"a": [1, 2.50, -0, 1e5, null, true], "b": {"": "<&>"}}`: `{"a":[1,2.50,-0,1e5,null,true],"b":{"":"<&>"}}`,
		`12345678901234567890123`:                                 `12345678901234567890123`,
		`"\ud800 lone"`:                                           "\"\uFFFD lone\"",
		"\"\xff\"":                                                "\"\uFFFD\"",
		deep:                                                      deep,
		"[" + deep + "]":                                          "!it is nested more than 100 deep",
		`"a\u0000"`:                                               `!PostgreSQL has no room for the character \u0000`,
		`{"a\u0000":1}`:                                           `!PostgreSQL has no room for the character \u0000`,
		`[1e400]`:                                                 `!the number 1e400 is too large or too small`,
		`1e-999999`:                                               `!the number 1e-999999 is too large or too small`,
		`{"a":1} x`:                                               `!something stands behind it`,
		`{`:                                                       `!unexpected EOF`,
		`"` + strings.Repeat("x", 200) + `"`:                      "!has 202 bytes, and 201 are allowed",
		`"` + strings.Repeat("x", 199) + `"`:                      `"` + strings.Repeat("x", 199) + `"`,
	} {
		most := 201
		if strings.Contains(raw, "[[") {
			most = 1000
		}
		got, why := scheduler.ReadResult([]byte(raw), most)
		if no, refused := strings.CutPrefix(want, "!"); refused {
			if got != nil || !strings.HasPrefix(why, "result_refused: ") || !strings.Contains(why, no) {
				t.Errorf("%.50s: %s, %q; want it refused: %s", raw, got, why, no)
			}
		} else if why != "" || string(got) != want {
			t.Errorf("%.50s: %s, %q; want %s", raw, got, why, want)
		}
	}
}

// What an agent says of how far it is, and what is no such thing.
func TestSaid_HowFar(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"done":0.4,"text":"page 4"}`: `0.4 page 4`, `{"done":3,"of":4}`: "0.75 ",
		`0.5`: "0.5 ", `0`: "0 ", `1`: "1 ",
		`{"text":"begins"}`: "none begins", `{"done":0,"of":0}`: "0 ",
		`{"done":2}`: "no", `{"done":-0.1}`: "no", `{}`: "no",
		`null`: "no", `"half"`: "no", `[1]`: "no", `{"done":"x"}`: "no",
	} {
		h, ok := scheduler.ReadHowFar([]byte(raw))
		got := "no"
		if ok {
			got = "none"
			if h.Done != nil {
				text, _ := json.Marshal(*h.Done)
				got = string(text)
			}
			got += " " + h.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
