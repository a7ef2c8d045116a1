package workflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrNotMine: the workflow is another instance's by now, and what was seen of it is not kept.
var ErrNotMine = errors.New("the workflow is another instance's")

// Watch is a sensor whose events an instance has to look for itself.
type Watch struct {
	Workflow string
	Sensor   Sensor
	Told     string // why it was last told to see nothing; empty: it was not
	Place    *Place // where it stands in its topic; nil: it has none, or nothing is known of it
}

// Sees is what an instance can watch, under the names that the database knows.
type Sees struct {
	Notify bool     `json:"notify"`
	Files  []string `json:"files,omitempty"` // folders
	Kafka  []string `json:"kafka,omitempty"` // names of clusters
}

// Happening is something that a sensor has seen.
type Happening struct {
	Event string            // its name, which is kept once; empty: it gets one
	Given map[string]string // what came with it: parameters, as far as the workflow has them
}

// Sight is what a watch has to keep, all of it or nothing.
type Sight struct {
	Events []Happening
	Place  *Place  // where it stands now; nil: where it stood
	Remark *string // what people should know of what it sees, and does not; nil: nothing new; empty: nothing any more
}

// maxEvent bounds the names of events, and maxPayload what is kept of what came with one.
const (
	maxEvent   = 200
	maxPayload = 64 << 10
)

// Named makes a name of an event of what may be too long for one: what is cut off is told by a sum.
func Named(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "�")
	if utf8.RuneCountInString(s) <= maxEvent {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return string([]rune(s)[:150]) + " " + hex.EncodeToString(sum[:16])
}

// FileEvent is the name of a file that was written wholly.
func FileEvent(path string, size int64, written time.Time, by string) string {
	if by == FileByPath {
		return Named(path)
	}
	return Named(path + " " + strconv.FormatInt(size, 10) + " " + written.UTC().Format("2006-01-02T15:04:05.999999999Z"))
}

// Fields are what a text says that is a JSON object: strings as they are, anything
// else as it is written. PAYLOAD is the text as a whole, whatever it is.
func Fields(payload []byte) map[string]string {
	fields := map[string]string{}
	if len(payload) > maxPayload {
		return fields
	}
	if text := string(payload); utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		fields["PAYLOAD"] = text
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(payload, &object) != nil {
		return fields
	}
	for name, raw := range object {
		var s string
		switch {
		case bytes.Equal(raw, []byte("null")):
			continue
		case json.Unmarshal(raw, &s) != nil:
			s = string(raw)
		}
		if !strings.Contains(name+s, "\x00") {
			fields[name] = s
		}
	}
	return fields
}

// Matches reports whether fields are as a sensor wants them, all of them.
func (s *Sensor) Matches(fields map[string]string) bool {
	for name, want := range s.Match {
		if got, there := fields[name]; !there || got != want {
			return false
		}
	}
	return true
}
