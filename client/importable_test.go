package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// stranger is an app of somebody else's, in a module of its own.
const stranger = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"bellhop/client"
)

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		panic(err)
	}
	id, err := client.New(conn).Submit(ctx, client.Job{Type: "invoice", JSON: map[string]int{"order": 42}})
	if err != nil {
		panic(err)
	}
	fmt.Println(id)
}
`

// TestImportable_FromAModuleOfItsOwn: what docs/client.md says makes the client
// importable does. The rest comes from where this module's own requirements came
// from: a module cache that has them does not have all that go get looks at.
func TestImportable_FromAModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	a := setup(t)
	house, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	const line = "go mod edit -replace bellhop=../bellhop && go get bellhop/client"
	if !strings.Contains(string(page), line) {
		t.Errorf("docs/client.md does not say %q", line)
	}
	dir := pgtest.Dir(t)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(stranger), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(command string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "DATABASE_URL="+a.pool.Config().ConnString(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	run("go mod init example.com/shop")
	run(strings.Replace(line, "../bellhop", house, 1))
	if out := run("go run ."); strings.TrimSpace(out) != "1" {
		t.Errorf("it printed %q", out)
	}
	if args := value[string](a, "select args from bellhop.jobqueue where type = 'invoice'"); args != `{"order":42}` {
		t.Errorf("args are %q", args)
	}
}
