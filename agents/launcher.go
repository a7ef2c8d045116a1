package agents

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// Launcher starts children, here and on other hosts.
type Launcher struct {
	specs     atomic.Pointer[map[scheduler.TypeName]Spec]
	ways      map[scheduler.HostName]*way // to the hosts that are not this machine
	guardPath string
	guardArgs []string
	stderr    io.Writer
	log       func([]scheduler.Entry)
	progress  func(scheduler.Progress)
	howFar    func(scheduler.HowFar)
	result    int
	locks     func(scheduler.LockAsk, func(scheduler.LockAnswer))
	unlimited limitless
	steps     func(context.Context, scheduler.Claim, scheduler.SavedStep) error // nil: none are kept
	versions  versions
	database  func() Database
	answers   Answers
	tap       func(Voice, []byte)
	open      func(scheduler.TypeName, *scheduler.Line) (*scheduler.Line, error)
	attached  func(scheduler.JobID) (scheduler.Attached, bool, error)
	instance  atomic.Int64
	self      string                                // this process, see thisProcess
	heir      func(scheduler.InstanceID) guard.Heir // nil: guards have none

	guarding sync.Mutex
	shared   *sharedGuard // of the children on this machine; nil until the first

	suspecting sync.Mutex
	suspects   scheduler.Suspects // of the death of a guard

	telling sync.Mutex // one line at a time to stderr
}

// NewLauncher makes a launcher for the agents of c.
func NewLauncher(c Config) *Launcher {
	l := &Launcher{
		// Not os.Executable: a binary replaced on disk would speak another
		// guard's protocol, a removed one none.
		guardPath: guard.OwnProgram(),
		self:      thisProcess(),
		stderr:    c.Stderr,
		log:       c.Log,
		progress:  c.Progress,
		howFar:    c.HowFar,
		result:    c.Result,
		locks:     c.Locks,
		steps:     c.Steps,
		database:  c.Database,
		answers:   c.Answers,
		tap:       c.Tap,
		open:      c.Open,
		attached:  c.Attached,
		heir:      c.Heir,
		versions:  versions{trouble: c.Trouble},
		unlimited: limitless{tell: c.Unlimited},
	}
	if len(c.Guard) > 0 {
		l.guardPath, l.guardArgs = c.Guard[0], c.Guard[1:]
	}
	if l.stderr == nil {
		l.stderr = io.Discard
	}
	if l.log == nil {
		l.log = func([]scheduler.Entry) {}
	}
	if l.answers.Timeout <= 0 {
		l.answers.Timeout = time.Minute
	}
	if l.attached == nil {
		l.attached = func(scheduler.JobID) (scheduler.Attached, bool, error) { return scheduler.Attached{}, false, nil }
	}
	if l.open == nil {
		l.open = func(_ scheduler.TypeName, line *scheduler.Line) (*scheduler.Line, error) { return line, nil }
	}
	if l.progress == nil {
		l.progress = func(scheduler.Progress) {}
	}
	if l.howFar == nil {
		l.howFar = func(scheduler.HowFar) {}
	}
	if l.result <= 0 {
		l.result = scheduler.DefaultResult
	}
	if l.locks == nil {
		l.locks = func(_ scheduler.LockAsk, answer func(scheduler.LockAnswer)) {
			answer(scheduler.LockAnswer{Refused: "locks are not available here"})
		}
	}
	l.ways = ways(c.Connect)
	l.Reload(c.Specs)
	return l
}

func ways(to map[scheduler.HostName][]string) map[scheduler.HostName]*way {
	list := make(map[scheduler.HostName]*way, len(to))
	for host, connect := range to {
		if len(connect) > 0 {
			list[host] = newWay(connect)
		}
	}
	return list
}

// Reload takes other specs, for the processes that are started from now on.
func (l *Launcher) Reload(list []Spec) {
	specs := make(map[scheduler.TypeName]Spec, len(list))
	for _, s := range list {
		if s.Mode == "" {
			s.Mode = ModeWarm
		}
		if s.Dialect == "" {
			s.Dialect = DialectAuto
		}
		if s.Dialect == DialectFOSSology {
			f := FOSSology{}
			if s.FOSSology != nil {
				f = *s.FOSSology
			}
			f = f.withDefaults()
			s.FOSSology = &f
		}
		specs[s.Type] = s
	}
	l.specs.Store(&specs)
}

