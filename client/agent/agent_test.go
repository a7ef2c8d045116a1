package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bellhop/client/agent"
)

type invoice struct {
	Order int64 `json:"order,string"`
	Note  string
}

// talk runs an agent, and gives what it says to each line.
type talk struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Reader
	ended chan error
}

func start[T any](t *testing.T, work func(context.Context, *agent.Job[T]) error) *talk {
	t.Helper()
	ours, in := io.Pipe()
	out, theirs := io.Pipe()
	k := &talk{t, in, bufio.NewReader(out), make(chan error, 1)}
	go func() {
		err := agent.Run(t.Context(), ours, theirs, "invoice", work)
		_ = theirs.Close()
		k.ended <- err
	}()
	if got, want := k.line(), `{"bellhop":1,"type":"invoice"}`; got != want {
		t.Fatalf("it greets with %s, want %s", got, want)
	}
	return k
}

func (k *talk) line() string {
	k.t.Helper()
	line, err := k.out.ReadString('\n')
	if err != nil {
		k.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// ask gives a line to the agent, and what it says up to its answer.
func (k *talk) ask(line string) string {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
	var said []string
	for {
		said = append(said, k.line())
		last, _, _ := strings.Cut(said[len(said)-1], ":")
		if last == `{"ok"` || last == `{"fail"` || last == `{"snooze"` {
			return strings.Join(said, "\n")
		}
	}
}

// end closes stdin, after which the agent has to go.
func (k *talk) end() {
	k.t.Helper()
	_ = k.in.Close()
	if rest, err := io.ReadAll(k.out); len(rest) > 0 || err != nil {
		k.t.Errorf("at its end it says %q, %v", rest, err)
	}
	if err := <-k.ended; err != nil {
		k.t.Error(err)
	}
}

// Law: every line has exactly one answer, which is the last word about it, and
// the agent goes on whatever becomes of a job.
func TestRun_AnswersEachLine(t *testing.T) {
	t.Parallel()
	k := start(t, func(_ context.Context, job *agent.Job[invoice]) error {
		switch {
		case job.Args.Note == "panic":
			panic("no paper")
		case job.Args.Note == "never":
			return fmt.Errorf("bad input: %w", agent.NoRetry(badCode{}))
		case job.Args.Note == "later":
			return agent.RetryIn(90*time.Second, errors.New("busy"))
		case job.Args.Note == "snooze":
			job.At(0.25, "asked")
			return fmt.Errorf("not yet: %w", agent.Snooze(time.Hour))
		case job.Args.Note == "nothing":
			return fmt.Errorf("no invoice: %w", agent.NoData)
		case job.Args.Note == "exit":
			return fmt.Errorf("print: %w", exec.Command("sh", "-c", "exit 3").Run())
		case job.Args.Note != "":
			return errors.New(job.Args.Note)
		}
		job.Logf("order %d\nof %s", job.Args.Order, job.Vars["SHOP"])
		job.Progress(map[string]int{"done": 1, "of": 2})
		job.Progress(make(chan int))
		job.Result(job.Item)
		job.Success()
		return nil
	})
	for _, c := range []struct{ line, want string }{
		{
			`{"id":7,"attempt":1,"fence":3,"args":"{\"order\":\"42\"}","vars":{"SHOP":"here"}}`,
			`{"log":"order 42\nof here","level":"info"}
{"progress":{"done":1,"of":2}}
{"log":"what the agent wanted to say is not valid JSON: json: unsupported type: chan int","level":"error"}
{"result":null}
{"success":true}
{"ok":true}`,
		},
		{
			`{"id":7,"attempt":1,"fence":3,"args":null,"item":{"order":"17","path":"/a"}}`,
			`{"log":"order 17\nof ","level":"info"}
{"progress":{"done":1,"of":2}}
{"log":"what the agent wanted to say is not valid JSON: json: unsupported type: chan int","level":"error"}
{"result":{"order":"17","path":"/a"}}
{"success":true}
{"ok":true}`,
		},
		{`{"id":8,"args":"{\"Note\":\"disk full\"}"}`, `{"fail":"disk full","exit_code":1}`},
		{`{"id":8,"args":"{\"Note\":\"exit\"}"}`, `{"fail":"print: exit status 3","exit_code":3}`},
		{`{"id":8,"args":"{\"order\":\"many\"}"}`, `exit_code":2}`},
		{`{"id":8,"args":"no JSON"}`, `exit_code":2}`},
		{`no JSON`, `exit_code":2}`},
		{`{"id":8,"args":"{\"Note\":\"panic\"}"}`, `{"fail":"panic: no paper","exit_code":1}`},
		{`{"id":8,"args":"{\"Note\":\"never\"}"}`, `{"fail":"bad input: no good","exit_code":7,"retry":false}`},
		{`{"id":8,"args":"{\"Note\":\"later\"}"}`, `{"fail":"busy","exit_code":1,"retry":"1m30s"}`},
		{`{"id":8,"args":"{\"Note\":\"snooze\"}"}`, `{"progress":{"done":0.25,"text":"asked"}}` + "\n" + `{"snooze":"1h0m0s"}`},
		{`{"id":8,"args":"{\"Note\":\"nothing\"}"}`, `{"ok":true,"ended_as":"no_data"}`},
		{`{"id":9,"args":"{\"Note\":\"last\"}"}`, `{"fail":"last","exit_code":1}`},
	} {
		got := k.ask(c.line)
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("to %s it says\n%s\nwant\n%s", c.line, got, c.want)
		}
		if panicked := strings.Contains(c.line, "panic"); panicked && !strings.Contains(got, "agent_test.go") {
			t.Errorf("no stack: %s", got)
		}
	}
	k.end()
}

func TestRun_TextAsItIs(t *testing.T) {
	t.Parallel()
	k := start(t, func(_ context.Context, job *agent.Job[string]) error {
		job.Logf("%s %v %d %d %d %s %s", job.Args, job.Item, job.ID, job.Attempt, job.Fence, job.Key, job.Traceparent)
		return nil
	})
	for line, want := range map[string]string{
		`{"id":7,"attempt":2,"fence":3,"args":"{\"a\"","key":"k","traceparent":"00-1"}`: `{\"a\" map[] 7 2 3 k 00-1`,
		`{"id":7,"attempt":2,"fence":3,"args":null}`:                                    ` map[] 7 2 3  `,
		`{"id":7,"attempt":2,"fence":3,"args":null,"item":{"id":"1"}}`:                  ` map[id:1] 7 2 3  `,
	} {
		if got, want := k.ask(line), `{"log":"`+want+`","level":"info"}`+"\n"+`{"ok":true}`; got != want {
			t.Errorf("to %s it says\n%s\nwant\n%s", line, got, want)
		}
	}
	k.end()
}

// Law: what is said after the answer reaches nobody: it would be taken for what
// the next job has to say.
func TestRun_NoWordAfterTheAnswer(t *testing.T) {
	t.Parallel()
	jobs := make(chan *agent.Job[string], 1)
	k := start(t, func(_ context.Context, job *agent.Job[string]) error {
		jobs <- job
		return nil
	})
	k.ask(`{"id":1,"args":"one"}`)
	late := <-jobs
	late.Logf("too late")
	if got := k.ask(`{"id":2,"args":"two"}`); got != `{"ok":true}` {
		t.Error(got)
	}
	k.end()
}

// Law: the context of a job ends when the agent's stdin does, and giving up
// then is no failure of the job: nothing is said.
func TestRun_StdinClosedStopsAJob(t *testing.T) {
	t.Parallel()
	k := start(t, func(ctx context.Context, job *agent.Job[string]) error {
		job.Logf("begun")
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if _, err := io.WriteString(k.in, `{"id":1,"args":""}`+"\n"); err != nil {
		t.Fatal(err)
	}
	k.line()
	_ = k.in.Close()
	if rest, err := io.ReadAll(k.out); len(rest) > 0 || err != nil {
		t.Errorf("at its end it says %q, %v", rest, err)
	}
	if err := <-k.ended; err != nil {
		t.Error(err)
	}
}

// And when the context of Run does, as by a signal: then no line comes any more.
func TestRun_ASignalStopsAJob(t *testing.T) {
	t.Parallel()
	in, keep := io.Pipe()
	defer keep.Close()
	ctx, stop := context.WithCancel(t.Context())
	begun := make(chan struct{})
	go func() {
		_, _ = io.WriteString(keep, `{"id":1,"args":""}`+"\n")
		<-begun
		stop()
	}()
	var out strings.Builder
	err := agent.Run(ctx, in, &out, "t", func(ctx context.Context, _ *agent.Job[string]) error {
		close(begun)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), agent.ErrStopped) {
			t.Error(context.Cause(ctx))
		}
		return nil // it was done all the same
	})
	if err != nil || !strings.HasSuffix(out.String(), `{"ok":true}`+"\n") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// An agent that nobody hears ends.
func TestRun_NobodyListens(t *testing.T) {
	t.Parallel()
	in, keep := io.Pipe()
	defer keep.Close()
	go func() { _, _ = io.WriteString(keep, `{"id":1,"args":""}`+"\n") }()
	err := agent.Run(t.Context(), in, brokenPipe{}, "t", func(context.Context, *agent.Job[string]) error { return nil })
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// badCode is an error with an exit code.
type badCode struct{}

func (badCode) Error() string { return "no good" }
func (badCode) ExitCode() int { return 7 }
