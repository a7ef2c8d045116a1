// Package clitest is what tests of several families need: files, a terminal, a migrated database.
package clitest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/sql/migrate/migrated"

	"github.com/jackc/pgx/v5"
)

// Write makes a file that no other user may read.
func Write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Tree makes a folder of files; a name that ends in a slash is a folder.
func Tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			Write(t, path, text)
		}
	}
	return dir
}

// Migrated gives a connection to a migrated database of the test's own.
func Migrated(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), migrated.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // its database is dropped
	return conn
}
