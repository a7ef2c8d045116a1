package config

import (
	"strings"
	"testing"
	"time"
)

func TestParse_Engines(t *testing.T) {
	t.Parallel()
	c, err := Parse("/conf/bellhop.yaml", []byte(`agents:
  - {type: align, mode: engine, engine: slurm, command: [./align.sh], options: [--partition=long], max: 500, poll_every: 5s}
  - type: own
    mode: engine
    submit: [./own.sh, submit]
    find: [./own.sh, find]
    poll: [./own.sh, poll]
    kill: [/bin/kill.sh]
    submit_timeout: 10s
`))
	if err != nil {
		t.Fatal(err)
	}
	a, own := c.Agents[0], c.Agents[1]
	if a.Engine.Name != "slurm" || a.Command[0] != "/conf/align.sh" || a.Engine.Options[0] != "--partition=long" ||
		a.Engine.PollEvery != 5*time.Second ||
		a.Engine.SubmitTimeout != 160*time.Second || !a.Engine.Preset() {
		t.Errorf("%+v", a)
	}
	if own.Engine.Name != "engine" || own.Engine.Submit[0] != "/conf/own.sh" ||
		own.Engine.SubmitTimeout != 10*time.Second || own.Engine.Preset() ||
		own.Engine.Logs != nil {
		t.Errorf("%+v", own)
	}
}

func TestParse_WhatIsWrongWithEngines(t *testing.T) {
	t.Parallel()
	_, err := Parse("/conf/bellhop.yaml", []byte(`agents:
  - {type: a, mode: engine, engine: slrum, command: [x]}
  - {type: b, mode: engine, submit: [s], find: [f], kill: [k]}
  - {type: c, command: [x], engine: slurm, poll_every: 1s}
  - {type: d, mode: engine, engine: docker}
  - {type: e, mode: engine, engine: slurm, command: [x], stdout: log, submits: 0}
`))
	want := `2:37: agents[0].engine: unknown engine "slrum"; did you mean "slurm"?
3:5: agents[1].poll is missing: mode engine needs submit, find, poll and kill; write engine: slurm, or the commands: docs/engines.md
4:37: agents[2].engine: only agents of mode engine have it; leave it out, or write mode: engine
4:56: agents[2].poll_every: only agents of mode engine have it; leave it out, or write mode: engine
5:5: agents[3].command is missing; name the program that docker is to run: command: [/usr/local/bin/align]
6:66: agents[4].stdout: only agents of mode exec have it; leave it out, or write mode: exec
6:80: agents[4].submits is 0: nothing would ever be submitted; write 1 or more`
	if err == nil {
		t.Fatal("no problem")
	}
	if got := strings.ReplaceAll(err.Error(), "/conf/bellhop.yaml:", ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
