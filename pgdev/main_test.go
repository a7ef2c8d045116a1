package pgdev_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

// TestMain also plays the owner that owner_test.go kills: this same program,
// told by the environment which folder to own.
func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv("PGDEV_TEST_OWN"); ok {
		own(dir)
	}
	code := pgtest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// own starts a cluster, tells where it is, and waits for a word on stdin: then
// it stops the cluster. The end of stdin leaves it standing still.
func own(dir string) {
	c, err := pgdev.Start(context.Background(), pgdev.Config{Dir: dir})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(c.Dir(), c.PID(), c.URL())
	word := make([]byte, 1)
	if n, _ := os.Stdin.Read(word); n == 0 {
		select {}
	}
	if err := c.Stop(context.Background()); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
