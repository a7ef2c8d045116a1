package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"bellhop/client/agent"
)

// scheduler gives one line, and ends when that is answered. It prints the answers.
type scheduler struct{ end *io.PipeWriter }

func schedulerOf(line string) (in io.Reader, out io.Writer) {
	in, end := io.Pipe()
	go fmt.Fprintln(end, line)
	return in, scheduler{end}
}

func (s scheduler) Write(said []byte) (int, error) {
	if bytes.Contains(said, []byte(`"ok"`)) || bytes.Contains(said, []byte(`"fail"`)) {
		defer s.end.Close()
	}
	return os.Stdout.Write(said)
}

// A job comes as a line, and its outcome goes back as one. Serve does this on the process's stdin and stdout.
func ExampleRun() {
	in, out := schedulerOf(`{"id":7,"attempt":1,"fence":1,"args":"{\"order\":\"42\"}"}`)
	_ = agent.Run(context.Background(), in, out, "invoice",
		func(_ context.Context, job *agent.Job[invoice]) error {
			job.Logf("order %d", job.Args.Order)
			job.At(0.5, "half")
			return nil
		})
	// Output:
	// {"bellhop":1,"type":"invoice"}
	// {"log":"order 42","level":"info"}
	// {"progress":{"done":0.5,"text":"half"}}
	// {"ok":true}
}

// An error that another attempt cannot mend ends the job as failed.
func ExampleNoRetry() {
	in, out := schedulerOf(`{"id":7,"attempt":1,"fence":1,"args":"{\"order\":\"0\"}"}`)
	_ = agent.Run(context.Background(), in, out, "invoice",
		func(_ context.Context, job *agent.Job[invoice]) error {
			return agent.NoRetry(fmt.Errorf("there is no order %d", job.Args.Order))
		})
	// Output:
	// {"bellhop":1,"type":"invoice"}
	// {"fail":"there is no order 0","exit_code":1,"retry":false}
}
