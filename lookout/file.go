package lookout

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"bellhop/scheduler/workflow"
)

// How files are looked for: folders are read again and again, since no file system but a local one tells of
// changes that others make. Where a look takes long, the next is put off so that it is a small part of the time.
const (
	lookEvery = time.Second
	lookPart  = 20
	mostFiles = 500 // are told at once
)

// seen is a file as it was at the last looks.
type seen struct {
	size    int64
	written time.Time
	since   time.Time // on our clock, as long as it has been the same
	told    bool
}

// root is the configured folder that a pattern lies in: the innermost.
func (l *Lookout) root(pattern string) (root, rest string, err error) {
	for _, r := range l.Roots {
		below, is := strings.CutPrefix(pattern, strings.TrimSuffix(r, "/")+"/")
		if is && len(r) > len(root) {
			root, rest = r, below
		}
	}
	if root == "" {
		return "", "", fmt.Errorf("%s lies in no folder that this instance may look at: bellhop.yaml says which, under sensors: files", pattern)
	}
	return root, rest, nil
}

// files watches files. None is told that is still written: it has to be the same for a while, on our clock, or to have
// been so already when it came here under this name.
func (l *Lookout) files(ctx context.Context, w workflow.Watch, well func(), happened Happened) error {
	root, pattern, err := l.root(w.Sensor.File)
	if err != nil {
		return err
	}
	stable := time.Duration(w.Sensor.Stable)
	if stable == 0 {
		stable = time.Duration(workflow.DefaultStable)
	}
	known := map[string]*seen{}
	for first := true; ; first = false {
		began := time.Now()
		list, err := look(root, pattern, known, stable, began)
		if err != nil {
			return err
		}
		for len(list) > 0 {
			n := min(len(list), mostFiles)
			var events []workflow.Happening
			for _, name := range list[:n] {
				path, is := filepath.Join(root, name), known[name]
				events = append(events, workflow.Happening{
					Event: workflow.FileEvent(path, is.size, is.written, w.Sensor.Event),
					Given: map[string]string{"FILE": path, "NAME": filepath.Base(path), "SIZE": fmt.Sprint(is.size)},
				})
			}
			if err := happened(ctx, workflow.Sight{Events: events}); err != nil {
				return err
			}
			for _, name := range list[:n] {
				known[name].told = true
			}
			list = list[n:]
		}
		if first {
			well()
		}
		if !sleep(ctx, max(lookEvery, lookPart*time.Since(began))) {
			return ctx.Err()
		}
	}
}

// look gives the files that are written wholly and not told yet. What a symbolic link leads to outside of root is not
// looked at. Names that are no text are told of by nobody: no event can have them.
func look(root, pattern string, known map[string]*seen, stable time.Duration, now time.Time) (
	ready []string, err error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("cannot look into %s: %w", root, err)
	}
	defer func() { _ = dir.Close() }() // it was read only
	names, err := fs.Glob(dir.FS(), pattern)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", pattern, err)
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		info, err := dir.Stat(name)
		if err != nil || !info.Mode().IsRegular() || !utf8.ValidString(name) {
			continue // it has gone, or is none
		}
		there[name] = true
		is := known[name]
		if is == nil || is.size != info.Size() || !is.written.Equal(info.ModTime()) {
			fresh := &seen{size: info.Size(), written: info.ModTime(), since: now}
			if is == nil && now.Sub(fresh.written) > stable && fresh.written.Before(now) {
				fresh.since = fresh.written // it was moved here, or has been here
			}
			is, known[name] = fresh, fresh
		}
		if !is.told && now.Sub(is.since) >= stable {
			ready = append(ready, name)
		}
	}
	for name := range known {
		if !there[name] {
			delete(known, name)
		}
	}
	return ready, nil
}
