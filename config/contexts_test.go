package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestContexts_AreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "contexts.yaml")
	if none, err := LoadContexts(file); err != nil || len(none.List) != 0 {
		t.Fatalf("no file: %v, %v", none, err)
	}
	want := Contexts{File: file, Use: "prod", List: []Context{
		{Name: "prod", Database: `postgres://ops:a"b\c:#{é@db1/shop?x=1`, Protected: true}, {Name: "dev", Database: "host=/tmp dbname='a b'"},
	}}
	if err := want.Write(); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadContexts(file); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "contexts.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	none := Contexts{File: link}
	if err := none.Write(); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadContexts(file); err != nil || len(got.List) != 0 {
		t.Errorf("behind a link: %v, %v", got, err)
	}
	bad := Contexts{File: file, List: []Context{{Name: "a b", Database: "mysql://x"}}}
	if err := bad.Write(); err == nil {
		t.Error("a file was written that cannot be read")
	}
}

func TestContexts_SayWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "contexts.yaml")
	for text, want := range map[string]string{
		"contexts: [{name: a, databse: x=1}]":                               "1:22",
		"use: b\ncontexts: [{name: a, database: x=1}]":                      "1:6: use: there is no context \"b\"",
		"contexts: [{name: a b, database: x=1}]":                            "is not a name",
		"contexts: [{name: a, database: x=1}, {name: a, database: x=1}]":    "there is a context \"a\" above",
		"contexts: [{name: a, database: mysql://x}]":                        "not PostgreSQL",
		"contexts: [{name: a}]":                                             "database is missing",
		"contexts: [{name: a, database: x=1, protected: 1}]":                "must be true or false",
		"contexts: [{name: a, database: postgres://u:secret@h/d, use: no}]": "unknown key",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadContexts(file)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
