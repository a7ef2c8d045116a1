package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/pgdev/pgtest"
)

// encodedIn makes a database with another encoding beside the test's own, as
// `initdb` in the C locale makes all of them, and looks at it.
func encodedIn(t *testing.T, encoding string) *harness {
	t.Helper()
	server := pgtest.URL(t)
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("bellhop_test_%d_%s", os.Getpid(), strings.ToLower(encoding))
	config := admin.Config().Copy()
	config.Database = name
	exec := func(text string) {
		t.Helper()
		if _, err := admin.Exec(context.WithoutCancel(t.Context()), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	exec("create database " + name + " encoding '" + encoding + "' template template0 locale 'C'")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, drop := range []string{name, name + "_utf8"} {
			if _, err := admin.Exec(ctx, "drop database if exists "+drop+" with (force)"); err != nil {
				t.Error(err)
			}
		}
		_ = admin.Close(ctx)
	})
	return &harness{t: t, url: strings.Replace(server, admin.Config().Database, name, 1), conn: admin}
}

// TestDatabase_OfAnotherEncodingIsRefused: by every command, in words, before
// anything is done in it; and the line that is told makes one that will do.
func TestDatabase_OfAnotherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"SQL_ASCII", "LATIN1"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			s := encodedIn(t, encoding)
			for _, line := range [][]string{{"migrate"}, {"migrate", "--plan"}, {"serve", "--listen", "127.0.0.1:0"}, {"submit", "sh", "echo"}, {"ls"},
				{"show", "1"}, {"wait", "1"}, {"top"}, {"stats"}, {"kick"}, {"install", "roles"}, {"prune"}} {
				r := s.fails(cli.ExitSchema, "is encoded in "+encoding+", and bellhop needs UTF8", line...)
				has(t, r.stderr, "create database", "encoding 'UTF8' template template0", "bellhop migrate")
			}
			r := s.run("doctor")
			if has(t, r.stdout, "encoding", "is encoded in "+encoding,
				"encoding 'UTF8' template template0"); r.code != cli.ExitUnwell {
				t.Errorf("doctor: %+v", r)
			}
			told := regexp.MustCompile(`-c "(create database .*)"`).FindStringSubmatch(s.run("ls").stderr)
			if told == nil {
				t.Fatal("no line to type")
			}
			s.sql(told[1])
			fresh := &harness{t: t, url: strings.Replace(s.url, "_"+strings.ToLower(encoding), "_"+strings.ToLower(encoding)+"_utf8", 1)}
			has(t, fresh.ok("migrate"), "done: 0048_baseline")
		})
	}
}

// TestDatabase_LoginWithAnotherEncoding: what a login, or a database, has set
// for its clients is for others.
func TestDatabase_LoginWithAnotherEncoding(t *testing.T) {
	t.Parallel()
	s := &harness{t: t, url: pgtest.URL(t)}
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.conn = conn
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	s.sql("alter database " + cli.Quoted(conn.Config().Database) + " set client_encoding = 'LATIN1'")
	s.ok("migrate")
	has(t, s.ok("show", s.id("sh", "échö €")), "échö €")
}
