package guard

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// firstLease is for the near side to hand over the request.
const firstLease = 20 * time.Second

// far is the guard on an agent's own host. Its 0 and 1 are the line.
type far struct {
	watch
	to     *sender
	stdin  *outlet
	stdout *intake
	stderr *intake
	ticks  [16]time.Time // when each of the last ones was sent
	tick   uint32
	orders chan farOrder
}

// farOrder is what came over the line; kind 0: it has ended.
type farOrder struct {
	kind   byte
	tick   uint32
	millis uint32
}

// isFarName: the program is called bh-guard, or bh-guard-… in the cache.
func isFarName(path string) bool {
	base := path
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			base = path[i+1:]
			break
		}
	}
	return len(base) >= len(Name) && base[:len(Name)] == Name
}

// runFar guards the agent argv for the guard at the other end of the line.
func runFar(argv []string) int {
	runtime.LockOSThread()
	becomeGuard()
	if writeFull(1, []byte("\n"+greeting+"guard\n")) != nil {
		return 1
	}
	greeted := time.Now()
	f := &far{to: &sender{fd: 1}, orders: make(chan farOrder)}
	f.children, f.term = make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(f.children, syscall.SIGCHLD)
	signal.Notify(f.term, syscall.SIGTERM)
	overdue := time.AfterFunc(firstLease, func() { syscall.Exit(1) })
	kind, body, err := readFrame(0, nil)
	overdue.Stop()
	if err != nil || kind != frameRequest {
		return 1
	}
	r, err := decodeRequest(body)
	if err != nil {
		f.report(Report{Kind: Failed, Value: uint32(syscall.EPROTO)})
		return 1
	}
	r.Argv = argv
	if !r.Check {
		_, leave := enterCgroup()
		defer leave()
	}
	if kind, errno := f.begin(r); errno != 0 {
		f.report(Report{Kind: kind, Value: uint32(errno)})
		return 1
	}
	if r.Check {
		f.report(Report{Kind: Started})
		f.report(Report{Kind: Exited})
		return 0
	}
	deafen()
	go f.listen()
	go f.stdin.run()
	go f.stdout.run()
	go f.stderr.run()
	f.report(Report{Kind: Started, Value: uint32(f.agent)})
	reason := f.keepFar(greeted.Add(time.Duration(r.Lease) * time.Millisecond))
	f.killAll()
	if reason == SchedulerGone || reason == LeaseMissed { // the near side is gone
		return 0
	}
	f.sayAll()
	f.report(Report{Kind: Exited, Reason: reason, Value: uint32(f.status)})
	return 0
}

// begin starts the agent, or only looks whether that could be done.
func (f *far) begin(r Request) (Kind, syscall.Errno) {
	r.Env = farEnvironment(r)
	if len(r.Argv) == 0 {
		if r.Check { // the scheduler looks at the host, as it does when a guard there was killed
			reapMarked()
			return 0, 0
		}
		return Missing, syscall.ENOENT
	}
	dir := r.Dir
	if dir == "" {
		dir, _ = os.Getwd() // where the login leads; the guard itself leaves it
	}
	if !isFolder(dir) {
		return Missing, syscall.ENOTDIR
	}
	if r.Path = lookPathFrom(dir, r.Argv[0], r.Env); r.Path == "" {
		return Missing, syscall.ENOENT
	}
	if r.CalledAs == "" {
		r.Dir = dir
	}
	if errno := mayRun(r.Path); errno != 0 {
		return Missing, errno
	}
	reapMarked()
	if r.Check {
		return 0, 0
	}
	var in, out, err [2]int
	for _, p := range []*[2]int{&in, &out, &err} {
		if e := Pipe(p, false); e != nil {
			return Failed, syscall.EMFILE
		}
	}
	files := [3]uintptr{uintptr(in[0]), uintptr(out[1]), uintptr(err[1])}
	if r.OneStream {
		files[2] = files[1] // err then ends at once
	}
	var errno syscall.Errno
	if f.agent, errno = startAgent(r, files, ""); errno != 0 {
		return Failed, errno
	}
	_, _, _ = syscall.Close(in[0]), syscall.Close(out[1]), syscall.Close(err[1])
	f.stdin = newOutlet(in[1], frameStdin, f.to, func(fd int) { _ = syscall.Close(fd) })
	f.stdout = newIntake(out[0], frameStdout, frameOutEnd, f.to)
	f.stderr = newIntake(err[0], frameStderr, frameErrEnd, f.to)
	return 0, 0
}

