package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode/utf8"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// way is how another host is reached.
type way struct {
	connect []string
	ssh     bool
	opening chan struct{}             // a place for each line that is being opened
	failed  atomic.Pointer[LineError] // the last that was not
}

// openAtOnce is how many lines to one host are opened at the same time: sshd
// throws away connections when more than ten have not logged in yet.
const openAtOnce = 4

// open waits for a place, runs what opens a line, and gives the place back. If another line failed during the wait,
// this one is not tried: it would fail in the same way, after as long.
func (w *way) open(ctx context.Context, run func() error) error {
	before := w.failed.Load()
	select {
	case w.opening <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.opening }()
	if failed := w.failed.Load(); failed != before {
		return failed
	}
	err := run()
	var line *LineError
	if errors.As(err, &line) && line.Code() != "given_up" {
		again := *line // another one, even if it says the same
		w.failed.Store(&again)
	}
	return err
}

func newWay(connect []string) *way {
	return &way{connect: connect, ssh: filepath.Base(connect[0]) == "ssh", opening: make(chan struct{}, openAtOnce)}
}

// sshOptions are put in unless connect sets them. Keys, jump hosts and the rest are left to ssh's own
// configuration; host keys are checked as it says (strictly by default, since no user is there to be asked).
var sshOptions = []string{
	"BatchMode=yes", // never ask
	"ConnectTimeout=10",
	"ServerAliveInterval=5", // a dead line is found
	"ServerAliveCountMax=3",
	"RequestTTY=no",
	"ClearAllForwardings=yes",
	"ForwardAgent=no",
	"ForwardX11=no",
	"PermitLocalCommand=no",
	"RemoteCommand=none", // ours
	"ControlMaster=no",   // one that is there is used; none is left behind
}

// argv is the whole command that starts args on the host. ssh joins words and the
// login shell there splits them again, so for ssh they are one line; for any other
// connect they follow as they are.
func (w *way) argv(args []string) []string {
	if !w.ssh {
		return append(append([]string(nil), w.connect...), args...)
	}
	argv := []string{w.connect[0]}
	for _, option := range sshOptions {
		name, _, _ := strings.Cut(option, "=")
		if name == "BatchMode" || !sets(w.connect[1:], name) {
			argv = append(argv, "-o", option)
		}
	}
	argv = append(argv, w.connect[1:]...)
	return append(argv, shellLine(args))
}

// sets reports whether ssh's arguments set an option: -o Name=…, -oName …
func sets(args []string, name string) bool {
	for i, a := range args {
		switch {
		case a == "-o" && i+1 < len(args):
			a = args[i+1]
		case strings.HasPrefix(a, "-o"):
			a = a[2:]
		default:
			continue
		}
		a = strings.TrimLeft(a, " ")
		if end := strings.IndexAny(a, "= \t"); end >= 0 && strings.EqualFold(a[:end], name) {
			return true
		}
	}
	return false
}

// shellLine is a line that starts words, and that every login shell reads alike:
// sh, bash, zsh, csh, tcsh and fish agree on what stands between single quotes if
// that has no line break, no quote, no backslash before one of these, and no "!".
// So those are written as printf's %b wants them, and sh takes the words apart.
// They come in short pieces, since a csh refuses a word of more than 1,024 bytes.
func shellLine(words []string) string {
	text := "exec"
	for _, word := range words {
		text += " '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString(`exec /bin/sh -c 'eval "$(IFS=; printf %b "$*")"' sh '`)
	piece := 0
	for i := range len(text) {
		if piece >= shellPiece && utf8.RuneStart(text[i]) {
			b.WriteString("' '")
			piece = 0
		}
		before := b.Len()
		if c := text[i]; c < ' ' || c == 0x7f || strings.IndexByte(`'\!`, c) >= 0 {
			fmt.Fprintf(&b, `\0%03o`, c)
		} else {
			b.WriteByte(c)
		}
		piece += b.Len() - before
	}
	b.WriteString("'")
	return b.String()
}

// shellPiece is about how long a word for a login shell gets.
const shellPiece = 400

// wayVars are of the scheduler's environment what the command that reaches a
// host may need: ssh's agent, where containers are run.
var wayVars = []string{"PATH", "HOME", "LANG", "TMPDIR", "USER", "LOGNAME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR",
	"DOCKER_HOST", "CONTAINER_HOST", "KUBECONFIG"}

func wayEnvironment() []string {
	var env []string
	for _, name := range wayVars {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if os.Getenv("PATH") == "" {
		env = append(env, "PATH="+defaultPath)
	}
	return env
}

// farRequest is what the guard of an agent on another host is asked for.
func (l *Launcher) farRequest(w *way, s Spec, argv, extraEnv []string) (guard.Request, error) {
	if s.User != "" {
		return guard.Request{}, &commandError{path: "user " + s.User, code: 126,
			why: "agents[].user is for this machine; to run as another user on another host, log in there as that user (hosts[].connect: [ssh, " + s.User + "@…])"}
	}
	program, err := programName()
	if err != nil {
		return guard.Request{}, err
	}
	boot := append([]string{"sh", "-c", guard.Bootstrap, "bellhop-far", program}, argv...)
	env := make([]string, 0, len(s.Env)+len(extraEnv))
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	return guard.Request{Argv: argv, Env: append(env, extraEnv...), Dir: s.WorkDir,
		Way: w.argv(boot), WayEnv: wayEnvironment(), Whole: !w.ssh}, nil
}

// programName names this very program by its content: under that name it is
// kept on other hosts.
var programName = sync.OnceValues(func() (string, error) {
	f, err := os.Open(guard.OwnProgram())
	if err != nil {
		return "", fmt.Errorf("read this program, to send it to another host: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read this program, to send it to another host: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
})

// missingThere: a program that is not on the host is told like one that is not here.
func missingThere(host scheduler.HostName, r guard.Request, errno syscall.Errno) error {
	e := &commandError{path: "(no command)", why: "on host " + string(host) + ": " + errno.Error(), code: 126}
	if len(r.Argv) > 0 {
		e.path = r.Argv[0]
	}
	switch errno {
	case syscall.ENOENT:
		e.why, e.code = "no such file on host "+string(host), 127
	case syscall.ENOTDIR:
		e.path, e.why = r.Dir, "no such directory to work in on host "+string(host)+" (agents[].workdir)"
	case syscall.EISDIR:
		e.why = "is a directory on host " + string(host)
	case syscall.ENOEXEC:
		e.why = "not executable on host " + string(host) + "; try there: chmod +x " + e.path
	}
	return e
}
