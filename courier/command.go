package courier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"bellhop/scheduler/notice"
)

// Commands runs programs that are told by their standard input.
type Commands struct {
	Named map[string][]string // those of bellhop.yaml
	Any   bool                // those that the database names, too
}

// maxSaid is how much of what a command says is kept.
const maxSaid = 1000

// Send runs a command: target is JSON, a name of bellhop.yaml or a program with its
// arguments. Exit code 0 means that it was told.
func (c Commands) Send(ctx context.Context, target string, m notice.Message) error {
	var argv []string
	if err := json.Unmarshal([]byte(target), &argv); err != nil || len(argv) == 0 {
		return fmt.Errorf("%w: %q is not a valid command", ErrNever, target)
	}
	if named := c.Named[argv[0]]; len(argv) == 1 && len(named) > 0 {
		argv = named
	} else if !c.Any {
		return fmt.Errorf("%q is none of notifications.commands in bellhop.yaml", strings.Join(argv, " "))
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(m.Body)
	said := &head{left: maxSaid}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = []string{"BELLHOP_MESSAGE_ID=" + m.ID}
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.SysProcAttr = own()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch said := strings.TrimSpace(said.b.String()); {
	case errors.Is(err, exec.ErrWaitDelay): // it is told; what it has left running holds its output
		return nil
	case err != nil && said != "":
		return fmt.Errorf("%s: %w: %s", argv[0], err, said)
	case err != nil:
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

// head keeps the beginning of what is written.
type head struct {
	b    bytes.Buffer
	left int
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.b.Write(p[:n])
	h.left -= n
	return len(p), nil
}
