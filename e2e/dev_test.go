package e2e

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var devQueue = regexp.MustCompile(`--database-url '([^']+)'`)

// From nothing to a first job of one's own: `bellhop dev`, and a job that is submitted with the address that it
// prints. Three seconds are the goal where PostgreSQL's programs are and the machine has nothing else to do; how long
// it took is printed, since a busy machine takes longer.
func TestDev_LeadsToAFirstJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	dev := exec.CommandContext(ctx, binary, "dev", "--listen", "127.0.0.1:0")
	dev.Cancel = func() error { return dev.Process.Signal(syscall.SIGTERM) } // so that its server goes, too
	dev.WaitDelay = patience
	var log bytes.Buffer
	dev.Stderr = &log
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, url := bufio.NewScanner(out), ""
	for url == "" && lines.Scan() {
		if m := devQueue.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	up := time.Since(began)
	first := exec.CommandContext(ctx, binary, "submit", "greet", "me", "--wait", "--database-url", url)
	said, err := first.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		t.Errorf("the first job: %v\n%s", err, said)
	}
	load, _ := os.ReadFile("/proc/loadavg") // there is none elsewhere
	average, _, _ := strings.Cut(string(load), " ")
	t.Logf("up after %.2f s, a first job has ended after %.2f s (load %s)", up.Seconds(), took.Seconds(), average)
	told := time.Now()
	_ = dev.Process.Signal(syscall.SIGINT)
	for lines.Scan() { // to its end: it waits for a reader
	}
	if err := dev.Wait(); err != nil {
		t.Errorf("dev ended with %v\n%s", err, log.String())
	}
	if strings.Contains(log.String(), "stale owner") { // it gives its examples' items back itself
		t.Errorf("dev takes its own end for another instance's work:\n%s", log.String())
	}
	t.Logf("ended %.2f s after Ctrl-C", time.Since(told).Seconds())
}
