package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bellhop/scheduler"
)

// A line that begins like a message and is not valid is told as an error, whatever its kind; a result is refused, and
// an answer fails the line. What does not begin so is debug output, as it was.
func TestJSON_ABrokenMessageIsTold(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ok", "fail", "progress", "log", "result", "lock", "unlock", "heartbeat", "snooze", "success", "retry", "id", "children", "sleep"} {
		for _, form := range []string{`{"%s":{"a":1,`, `{"%s":1} trailing`, `{ "%s" : `, `{"%s":1`, `{"%s":"x}`} {
			line := fmt.Sprintf(form, key)
			said := parseJSON([]byte(line), nil)
			if len(said) == 0 || said[0].word != wordLog || said[0].level != scheduler.LevelError ||
				!strings.Contains(string(said[0].text), key) || !strings.Contains(string(said[0].text), "is not valid") {
				t.Errorf("%s: %+v is no error in words", line, said)
				continue
			}
			switch last := said[len(said)-1]; key {
			case "result":
				if _, why := scheduler.ReadResult(last.text, 1<<20); last.word != wordResult || !strings.Contains(why, "result_refused") {
					t.Errorf("%s: %+v is not refused (%s)", line, last, why)
				}
			case "ok", "fail", "snooze", "retry", "children", "sleep":
				if last.word != wordFail || last.code != 1 {
					t.Errorf("%s: %+v does not fail the line", line, last)
				}
			}
		}
	}
	if said := parseJSON([]byte(`{"result":1,"ok":"yes"}`), nil); said[len(said)-1].word != wordFail {
		t.Errorf("a value of another kind: %+v", said)
	}
	for _, line := range []string{`{"results":1`, `{"a":"result"`, `{`, `{result`, `plain`, `["result"`} {
		if said := parseJSON([]byte(line), nil); len(said) != 1 || said[0].word != wordDebug || json.Valid([]byte(line)) {
			t.Errorf("%s: %+v", line, said)
		}
	}
}

// The job of an agent whose result is cut off does not succeed without it.
func TestJSON_ABrokenResultIsRefused(t *testing.T) {
	t.Parallel()
	for _, said := range []string{`{"result":{"a":1,`, `{"result":1} trailing`} {
		b := setup(t, sh(t, `echo '{"bellhop":1,"type":"work"}'
while IFS= read -r job; do echo '`+said+`'; echo '{"ok":true}'; done`))
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(line(1, "a"))
		ev := c.await(scheduler.EventAnswered)
		if text := fmt.Sprintf("%+v", ev); !strings.Contains(text, "result_refused") {
			t.Errorf("%s: %s", said, text)
		}
	}
}
