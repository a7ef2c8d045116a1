package agents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
)

// echo is the fastest agent there is in Go.
const echo = `package main

import (
	"bufio"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	ok := []byte("OK\n")
	for {
		os.Stdout.Write(ok)
		if _, err := in.ReadSlice('\n'); err != nil {
			return
		}
	}
}
`

func buildEcho(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(echo), 0o644); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "echo")
	cmd := exec.Command("go", "build", "-o", path, "main.go")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}

// BenchmarkLockstep is the rate of lines through children that do nothing,
// fed in batches of 128, beside the bare pipe of the machine.
func BenchmarkLockstep(b *testing.B) {
	path := buildEcho(b)
	for _, children := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("children=%d", children), func(b *testing.B) {
			l := NewLauncher(Config{Specs: []Spec{{Type: testType, Command: []string{path}}}})
			var all []*benchChild
			for range children {
				all = append(all, newBenchChild(b, l))
			}
			b.ResetTimer()
			start := time.Now()
			var wg sync.WaitGroup
			for _, c := range all {
				wg.Go(func() { c.do(b.N / children) })
			}
			wg.Wait()
			b.ReportMetric(float64(b.N/children*children)/time.Since(start).Seconds(), "lines/s")
			b.StopTimer()
			for _, c := range all {
				c.p.Kill()
				<-c.p.Done()
			}
		})
	}
	for _, children := range []int{1, 2} {
		b.Run(fmt.Sprintf("bare-pipe=%d", children), func(b *testing.B) {
			start := time.Now()
			var wg sync.WaitGroup
			for range children {
				wg.Go(func() { barePipe(b, path, b.N/children) })
			}
			wg.Wait()
			b.ReportMetric(float64(b.N/children*children)/time.Since(start).Seconds(), "lines/s")
		})
	}
}

type benchChild struct {
	p      *Process
	rings  chan struct{}
	events []scheduler.ChildEvent
}

func newBenchChild(b *testing.B, l *Launcher) *benchChild {
	b.Helper()
	c := &benchChild{rings: make(chan struct{}, 1)}
	p, err := l.Launch(testType, testChild, "local", 0, func() {
		select {
		case c.rings <- struct{}{}:
		default:
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	c.p = p
	for len(c.events) == 0 {
		<-c.rings
		c.events = p.Take(c.events[:0])
	}
	return c
}

// do keeps between 64 and 192 lines with the child.
func (c *benchChild) do(n int) {
	batch := make([]scheduler.Line, 128)
	for i := range batch {
		batch[i] = line(i+1, "/some/path/of/usual/length.c")
	}
	fed, done := 0, 0
	for done < n {
		if fed-done < 64 && fed < n {
			next := batch[:min(len(batch), n-fed)]
			c.p.Feed(next)
			fed += len(next)
			continue
		}
		<-c.rings
		c.events = c.p.Take(c.events[:0])
		done += len(c.events)
	}
}

// barePipe is the least that can drive the same agent.
func barePipe(b *testing.B, path string, n int) {
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Error(err)
		return
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		b.Error(err)
		return
	}
	text := []byte("/some/path/of/usual/length.c\n")
	var buf [64]byte
	for range n {
		if _, err := out.Read(buf[:]); err != nil {
			b.Error(err)
			break
		}
		_, _ = in.Write(text)
	}
	_ = in.Close()
	_ = cmd.Wait()
}
