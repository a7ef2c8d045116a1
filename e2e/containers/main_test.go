// Package containers tests bellhop across containers: hosts with addresses of
// their own, which can be killed and cut off from each other. It is a module of
// its own, so that what its tests need is no part of the binary's.
package containers

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ory/dockertest/v3"

	"bellhop/e2e/containers/standin"
)

// label is on every container and network of a run, with the process that made it.
const label = "bellhop.test"

var (
	me       = strconv.Itoa(os.Getpid())
	noEngine error  // why there is none; nil: there is one
	programs string // the folder with the built binaries
)

func TestMain(m *testing.M) {
	flag.Parse()
	if given := flag.Lookup("test.parallel"); given.Value.String() == given.DefValue {
		_ = flag.Set("test.parallel", "4") // most of what these tests do is to wait for leases to end
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	if noEngine = standin.Engine(ctx); noEngine != nil {
		return m.Run() // every test says so
	}
	dir, err := os.MkdirTemp("", "bellhop-containers-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	if err := standin.Programs(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sweep()
	defer sweep()
	return m.Run()
}

// sweep removes what this run has left, and what runs have that are dead.
func sweep() {
	for _, kind := range [][]string{{"container", "ls", "-a"}, {"network", "ls"}, {"volume", "ls"}} {
		format := `{{.Name}}`
		if kind[0] == "container" {
			format = `{{.ID}}`
		}
		for _, by := range []string{label, "com.docker.compose.project"} {
			out, _ := exec.Command(
				"docker",
				append(kind, "--filter", "label="+by, "--format", format+` {{.Label "`+by+`"}}`)...).Output()
			for line := range strings.Lines(string(out)) {
				id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
				if by != label && !strings.HasPrefix(owner, project("")) {
					continue // somebody's own stack
				}
				pid, err := strconv.Atoi(strings.TrimPrefix(owner, project("")))
				if err != nil || owner != me && pid != os.Getpid() && syscall.Kill(pid, 0) == nil {
					continue // of a run that goes on
				}
				args := []string{kind[0], "rm", id}
				if kind[0] == "container" {
					args = []string{"rm", "-f", "-v", id}
				}
				_ = exec.Command("docker", args...).Run() // the next run tries again
			}
		}
	}
}

// project is the name of a run's stack.
func project(pid string) string { return "bellhop-test-" + pid }

// An image is made once, when the first test needs it.
type image func() (string, error)

func made(maker func(context.Context) (string, error)) image {
	return sync.OnceValues(func() (string, error) { return maker(context.Background()) })
}

var (
	postgresImage = made(standin.Postgres)
	bellhopImage  = made(func(ctx context.Context) (string, error) { return standin.Own(ctx, "bellhop", programs) })
	hostImage     = made(func(ctx context.Context) (string, error) { return standin.Own(ctx, "host", programs) })
)

// engine gives the way to the engine, or skips the test loudly where there is none.
func engine(t *testing.T) *dockertest.Pool {
	t.Helper()
	if noEngine != nil {
		t.Skipf("SKIPPED: containers are not tested: %v", noEngine)
	}
	pool, err := dockertest.NewPool("")
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// name gives an image's name, and makes it where it is not there.
func (i image) name(t *testing.T) string {
	t.Helper()
	name, err := i()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// folder is one that containers may write to, whoever they run as.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
