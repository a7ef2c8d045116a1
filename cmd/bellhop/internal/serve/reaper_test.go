package serve

import (
	"os"
	"os/exec"
	"testing"

	"bellhop/machine"
	"bellhop/scheduler"
)

// An instance is dead when its process is gone, and alive as far as anything else can tell.
func TestReaper_KnowsTheDeadByPidAndStart(t *testing.T) {
	t.Parallel()
	started, err := machine.ProcessStart(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	over := exec.Command("true")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		reaper  reaper
		suspect scheduler.Suspect
		dead    bool
	}{
		{"it runs", reaper{machine: "here"}, scheduler.Suspect{Machine: "here", Pid: os.Getpid(), ProcessStart: started}, false},
		{"its pid was given to another process", reaper{machine: "here"}, scheduler.Suspect{Machine: "here", Pid: os.Getpid(), ProcessStart: "1"}, true},
		{"its process is gone", reaper{machine: "here"}, scheduler.Suspect{Machine: "here", Pid: over.Process.Pid, ProcessStart: "1"}, true},
		{"it ran on another machine", reaper{machine: "here"}, scheduler.Suspect{Machine: "there", Pid: os.Getpid(), ProcessStart: "1"}, false},
		{"this machine has no name", reaper{}, scheduler.Suspect{Pid: os.Getpid(), ProcessStart: "1"}, false},
	} {
		if got := c.reaper.Dead(c.suspect); got != c.dead {
			t.Errorf("%s: dead %t, want %t", c.what, got, c.dead)
		}
	}
}
