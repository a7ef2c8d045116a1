package demo

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"bellhop/cmd/bellhop/internal/cli"
)

// Kinds of files, as they stand in demo.file.
const (
	kindLicence = "licence" // a file that is about a licence by its name
	kindSource  = "source"  // a program's text, whose head may tell
)

// sourcesPerFolder bounds the heads of source files of one folder, which are
// much alike.
const sourcesPerFolder = 20

// found is a file for the table.
type found struct{ path, kind string }

// fileFinder walks a folder. What it counts is right when the walk is over.
type fileFinder struct {
	dir   string // absolute, without symbolic links
	skip  string // a folder to leave out; may be empty
	limit int    // 0: none

	taken  map[string]int // by kind
	more   bool           // files were left out because of limit
	closed int            // folders that could not be read
}

// demoFinder is for the folder that was named, or the Go module cache.
func demoFinder(a *cli.App, args []string, limit int) (*fileFinder, error) {
	f := &fileFinder{limit: limit, taken: map[string]int{}}
	next := "bellhop demo DIR"
	if len(args) > 0 {
		f.dir = args[0]
	} else {
		f.dir = moduleCache(a)
		next = "name a folder: " + next
		if f.dir == "" {
			return nil, cli.Usage("demo", "neither GOMODCACHE nor GOPATH nor HOME is set, so there is no Go module cache", next)
		}
	}
	if f.dir == "" {
		return nil, cli.Usage("demo", "the folder's name is empty", next)
	}
	dir, err := filepath.Abs(f.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(args) == 0:
		return nil, cli.Usage("demo", "there is no Go module cache in "+f.dir, next)
	case errors.As(err, &at):
		return nil, cli.Usage("demo", f.dir+": "+at.Err.Error(), next)
	case err != nil:
		return nil, cli.Usage("demo", f.dir+": "+err.Error(), next)
	}
	f.dir = dir
	if len(args) == 0 {
		f.skip = filepath.Join(dir, "cache") // what was downloaded, not yet unpacked
	}
	return f, nil
}

// moduleCache is what `go env GOMODCACHE` says, for machines without the go
// command too.
func moduleCache(a *cli.App) string {
	home := a.Getenv("HOME")
	settings := map[string]string{}
	if file := goSettings(a, home); file != "" {
		text, _ := os.ReadFile(file) // most people have none
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				settings[name] = value
			}
		}
	}
	setting := func(name string) string {
		if value := a.Getenv(name); value != "" {
			return value
		}
		return settings[name]
	}
	if dir := setting("GOMODCACHE"); dir != "" {
		return dir
	}
	if list := filepath.SplitList(setting("GOPATH")); len(list) > 0 && list[0] != "" {
		return filepath.Join(list[0], "pkg", "mod")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, "go", "pkg", "mod")
}

// goSettings is the file that `go env -w` writes.
func goSettings(a *cli.App, home string) string {
	switch file, dir := a.Getenv("GOENV"), a.Getenv("XDG_CONFIG_HOME"); {
	case file == "off":
		return ""
	case file != "":
		return file
	case dir != "":
		return filepath.Join(dir, "go", "env")
	case home != "":
		return filepath.Join(home, ".config", "go", "env")
	}
	return ""
}

// all yields the files, licence-like ones as they are met. With a limit, source
// files come last and take what room is left.
func (f *fileFinder) all(ctx context.Context) iter.Seq[found] {
	return func(yield func(found) bool) {
		w := walk{fileFinder: f, yield: yield, inFolder: map[string]int{}}
		_ = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error { // it returns no error of its own
			if ctx.Err() != nil {
				w.stopped = true
				return fs.SkipAll
			}
			return w.meet(path, d, err)
		})
		if w.stopped {
			return
		}
		for _, file := range w.last {
			if f.taken[kindLicence]+f.taken[kindSource] == f.limit {
				f.more = true
				return
			}
			if w.give(file) != nil {
				return
			}
		}
	}
}

// walk is one pass through the folder.
type walk struct {
	*fileFinder
	yield    func(found) bool
	stopped  bool
	last     []found        // source files: with a limit they come after the licences
	inFolder map[string]int // source files
}

func (w *walk) give(file found) error {
	w.taken[file.kind]++
	if w.stopped = !w.yield(file); w.stopped {
		return fs.SkipAll
	}
	return nil
}

func (w *walk) meet(path string, d fs.DirEntry, err error) error {
	if err != nil {
		w.closed++ // a folder, or it went while we read
		return nil
	}
	switch kind := w.kind(path, d); {
	case d.IsDir() && path != w.dir && w.passOver(path, d.Name()):
		return fs.SkipDir
	case kind == kindLicence && w.limit > 0 && w.taken[kindLicence] == w.limit:
		w.more = true
		return fs.SkipAll
	case kind == kindLicence:
		return w.give(found{path, kind})
	case kind == kindSource:
		return w.meetSource(path)
	}
	return nil
}

func (w *walk) meetSource(path string) error {
	folder := filepath.Dir(path)
	if w.inFolder[folder]++; w.inFolder[folder] > sourcesPerFolder {
		return nil
	}
	switch file := (found{path, kindSource}); {
	case w.limit == 0:
		return w.give(file)
	case len(w.last) == w.limit:
		w.more = true
	default:
		w.last = append(w.last, file)
	}
	return nil
}

// passOver is for folders that hold no files of users.
func (f *fileFinder) passOver(path, name string) bool {
	switch path {
	case f.skip, "/proc", "/sys", "/dev":
		return true
	}
	return name == ".git" || name == ".hg" || name == ".svn"
}

var (
	licenceName = regexp.MustCompile(`(?i)(^|[^a-z])(un)?(licen[sc]es?|copying|copyrights?|notices?)([^a-z]|$)`)
	sourceName  = regexp.MustCompile(`(?i)\.(go|c|h|cc|cpp|cxx|hh|hpp|m|mm|rs|py|pyx|js|mjs|jsx|ts|tsx|java|kt|scala|groovy|swift|cs|rb|pl|pm|php|lua|` +
		`sh|bash|awk|s|asm|el|hs|ml|mli|erl|ex|exs|clj|dart|r|jl|f90|zig|nim|v|vhd|sql|proto|css|scss|vue|cmake|tcl)$`)
)

// kind tells a file's kind by its name; empty: none of ours. What is neither a
// file nor may lead to one (a pipe, a socket) is passed over, and so is a link
// to a folder; a link that leads nowhere is a file that cannot be read.
func (f *fileFinder) kind(path string, d fs.DirEntry) string {
	kind := ""
	switch name := d.Name(); {
	case d.IsDir():
		return ""
	case sourceName.MatchString(name):
		kind = kindSource
	case licenceName.MatchString(name), filepath.Base(filepath.Dir(path)) == "LICENSES":
		kind = kindLicence
	default:
		return ""
	}
	switch {
	case d.Type().IsRegular():
		return kind
	case d.Type()&fs.ModeSymlink == 0:
		return ""
	}
	if to, err := os.Stat(path); err == nil && !to.Mode().IsRegular() {
		return ""
	}
	return kind
}

// nothing is the error for a folder in which no file was found.
func (f *fileFinder) nothing() error {
	why := "there are neither licence-like nor source files in " + f.dir
	if f.closed > 0 {
		why += ", and some of its folders could not be read"
	}
	return cli.Usage("demo", why, "bellhop demo DIR   with a folder that has some")
}
