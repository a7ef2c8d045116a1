package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// contender is a program that does the work: bellhop, or a yardstick.
type contender interface {
	name() string
	// start runs it on a database of its own until it can work.
	start(ctx context.Context, url string, o options) error
	stop() error
	pid() int
	insertOne() string  // statement with $1 = the line
	insertMany() string // statement with $1 = how many
	left() string       // statement: how many are not done
	bad() string        // statement: how many were not done, not well, or more than once
}

// options is how a contender is set up for a measure.
type options struct {
	Notes string // folder for receipts, empty: none
	Drain bool   // set up for many waiting jobs, where a contender knows a difference
	Exec  bool   // a process for every job, where a contender can
	Slots int    // of an app with handlers, 0: the default
	Batch int    // how many jobs a handler of the app gets in one call, 0: one at a time
}

// process is a contender in a process of its own, under a hidden name of this very program, so that it shares no
// garbage collector with the producers.
type process struct {
	many int // such processes on the one database; 0: one
	cmd  *exec.Cmd
	in   io.WriteCloser
	more []process // those beside the first
}

// yardstick is what such a process is told.
type yardstick struct {
	Kind  string // reference, river, handlers, takers, listener
	Best  bool   // river
	URL   string
	Agent string // the program that does the work
	options
}

func (p *process) run(b *bench, y yardstick) error {
	if err := p.one(b, y); err != nil {
		return err
	}
	p.more = nil
	for range p.many - 1 {
		var beside process
		if err := beside.one(b, y); err != nil {
			_ = p.stop()
			return err
		}
		p.more = append(p.more, beside)
	}
	return nil
}

// one starts one process.
func (p *process) one(b *bench, y yardstick) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	told, err := json.Marshal(y)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(b.tmp, y.Kind+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(self, yardstickArg, string(told))
	p.cmd.Stderr = log
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != ready {
		_ = p.end() // what it says is in its log
		return fmt.Errorf("the %s did not come up; %s", y.Kind, tail(log.Name()))
	}
	return nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) stop() error {
	all := []error{p.end()}
	for i := range p.more {
		all = append(all, p.more[i].end())
	}
	return errors.Join(all...)
}

// end ends one process.
func (p *process) end() error {
	_ = p.in.Close()
	timer := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	return p.cmd.Wait()
}

const (
	yardstickArg = "yardstick"
	ready        = "{\"ready\":true}\n"
)

// beYardstick is the other side of run: it works until stdin ends.
func beYardstick(told string) error {
	var y yardstick
	if err := json.Unmarshal([]byte(told), &y); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stop func() error
	var err error
	switch y.Kind {
	case "reference":
		stop, err = startReference(ctx, y)
	case "river":
		stop, err = startRiver(ctx, y)
	case "handlers":
		stop, err = startHandlers(ctx, y)
	case "takers":
		stop, err = startTakers(ctx, y)
	case "listener":
		stop, err = startListener(ctx, y)
	default:
		err = errors.New("unknown yardstick " + y.Kind)
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(os.Stdout, ready); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return stop()
}

// tail is the end of a log, for an error.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return "its log ends with:\n" + string(text[max(len(text)-2000, 0):])
}
