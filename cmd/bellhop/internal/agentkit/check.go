package agentkit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
)

func agentCheckCommand(a *cli.App) *cobra.Command {
	var o trialOptions
	var line string
	c := &cobra.Command{
		Use:   "check [flags] CMD [ARG…]",
		Short: "Check that an agent keeps to its protocol",
		Long: `Starts an agent as serve would, several times, and checks that it keeps to its
protocol: one verdict a line. ok: it does. odd: worth a look; it may be right for
this agent. bad: jobs would fail or hang. Exit code 1 if anything is bad.

--line is a line that the agent can process. Without it the check makes up lines. If
the agent dies of one of those, that is odd, not bad: so a line fails in classic.`,
		Example: `  bellhop agent check --line /etc/hosts agents/examples/checksum.py
  bellhop agent check --dialect fossology --line 7 mods-enabled/nomos/agent/nomos
  bellhop agent check --mode exec sh -c 'test -e "$0"'`,
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which agent? Give its command")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := newTrial(args, o)
			if err != nil {
				return err
			}
			k := &kit{trial: t, given: cmd.Flags().Changed("line"), line: line}
			if !a.JSON() {
				k.tell = func(v Finding) {
					// a failed write cannot be reported
					_ = a.Printf("%s\n", strings.TrimRight(fmt.Sprintf("%-4s  %-40s %s", v.Verdict, v.Check, cli.Clean(v.Says)), " "))
				}
			}
			k.run()
			if a.JSON() {
				if err := a.PrintJSON(k.verdicts); err != nil {
					return err
				}
			}
			if k.count("bad") > 0 {
				return cli.Silent(cli.ExitJobFailed)
			}
			return nil
		},
	}
	trialFlags(c, &o)
	c.Flags().StringVar(&line, "line", "", "a `line` that the agent can process")
	return c
}

// Finding is the end of one check.
type Finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok, odd, bad
	Says    string `json:"says"`
}

// kit is the checks of one agent.
type kit struct {
	*trial
	given    bool // line is one that the agent can do
	line     string
	verdicts []Finding
	done     int  // lines that it did
	asks     bool // it wants a database
	tell     func(Finding)
}

// saidShown is how much is shown of what an agent has said, in characters.
const saidShown = 200

func (k *kit) judge(verdictIs, check, format string, args ...any) {
	// An agent may say the line again that it was given, and that may be long.
	v := Finding{check, verdictIs, cli.Cut(cli.Flat(fmt.Sprintf(format, args...)), saidShown)}
	k.verdicts = append(k.verdicts, v)
	if k.tell != nil {
		k.tell(v)
	}
}

func (k *kit) count(verdictIs string) (n int) {
	for _, v := range k.verdicts {
		if v.Verdict == verdictIs {
			n++
		}
	}
	return n
}

// quietFor is how long the check listens for unasked output.
const quietFor = 200 * time.Millisecond

func (k *kit) run() {
	switch {
	case k.spec.Mode == agents.ModeExec:
		k.runExec()
	case k.spec.Dialect == agents.DialectFOSSology:
		k.runFOSSology()
	default:
		k.runWarm()
	}
}

// up starts the agent and waits until it is ready; first says the verdicts too.
func (k *kit) up(first bool) *tried {
	judge := k.judge
	if !first {
		judge = func(is, check, format string, args ...any) {
			if is == "bad" {
				k.judge(is, check+", again", format, args...)
			}
		}
	}
	c, err := k.start()
	if err != nil {
		judge("bad", "starts", "%s", err)
		return nil
	}
	judge("ok", "starts", "%s", strings.Join(k.spec.Command, " "))
	ev, came := c.next(k.patience)
	switch {
	case !came:
		judge("bad", "is ready in time", "no OK, and no json greeting, within %s; say one of them, and flush it: a pipe is not a terminal", k.patience)
	case ev.Kind == scheduler.EventReady:
		judge("ok", "is ready in time", "after %d ms", time.Since(c.began).Milliseconds())
		return c
	default:
		judge("bad", "is ready in time", "%s", ev.Told())
	}
	c.end()
	return nil
}

// odd are lines that any agent must outlive: not by doing them, but by an
// answer, or by dying of them, in time.
func (k *kit) oddLines() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"an empty line", ""},
		{"a long line (64 KiB)", strings.Repeat("x", 64<<10)},
		{"UTF-8, quotes and backslashes", "grüße 😀 \u00a0 \t \"q\" \\ 'a' $HOME * ; |"},
		{"an item", `id="17" path="/srv/a \"b\".c" note="two\nlines"`},
	}
}

