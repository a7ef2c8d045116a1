package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Job is one piece of work: a job, or an item of one. What it says is kept with
// the job (`bellhop logs`), until work returns: what is said later is dropped.
type Job[T any] struct {
	Line

	// Args is what the job was submitted with: its one line, where T is string,
	// and else what that line is as JSON. No args are the zero value. Of an item
	// it is the object of its columns, each of which is a string (`json:"id,string"`
	// reads a number), and empty where T is string. What does not fit fails the
	// job with exit code 2.
	Args T

	voice Voice

	mu     sync.Mutex // of Steps, too
	sleeps int        // how many times Sleep was called
	parts  int        // the same of Children
	awaits map[string]int
}

// Logf keeps a line with the job.
func (j *Job[T]) Logf(format string, args ...any) { j.log("info", format, args) }

// Errorf keeps a line with the job, as an error. It does not fail the job.
func (j *Job[T]) Errorf(format string, args ...any) { j.log("error", format, args) }

// Debugf keeps a line with the job, for a close look.
func (j *Job[T]) Debugf(format string, args ...any) { j.log("debug", format, args) }

func (j *Job[T]) log(level, format string, args []any) {
	j.voice.Log(level, fmt.Sprintf(format, args...))
}

// At says how far it is, from 0 to 1, and in words, which may be empty: the
// columns progress and progress_text of the job, written once a second at most.
func (j *Job[T]) At(done float64, text string) {
	j.voice.Give("progress", struct {
		Done float64 `json:"done"`
		Text string  `json:"text,omitempty"`
	}{done, text})
}

// Progress says how far it is, in any value that can be JSON: {"done":1,"of":4}
// and a number from 0 to 1 are as [Job.At]; anything else is kept in the job's log.
func (j *Job[T]) Progress(v any) { j.voice.Give("progress", v) }

// Result is what the job gives back, as JSON: the column result, for apps that wait for the job; the last one
// counts. It may have 64 KiB (limits.result): a longer one fails the job. That of an item is kept in the job's log.
func (j *Job[T]) Result(v any) { j.voice.Give("result", v) }

// Success counts one more thing that went well: bellhop.attempt.successes.
func (j *Job[T]) Success() { j.voice.Give("success", true) }

// The messages of the json dialect.
type (
	hello struct {
		Bellhop int    `json:"bellhop"`
		Type    string `json:"type"`
	}
	remark struct {
		Log   string `json:"log"`
		Level string `json:"level"`
	}
	done struct {
		OK      bool    `json:"ok"`
		EndedAs EndedAs `json:"ended_as,omitempty"`
	}
	failed struct {
		Fail     string `json:"fail"`
		ExitCode int    `json:"exit_code"`
		Retry    any    `json:"retry,omitempty"` // false, or a time
	}
	snooze struct {
		Snooze string `json:"snooze"`
	}
)

// voice writes messages, one line each. What several goroutines say does not mix.
type voice struct {
	mu  sync.Mutex
	out io.Writer
	err error // of the first write that went wrong; nothing is written after it
}

func (v *voice) write(line []byte) {
	if v.err == nil {
		_, v.err = v.out.Write(append(line, '\n'))
	}
}

// words are what is said about one job. After the last nothing is: it would be
// taken for what the next job has to say.
type words struct {
	*voice
	over    bool          // owned by voice.mu
	asking  chan struct{} // has one while a handler asks for a lock
	replies <-chan lockReply
}

func newWords(to *voice, replies <-chan lockReply) *words {
	return &words{voice: to, asking: make(chan struct{}, 1), replies: replies}
}

func (w *words) Log(level, text string) { w.say(remark{text, level}) }

func (w *words) Give(field string, value any) { w.say(map[string]any{field: value}) }

// say writes one message. What is no JSON is said to be none.
func (w *words) say(m any) {
	line, err := json.Marshal(m)
	if err != nil {
		line, _ = json.Marshal(remark{fmt.Sprintf("what the agent wanted to say is not valid JSON: %v", err), "error"})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.write(line)
	}
}

// last says how the job went, and tells whether that could be written.
func (w *words) last(m any) error {
	w.say(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return w.err
}
