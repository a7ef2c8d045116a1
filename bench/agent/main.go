// Command agent is the work of the benchmarks: it sleeps as long as its line
// says, mostly not at all, and notes what it got in the folder that the
// environment variable BENCH_NOTES names, if any.
package main

import (
	"bufio"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bellhop/bench/receipt"
)

func main() {
	signal.Ignore(syscall.SIGHUP) // the end of stdin is told by stdin
	desk, err := receipt.Open(os.Getenv("BENCH_NOTES"))
	if err != nil {
		os.Exit(1)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	ok := []byte("OK\n")
	if _, err := os.Stdout.Write(ok); err != nil {
		os.Exit(1)
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		work, err := desk.Take(line[:len(line)-1])
		if err != nil {
			os.Exit(1)
		}
		if work > 0 {
			time.Sleep(work)
		}
		if _, err := os.Stdout.Write(ok); err != nil {
			return
		}
	}
}
