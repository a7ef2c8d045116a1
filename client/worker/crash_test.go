package worker_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
)

// doomed is an app whose handler never returns: it waits to be killed.
func doomed(url string) int {
	pool, err := pgxpool.New(context.Background(), url)
	if err == nil {
		err = worker.Run(context.Background(), pool, worker.Name("doomed"),
			worker.Handle("t", func(context.Context, *agent.Job[string]) error {
				fmt.Println("begun")
				select {}
			}))
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// kill -9 of an app: another has its jobs when its lease is over, under a new fence.
func TestRun_AnotherTakesOver(t *testing.T) {
	t.Parallel()
	a := setup(t)
	id := a.submit(client.Job{Type: "t"})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WORKER_TEST_APP="+a.url)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	fences := make(chan int64, 1)
	a.run(worker.Handle("t", func(_ context.Context, job *agent.Job[string]) error {
		fences <- job.Fence
		return nil
	}))
	if o := a.outcome(id); o.Err() != nil {
		t.Error(o.Err())
	}
	if fence := <-fences; fence < 2 {
		t.Errorf("fence %d", fence)
	}
}
