package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plantSeed decides about the harm, and plantMinutes how long torture begins new histories.
const (
	plantSeed    = "7"
	plantMinutes = "3"
)

// found is what torture said of one planted fault. Without the invariant that was to be broken, why says what is wrong.
type found struct {
	planted
	broken    string // the invariants that did not hold, and how often
	histories int
	took      time.Duration
	why       string
}

func (f found) String() string {
	if f.why != "" {
		return f.why
	}
	return fmt.Sprintf("%s, in %d histories and %.0f s", f.broken, f.histories, f.took.Seconds())
}

// said is what torture prints as JSON.
type said struct {
	Faults []struct {
		Histories  int            `json:"histories"`
		Violations map[string]int `json:"violations"`
	} `json:"faults"`
}

// plant leaves the guards of a fault out, builds the program, and has the program as it was look for the loss.
func (r *runner) plant(ctx context.Context, p planted) (got found) {
	got.planted = p
	if _, err := os.Stat(r.sound()); err != nil { // the first one
		if out, err := r.build(ctx, r.sound()); err != nil {
			got.why = "the program does not build: " + out
			return got
		}
	}
	back, err := r.cut(p.cuts)
	defer func() {
		if err := back(); err != nil {
			got.why = err.Error()
		}
	}()
	if err != nil {
		got.why = "a fault of the entry: " + err.Error()
		return got
	}
	faulty := filepath.Join(r.dir, "bin", "faulty")
	if out, err := r.build(ctx, faulty); err != nil {
		got.why = "a fault of the entry: it does not build: " + out
		return got
	}
	begin := time.Now()
	out, err := r.torture(ctx, "--program", faulty, "--fault", p.harm)
	got.took = time.Since(begin)
	var s said
	if json.Unmarshal([]byte(out), &s) != nil || len(s.Faults) != 1 {
		got.why = fmt.Sprintf("torture did not come to an end: %v: %s", err, last(out))
		return got
	}
	broken := s.Faults[0].Violations
	got.histories = s.Faults[0].Histories
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		got.broken = strings.TrimPrefix(got.broken+", "+name, ", ")
	}
	if broken[p.shows] == 0 {
		got.why = fmt.Sprintf("NOT FOUND in %d histories: %s holds; broken: %q", got.histories, p.shows, got.broken)
	}
	return got
}

// build makes the program of the copy as it is now.
func (r *runner) build(ctx context.Context, to string) (string, error) {
	return r.goCommand(ctx, "build", "-trimpath", "-ldflags=-s -w", "-o", to, "./cmd/bellhop")
}

// sound is the program with all its guards.
func (r *runner) sound() string { return filepath.Join(r.dir, "bin", "sound") }

// torture runs until a violation is found. What it says of the violation goes to this program's stderr.
func (r *runner) torture(ctx context.Context, more ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"torture", "-o", "json", "--first", "--seed", plantSeed, "--minutes", plantMinutes}, more...)
	cmd := exec.CommandContext(ctx, r.sound(), args...)
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // it drops its databases
	cmd.WaitDelay = 30 * time.Second
	err := cmd.Run()
	fmt.Print(told.String())
	if out.Len() == 0 {
		return told.String(), err
	}
	return out.String(), err
}