// specOf is how the agent of a type is started.
func (l *Launcher) specOf(typ scheduler.TypeName) (Spec, bool) {
	spec, ok := (*l.specs.Load())[typ]
	return spec, ok
}

// SetInstance names the instance on the command line of every guard started
// from now on, so that Leftovers finds them after a crash. Call it again after
// a new registration.
func (l *Launcher) SetInstance(id scheduler.InstanceID) { l.instance.Store(int64(id)) }

// Launch starts a child of the type and returns when its process runs, which
// takes as long as a fork and two execs. Where each line has a process of its
// own there is none yet and the child is ready at once. On another host the
// process is under way: if it cannot be started, EventExited says so, with
// StopUnreached where the line is to blame.
//
// lease is as in Process.Lease. wake is called, from any goroutine and maybe
// before Launch returns, when Take has something after it had nothing; it must
// not block. While the agent has a line and more are queued for it, answers may
// wait half a millisecond for each other.
func (l *Launcher) Launch(typ scheduler.TypeName, child scheduler.ChildName, host scheduler.HostName,
	lease time.Duration, wake func()) (*Process, error) {
	spec, ok := l.specOf(typ)
	if !ok {
		return nil, fmt.Errorf("launch %s: no agent of type %q is configured; add it under agents in bellhop.yaml", child,
			typ)
	}
	p := &Process{launcher: l, spec: spec, child: child, host: host, wake: wake, done: make(chan struct{})}
	p.said = output{log: l.log, child: child, host: host}
	p.setLease(lease)
	switch {
	case spec.alone():
		p.push(scheduler.ChildEvent{Kind: scheduler.EventReady, At: time.Now()})
		wake()
		return p, nil
	case spec.Mode == ModeWarm:
		if l.ways[host] != nil {
			p.startFar()
			return p, nil
		}
		if err := p.startWarm(); err != nil {
			return nil, fmt.Errorf("launch %s: %w", child, err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("launch %s: mode %q is none of warm, exec", child, spec.Mode)
}

// tell writes one line to the scheduler's stderr.
func (l *Launcher) tell(line []byte) {
	l.telling.Lock()
	defer l.telling.Unlock()
	_, _ = l.stderr.Write(line)
}

// childRef is which child on which host.
type childRef struct {
	child scheduler.ChildName
	far   scheduler.HostName // empty: this machine
	alone bool               // under a guard of its own
}

// farOf is the host, unless it is this machine.
func (l *Launcher) farOf(host scheduler.HostName) scheduler.HostName {
	if l.ways[host] == nil {
		return ""
	}
	return host
}

// identity is what the command line of a line's guard tells: whose it is.
func (l *Launcher) identity(p childRef) []string {
	args := append([]string(nil), l.guardArgs...)
	args = append(args, instanceFlag, strconv.FormatInt(l.instance.Load(), 10), schedulerFlag, l.self, "--child",
		string(p.child))
	if p.far != "" {
		args = append(args, hostFlag, string(p.far))
	}
	return args
}

// request turns a spec and the line-specific parts into what a guard starts.
func (l *Launcher) request(
	host scheduler.HostName, s Spec, extraArgs []string, extraEnv []string,
) (guard.Request, error) {
	argv := make([]string, 0, len(s.Command)+len(extraArgs))
	argv = append(append(argv, s.Command...), extraArgs...)
	if w := l.ways[host]; w != nil {
		return l.farRequest(w, s, argv, extraEnv)
	}
	who, err := lookUpAccount(s.User)
	if err != nil {
		return guard.Request{}, err
	}
	env := environment(s.Env, who.home, extraEnv)
	path, err := findCommand(s.Command, s.WorkDir, env)
	if err != nil {
		return guard.Request{}, err
	}
	return guard.Request{Path: path, Argv: argv, Env: env, Dir: s.WorkDir,
		DropUser: who.drop, UID: who.uid, GID: who.gid, Groups: who.groups,
		Memory: uint32(s.Memory >> 10), CPU: uint32(math.Round(s.CPU * 1000))}, nil
}
