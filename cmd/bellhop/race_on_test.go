//go:build race

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Under the race detector it takes a process 12 s of a processor to learn what
// licences look like, and a demo has several that begin at once: its agent is
// built without.
const plainAgent = ".license"

func preparePlainAgent() (remove func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-o", program+plainAgent, "bellhop/agents/examples/license/cmd")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the license agent: %w\n%s", err, out)
	}
	return func() { _ = os.Remove(program + plainAgent) }, nil
}

// becomePlainAgent returns if there is none.
func becomePlainAgent() {
	if program, err := os.Executable(); err == nil {
		_ = syscall.Exec(program+plainAgent, []string{"license"}, os.Environ())
	}
}
