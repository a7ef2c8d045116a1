package config

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Engines are the names of engines whose commands come with the program.
var Engines = []string{"slurm", "docker", "kubernetes", "spark"}

// Engine is where the work of an agent of mode engine runs: its commands, and how often they are called.
type Engine struct {
	Name    string   // one of Engines, or how it is shown where all its commands are given
	Options []string // for the engine, as its own program takes them
	// Submit, Find, Poll, Kill and Logs: empty where the engine's own are meant; Logs: or none.
	Submit, Find, Poll, Kill, Logs []string
	PollEvery                      time.Duration
	SubmitTimeout                  time.Duration // submitted, and not seen there for so long: failed
	LostAfter                      time.Duration // seen, and not seen any more for so long: failed
	CallTimeout                    time.Duration // of one call of a command
	Submits                        int           // calls of submit at once
}

// Preset reports whether the commands that are not given come with the program.
func (e *Engine) Preset() bool { return slices.Contains(Engines, e.Name) }

func defaultEngine() Engine {
	return Engine{
		PollEvery:     2 * time.Second,
		SubmitTimeout: 160 * time.Second,
		LostAfter:     time.Minute,
		CallTimeout:   time.Minute,
		Submits:       4,
	}
}

// engineKeys are the keys that mean something to mode engine only.
var engineKeys = []string{"engine", "options", "submit", "find", "poll", "kill", "logs", "poll_every", "submit_timeout",
	"lost_after", "call_timeout", "submits"}

// notEngineKeys are those that mean nothing to it, besides those of dialects.
var notEngineKeys = []string{"dialect", "db", "max_per_host", "weight"}

func (r *reader) engineFields(e *Engine) []field {
	return []field{
		{name: "engine", read: r.word(&e.Name)},
		{name: "options", read: r.argv(&e.Options, "options", "[--partition=long]")},
		{name: "submit", read: r.engineCommand(&e.Submit, "submit")},
		{name: "find", read: r.engineCommand(&e.Find, "find")},
		{name: "poll", read: r.engineCommand(&e.Poll, "poll")},
		{name: "kill", read: r.engineCommand(&e.Kill, "kill")},
		{name: "logs", read: r.engineCommand(&e.Logs, "logs")},
		{name: "poll_every", read: r.duration(&e.PollEvery, someTime)},
		{name: "submit_timeout", read: r.duration(&e.SubmitTimeout, someTime)},
		{name: "lost_after", read: r.duration(&e.LostAfter, someTime)},
		{name: "call_timeout", read: r.duration(&e.CallTimeout, someTime)},
		{name: "submits", read: r.count(&e.Submits)},
	}
}

func (r *reader) engineCommand(to *[]string, key string) func(node, string) {
	read := r.program(to, key, "[./engine.sh, "+key+"]")
	return func(n node, at string) {
		if words, ok := n.(*ast.SequenceNode); !ok || len(words.Values) > 0 {
			read(n, at)
		}
	}
}

// engine checks what an agent says of its engine, or says and has none.
func (r *reader) engine(n node, at string, a *Agent, given map[string]node) {
	if a.Mode != ModeEngine {
		for _, key := range engineKeys {
			if n := given[key]; n != nil {
				r.problem(n, "leave it out, or write mode: engine", "%s.%s: only agents of mode engine have it", at, key)
			}
		}
		return
	}
	for _, key := range notEngineKeys {
		if n := given[key]; n != nil {
			r.problem(n, "leave it out", "%s.%s: an agent of mode engine has none", at, key)
		}
	}
	e := &a.Engine
	if given["submits"] != nil && e.Submits == 0 {
		r.problem(given["submits"], "write 1 or more", "%s.submits is 0: nothing would ever be submitted", at)
	}
	if e.Preset() {
		if len(a.Command) == 0 && given["command"] == nil && given["submit"] == nil {
			r.problem(n, "name the program that "+e.Name+" is to run: command: [/usr/local/bin/align]",
				"%s.command is missing", at)
		}
		return
	}
	var missing []string
	for i, command := range [][]string{e.Submit, e.Find, e.Poll, e.Kill} {
		if len(command) == 0 {
			missing = append(missing, []string{"submit", "find", "poll", "kill"}[i])
		}
	}
	switch {
	case e.Name != "" && len(missing) == 4:
		r.problem(given["engine"], suggest(e.Name, Engines), "%s.engine: unknown engine %q", at, e.Name)
	case len(missing) > 0:
		r.problem(n, "write engine: slurm, or the commands: docs/engines.md", "%s.%s is missing: mode engine needs submit, find, poll and kill",
			at, missing[0])
	}
	if e.Name == "" {
		e.Name = "engine"
	}
}
