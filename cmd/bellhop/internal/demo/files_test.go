package demo

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
)

func TestFileFinder_TakesLicencesFirstAndSaysWhenItIsCut(t *testing.T) {
	t.Parallel()
	files := map[string]string{"z/LICENSE": "", "z/copying.LIB": "", "z/LICENSES/MIT.txt": "", "z/license.go": "", "z/MIT-LICENSE.md": "", "z/unnoticed.txt": ""}
	for i := range sourcesPerFolder + 5 {
		files["a/f"+strconv.Itoa(i)+".go"] = ""
	}
	dir := clitest.Tree(t, files)
	all := sourcesPerFolder + 1
	for _, c := range []struct {
		limit, licences, sources int
		more                     bool
	}{{0, 4, all, false}, {4 + all, 4, all, false}, {3 + all, 4, all - 1, true}, {5, 4, 1, true}, {4, 4, 0, true},
		{2, 2, 0, true}} {
		f := &fileFinder{dir: dir, limit: c.limit, taken: map[string]int{}}
		var kinds []string
		for file := range f.all(t.Context()) {
			kinds = append(kinds, file.kind)
		}
		if f.taken[kindLicence] != c.licences || f.taken[kindSource] != c.sources || f.more != c.more ||
			len(kinds) != c.licences+c.sources ||
			c.limit > 0 && !slices.IsSorted(kinds) {
			t.Errorf("limit %d: %+v %v, want %+v", c.limit, f.taken, f.more, c)
		}
	}
	// Whoever stops reading stops the walk.
	next, stop := iter.Pull((&fileFinder{dir: dir, taken: map[string]int{}}).all(t.Context()))
	if _, ok := next(); !ok {
		t.Error("no first file")
	}
	stop()
	ended, end := context.WithCancel(t.Context())
	end()
	for file := range (&fileFinder{dir: dir, taken: map[string]int{}}).all(ended) {
		t.Errorf("%v after the end", file)
	}
}

func TestModuleCache_IsWhereGoHasIt(t *testing.T) {
	t.Parallel()
	settings := filepath.Join(t.TempDir(), "env")
	clitest.Write(t, settings, "GOPROXY=direct\nGOPATH=/written\n")
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"GOMODCACHE": "/m", "GOPATH": "/p", "HOME": "/h"}, "/m"},
		{map[string]string{"GOPATH": "/p:/q", "HOME": "/h"}, "/p/pkg/mod"},
		{map[string]string{"GOENV": settings, "HOME": "/h"}, "/written/pkg/mod"},
		{map[string]string{"GOENV": settings, "GOPATH": "/p", "HOME": "/h"}, "/p/pkg/mod"},
		{map[string]string{"GOENV": "off", "HOME": "/h"}, "/h/go/pkg/mod"},
		{map[string]string{"HOME": "/h"}, "/h/go/pkg/mod"},
		{nil, ""},
	} {
		a := &cli.App{Getenv: func(name string) string { return c.env[name] }}
		if got := moduleCache(a); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}