// keepFar waits for a reason to end, as keep does.
func (f *far) keepFar(lease time.Time) Reason {
	over := time.NewTimer(time.Until(lease))
	clock := time.NewTicker(lineTick)
	defer clock.Stop()
	f.ask()
	for {
		select {
		case <-f.children:
			if f.reap(); f.gone {
				return ByItself
			}
		case <-over.C:
			return LeaseMissed
		case <-f.term:
			return Terminated
		case <-clock.C:
			f.ask()
		case o := <-f.orders:
			switch o.kind {
			case 0:
				return SchedulerGone
			case frameKill:
				return Ordered
			case frameHangup:
				_ = syscall.Kill(f.agent, syscall.SIGHUP) // not reaped yet, so the pid is still its own
			case frameTick:
				if f.tick-o.tick < uint32(len(f.ticks)) {
					over.Reset(time.Until(f.ticks[o.tick%uint32(len(f.ticks))].Add(time.Duration(o.millis) * time.Millisecond)))
				}
			}
		}
	}
}

// ask asks for the lease, and does not wait for a line that is stuck.
func (f *far) ask() {
	f.tick++
	f.ticks[f.tick%uint32(len(f.ticks))] = time.Now()
	tick := f.tick
	go f.to.numbers(frameTick, tick)
}

// listen reads the line to its end.
func (f *far) listen() {
	buf := make([]byte, framePiece)
	for {
		kind, body, err := readFrame(0, buf)
		ok := err == nil
		switch {
		case !ok:
		case kind == frameStdin:
			ok = f.stdin.put(body)
		case kind == frameNoMore:
			f.stdin.end()
		case kind == frameCredit && len(body) == 8:
			if of := le32(body); of == frameStdout {
				f.stdout.grant(le32(body[4:]))
			} else {
				f.stderr.grant(le32(body[4:]))
			}
		case kind == frameTick && len(body) == 8:
			f.orders <- farOrder{kind: kind, tick: le32(body), millis: le32(body[4:])}
		case kind == frameHangup || kind == frameKill:
			f.orders <- farOrder{kind: kind}
		default:
			ok = false
		}
		if !ok {
			f.orders <- farOrder{}
			return
		}
	}
}

// sayAll waits until all is sent that the dead agent has said. A stranger may
// hold its pipes, and the line may die: neither is waited for.
func (f *far) sayAll() {
	go func() {
		for o := range f.orders { // the line may end meanwhile
			if o.kind == 0 {
				syscall.Exit(0)
			}
		}
	}()
	time.AfterFunc(LineLease, func() { syscall.Exit(0) }) // by then it is taken for dead
	for _, i := range []*intake{f.stdout, f.stderr} {
		for held := 0; held < 10; held++ {
			select {
			case <-i.done:
				held = 10
			case <-time.After(100 * time.Millisecond):
				if !i.idle() {
					held = 0
				}
			}
		}
	}
}

func (f *far) report(r Report) {
	b := r.encode()
	f.to.send(byte(r.Kind), b[:])
}

// farEnvironment is the agent's: PATH, HOME, LANG and TMPDIR of this host (or
// all there is), and what was sent; the later wins.
func farEnvironment(r Request) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	for _, pair := range os.Environ() {
		switch name := nameOf(pair); name {
		case "SSH_AUTH_SOCK": // the scheduler's keys are not the agent's
		case "PATH", "HOME", "LANG", "TMPDIR":
			env = setEnv(env, pair)
		default:
			if r.Whole {
				env = setEnv(env, pair)
			}
		}
	}
	for _, pair := range r.Env {
		env = setEnv(env, pair)
	}
	return env
}

func nameOf(pair string) string {
	for i := range len(pair) {
		if pair[i] == '=' {
			return pair[:i]
		}
	}
	return pair
}

func setEnv(env []string, pair string) []string {
	for i := range env {
		if nameOf(env[i]) == nameOf(pair) {
			env[i] = pair
			return env
		}
	}
	return append(env, pair)
}

func isFolder(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR
}

// mayRun refuses a path that is not an executable file.
func mayRun(path string) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return err.(syscall.Errno)
	}
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return syscall.EISDIR
	}
	if st.Mode&0o111 == 0 {
		return syscall.ENOEXEC
	}
	return 0
}

// lookPathFrom finds a program: with a slash in its name it is taken from dir.
func lookPathFrom(dir, name string, env []string) string {
	if name != "" && name[0] != '/' && hasSlash(name) {
		return dir + "/" + name
	}
	return lookPath(name, env)
}

// lookPath finds a program on the PATH of env; empty: it is not there.
func lookPath(name string, env []string) string {
	if name == "" || hasSlash(name) {
		return name
	}
	path := ""
	for _, pair := range env {
		if nameOf(pair) == "PATH" {
			path = pair[len("PATH="):]
		}
	}
	from := 0
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != ':' {
			continue
		}
		if dir := path[from:i]; dir != "" && dir[0] == '/' && mayRun(dir+"/"+name) == 0 {
			return dir + "/" + name
		}
		from = i + 1
	}
	return ""
}

func hasSlash(s string) bool {
	for i := range len(s) {
		if s[i] == '/' {
			return true
		}
	}
	return false
}
