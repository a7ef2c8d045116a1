package lookout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/scheduler/workflow"
)

// How files are looked for: folders are read again and again, since no file system but a local one tells of
// changes that others make. Where a look takes long, the next is put off so that it is a small part of the time.
const (
	lookEvery = time.Second
	lookPart  = 20
	mostFiles = 500            // are told at once
	sayEvery  = 24 * time.Hour // a remark that holds is said again, since readers forget it after a week
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
	said, saidAt := "", time.Time{}
	for first := true; ; first = false {
		began := time.Now()
		list, remark, err := look(root, pattern, known, stable, began)
		if err != nil {
			return err
		}
		// The first time also where there is nothing to say: an earlier watch may have said something.
		if first || remark != said || remark != "" && began.Sub(saidAt) >= sayEvery {
			if err := happened(ctx, workflow.Sight{Remark: &remark}); err != nil {
				return err
			}
			said, saidAt = remark, began
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

// mostSkew is how far behind ours the clock of a file's server may be: by that clock a file that is being written seems
// old.
const mostSkew = 5 * time.Minute

// look gives the files that are written wholly and not told yet, and says what it could not look at. What a symbolic
// link leads to outside of root is not looked at.
func look(root, pattern string, known map[string]*seen, stable time.Duration, now time.Time) (
	ready []string, remark string, err error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, "", fmt.Errorf("cannot look into %s: %w", root, bare(err))
	}
	defer func() { _ = dir.Close() }() // it was read only
	files, names, over, err := glob(dir, pattern)
	if err != nil {
		name := root
		if is := (*fs.PathError)(nil); errors.As(err, &is) {
			name = filepath.Join(root, is.Path)
		}
		return nil, "", fmt.Errorf("cannot look into %s: %w", name, bare(err))
	}
	for _, name := range names {
		info, is := files[name], known[name]
		if is == nil || is.size != info.Size() || !is.written.Equal(info.ModTime()) {
			fresh := &seen{size: info.Size(), written: info.ModTime(), since: now}
			if is == nil && now.Sub(fresh.written) > stable+mostSkew {
				fresh.since = fresh.written // it was moved here, or has been here
			}
			is, known[name] = fresh, fresh
		}
		if !is.told && now.Sub(is.since) >= stable {
			ready = append(ready, name)
		}
	}
	for name := range known {
		if files[name] == nil {
			delete(known, name)
		}
	}
	return ready, over.remark(root), nil
}