func (k *kit) runWarm() {
	c := k.up(true)
	if c == nil {
		return
	}
	defer func() { c.end() }()
	said, _ := k.lines(agents.VoiceAgent, 0)
	if first := slices.IndexFunc(said, isDone); first > 0 {
		k.judge("odd", "says nothing before it is ready", "%d lines, the first: %s", first, said[0])
	} else {
		k.judge("ok", "says nothing before it is ready", "")
	}
	if !k.quiet(c, "waits to be asked", 1) {
		return
	}
	line := k.line
	if !k.given {
		line = "check"
	}
	for n, check := range []string{"does a line", "does the next one"} {
		ev, came := c.do(argument(line))
		if !k.answered(check, ev, came, k.given) {
			if c = k.again(c); c == nil {
				return
			}
			break
		}
		if n == 0 && !k.quiet(c, "answers once", 2) {
			return
		}
	}
	for _, odd := range k.oddLines() {
		ev, came := c.do(argument(odd.text))
		if !k.answered("outlives "+odd.name, ev, came, false) {
			if c = k.again(c); c == nil {
				return
			}
		}
	}
	if k.done == 0 && !k.asks {
		k.judge("bad", "does anything at all", "none of the lines succeeded; name one that it can process with --line")
	}
	k.leaves(c)
}

// again brings up another process after one that is of no more use.
func (k *kit) again(c *tried) *tried {
	c.end()
	next := k.up(false)
	if next == nil { // its caller ends it
		return nil
	}
	return next
}

// answered judges the answer to a line. It reports whether the agent can go on.
func (k *kit) answered(check string, ev scheduler.ChildEvent, came, must bool) bool {
	bad := "odd"
	if must {
		bad = "bad"
	}
	switch {
	case !came && k.asked():
		k.asks = true
		k.judge("odd", check, "no answer within %s: it waits for the answer to its DB:, and there is no database here", k.patience)
	case !came:
		k.judge("bad", check, "no answer within %s; say OK when a line is done, and flush it", k.patience)
	case ev.Kind == scheduler.EventAnswered && ev.OK:
		k.done++
		k.judge("ok", check, "")
		return true
	case ev.Kind == scheduler.EventAnswered:
		if must {
			k.judge("bad", check, "it failed, exit code %d: %s", ev.ExitCode, ev.Told())
		} else {
			k.judge("ok", check, "it said that it failed: %s", ev.Told())
		}
		return true
	case ev.Kind == scheduler.EventOutputClosed:
		k.judge("bad", check, "%s", ev.Told())
	default:
		k.judge(bad, check, "it died: %s", ev.Told())
	}
	return false
}

// asked reports whether the last that the agent said was a question to the database.
func (k *kit) asked() bool {
	said, _ := k.lines(agents.VoiceAgent, 0)
	return len(said) > 0 && strings.HasPrefix(said[len(said)-1], "DB:")
}

// isDone: that it is ready, or done with a line.
func isDone(line string) bool {
	return line == "OK" || strings.HasPrefix(line, "OK ") || strings.HasPrefix(line, `{"ok"`) || strings.HasPrefix(line, `{"bellhop"`)
}

// quiet checks that nothing is answered that was not asked: its first process
// has been done so many times, its start among them. One too many may have come
// in one piece with the one before.
func (k *kit) quiet(c *tried, check string, times int) bool {
	ev, came := c.next(quietFor)
	if came {
		k.judge("bad", check, "%s without a line to answer: %s", ev.Kind, ev.Told())
		return false
	}
	said, _ := k.lines(agents.VoiceAgent, 0)
	for _, l := range said {
		if !isDone(l) {
			continue
		}
		if times--; times < 0 {
			k.judge("bad", check, "it says %s without a line to answer: the next line would count as done", l)
			return true
		}
	}
	k.judge("ok", check, "")
	return true
}

// leaves checks that it dies when its stdin is closed, without being told otherwise.
func (k *kit) leaves(c *tried) {
	began := time.Now()
	c.CloseInput()
	if ev, came := c.next(k.patience); came && ev.Kind == scheduler.EventExited {
		k.judge("ok", "leaves when its stdin is closed", "%s, after %d ms", ev.Told(), time.Since(began).Milliseconds())
		return
	}
	c.Close()
	if ev, came := c.next(k.patience); came && ev.Kind == scheduler.EventExited {
		k.judge("odd", "leaves when its stdin is closed", "only after SIGHUP; read until the end of stdin")
		return
	}
	k.judge("bad", "leaves when its stdin is closed", "it still runs after %s, and after SIGHUP; it would be killed after limits.kill_after", 2*k.patience)
}
