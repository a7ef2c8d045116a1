package failover

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// olderBinary builds a commit of this repository.
func olderBinary(t *testing.T, older string) string {
	t.Helper()
	dir := t.TempDir()
	if err := exec.Command("git", "-C", "../..", "cat-file", "-e", older+"^{commit}").Run(); err != nil {
		t.Skip("NOT TESTED: an older binary; this clone has no commit " + older + ": type `git fetch --unshallow`")
	}
	program := filepath.Join(dir, "older")
	build := exec.Command("sh", "-ec", `git -C ../.. archive "$3" | tar -x -C "$1"; cd "$1"; go build -o "$2" ./cmd/bellhop`,
		"sh", dir, program, older)
	build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if said, err := build.CombinedOutput(); err != nil {
		if strings.Contains(string(said), "no required module") || strings.Contains(string(said), "dial tcp") ||
			strings.Contains(string(said), "proxy") {
			t.Skipf("NOT TESTED: an older binary; its modules cannot be had: type `go mod download` at commit %s\n%s",
				older, said)
		}
		t.Fatalf("build the older binary: %v\n%s", err, said)
	}
	return program
}

// An older instance goes on while the newer program migrates the schema under it, and beside a newer instance. Back on
// the older binary alone: it starts, or refuses with 78, as `migrate --plan` has said beforehand.
func TestOlder_BesideAndBack(t *testing.T) {
	t.Parallel()
	if os.Getenv("BELLHOP_OLDER") == "" {
		t.Skip("NOT TESTED: older binaries, which take minutes to build; type `make older`")
	}
	for commit, starts := range map[string]bool{
		"ed48f9e": true,  // schema 60
		"d89032e": false, // schema 59: version 60 changes functions that it calls
	} {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			besideAndBack(t, olderBinary(t, commit), starts)
		})
	}
}

func besideAndBack(t *testing.T, old string, starts bool) {
	t.Helper()
	r, url := newRecord(t), pgtest.URL(t)
	bellhop(t, old, url, "migrate")
	first := serve(t, old, url, "older", r.journal)
	p := pool(t, url)
	stop := r.submit(t, url)
	defer stop()
	works := func(what string) {
		t.Helper()
		var since string
		if err := p.QueryRow(t.Context(), "select clock_timestamp()::text").Scan(&since); err != nil {
			t.Fatal(err)
		}
		pgtest.Eventually(t, patience, what, func() bool {
			var done bool
			err := p.QueryRow(t.Context(), `select exists (select from bellhop.jobqueue
				where created_at > $1::text::timestamptz and state = 'succeeded')`, since).Scan(&done)
			return err == nil && done
		})
	}
	works("the older one works on its own schema")
	plan := bellhop(t, binary, url, "migrate", "--plan")
	bellhop(t, binary, url, "migrate")
	works("the older one works on the newer schema")
	second := serve(t, binary, url, "newer", r.journal)
	works("both work")
	first.stop()
	works("the newer one works")

	// Back: the older binary alone, and the schema stays.
	said, err := command(old, url, "migrate")
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	last := lines[len(lines)-1]
	t.Logf("the plan: %s\nmigrate of the older binary: %v: %s", last, err, said)
	if from := map[bool]string{true: "below 51 ", false: "below 60 "}[starts]; !strings.Contains(last, from) {
		t.Errorf("the plan does not say that a binary of a schema version %scannot be started", from)
	}
	if starts != (err == nil) {
		t.Errorf("the older binary on the newer schema: %v", err)
	}
	if starts {
		serve(t, old, url, "back", r.journal)
		second.stop()
		works("the older one works alone, on the newer schema")
	} else if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 78 {
		t.Errorf("it refuses with %v", err)
	}
	stop()
	waitOver(t, p)
	if gone := r.check(t, p, nil); gone > 0 {
		t.Errorf("%d jobs are gone", gone)
	}
}
