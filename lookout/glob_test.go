package lookout

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/scheduler/workflow"
)

// tree makes folders (a name that ends in /), links (from>to), named pipes (name|) and files.
func tree(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		err := os.MkdirAll(filepath.Join(root, filepath.Dir(strings.SplitN(name, ">", 2)[0]+"x")), 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if from, to, is := strings.Cut(name, ">"); is {
			err = os.Symlink(to, filepath.Join(root, from))
		} else if pipe, is := strings.CutSuffix(name, "|"); is {
			err = syscall.Mkfifo(filepath.Join(root, pipe), 0o600)
		} else if !strings.HasSuffix(name, "/") {
			err = os.WriteFile(filepath.Join(root, name), nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGlob_SaysWhatItSeesAndWhatItCannot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tree(t, root, "in/a.csv", "in/.hidden.csv", "in/.new/", "in/folder.csv/", "in/pipe.csv|", "in/gone.csv>nowhere", "in/b.csv>a.csv",
		"far/x/1", "far/y/1", "far/y/2", "far/.z/1", "far/file", "far/pipe|", "far/to>x", "loop/a>b", "loop/b>a", "loop/c/1",
		"out/far>/etc", "out/in/1", "text/\xff", "text/ä")
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	for _, x := range []struct {
		pattern, want string
		over          int
		remark, fails string // parts of it
	}{
		{pattern: "in/*.csv", want: "in/a.csv in/b.csv"},
		{pattern: "in/.*.csv", want: "in/.hidden.csv"},
		{pattern: `in/\.*.csv`, want: "in/.hidden.csv"},
		{pattern: "in/?hidden.csv"},
		{pattern: "in/[.]hidden.csv"},
		{pattern: "in/.hidden.csv", want: "in/.hidden.csv"},
		{pattern: "in/later.csv"},
		{pattern: "*/a.csv", want: "in/a.csv"},
		{pattern: "far/*/1", want: "far/to/1 far/x/1 far/y/1"},
		{pattern: "far/.*/1", want: "far/.z/1"},
		{pattern: "far/*/*", want: "far/to/1 far/x/1 far/y/1 far/y/2"},
		{pattern: "far/*/not/there"},
		{pattern: "gone/*.csv", fails: "no such file or directory"},
		{pattern: "gone/a.csv", fails: "no such file or directory"},
		{pattern: "in/gone/*/*.csv", fails: "no such file or directory"},
		{pattern: "far/file/*", fails: "not a directory"},
		{pattern: "far/pipe/*", fails: "not a directory"},
		{pattern: "loop/a/*", fails: "too many"},
		{pattern: "out/far/*", fails: "path escapes from parent"},
		{pattern: "loop/*/1", want: "loop/c/1", over: 2, remark: "/loop/a\": too many"},
		{pattern: "out/*/1", want: "out/in/1", over: 1, remark: "/out/far\": path escapes from parent"},
		{pattern: "text/*", want: "text/ä", over: 1, remark: `/text/\xff": its name is not UTF-8`},
	} {
		files, names, over, err := glob(dir, x.pattern)
		if x.fails != "" {
			if err == nil || !strings.Contains(err.Error(), x.fails) {
				t.Errorf("%s: %v, want %s", x.pattern, err, x.fails)
			}
			continue
		}
		slices.Sort(names)
		remark := over.remark("/srv")
		if err != nil || strings.Join(names, " ") != x.want || len(files) != len(names) || over.n != x.over ||
			!strings.Contains(remark, x.remark) || (remark == "") != (x.over == 0) {
			t.Errorf("%s: %q, %d passed over (%s), %v", x.pattern, names, over.n, remark, err)
		}
	}
}

// What may not be read. Root reads everything, and so a thread of ours looks as another user.
func TestGlob_MeetsWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tree(t, root, "in/open/1", "in/shut/1", "in/dark/1", "in/dark/2", "shut/1")
	for name, mode := range map[string]os.FileMode{".": 0o755, "in/shut": 0, "in/dark": 0o444, "shut": 0} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dir.Close()
		for _, name := range []string{"in/shut", "in/dark", "shut"} {
			_ = os.Chmod(filepath.Join(root, name), 0o700) //nolint:gosec // a folder; the test's end removes it
		}
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread() // and it ends with this goroutine
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		if _, _, _, err := glob(dir, "shut/*"); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%v", err)
		}
		// A folder that may be listed only: some systems refuse the list, some each of its two files.
		_, names, passed, err := glob(dir, "in/*/*")
		if remark := passed.remark("/srv"); err != nil || strings.Join(names, " ") != "in/open/1" || passed.n < 2 ||
			!strings.Contains(remark, `of what its pattern names, the first of them "/srv/in/`) || !strings.HasSuffix(remark, ": permission denied") {
			t.Errorf("%q, %s, %v", names, remark, err)
		}
	}()
	<-over
}

func TestFiles_AFolderThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := &Lookout{Roots: []string{root}}
	in := filepath.Join(root, "in")
	s := workflow.Sensor{File: in + "/*/*.csv", Event: workflow.FileByPath, Stable: workflow.Duration(time.Millisecond)}
	_, _, over := watch(t, l, s)
	if err := <-over; err == nil || err.Error() != "cannot look into "+in+": no such file or directory" {
		t.Fatal(err)
	}
	tree(t, root, "in/a/1.csv", "in/b>b")
	k, _, over := watch(t, l, s)
	k.sees(t, over)
	k.remarks(t, `it cannot look at 1 of what its pattern names, the first of them "`+in+`/b": `)
	k.take(t, 1)
	if err := os.Remove(filepath.Join(in, "b")); err != nil {
		t.Fatal(err)
	}
	k.remarks(t, "")
	if err := os.RemoveAll(in); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err == nil || !strings.Contains(err.Error(), "cannot look into "+in+": no such") {
		t.Error(err)
	}
}

// remarks waits for a remark that begins so; empty: for none.
func (k *kept) remarks(t *testing.T, want string) {
	t.Helper()
	late := time.After(patience)
	for {
		k.mu.Lock()
		got := k.remark
		k.mu.Unlock()
		if want != "" && strings.HasPrefix(got, want) || got == want {
			return
		}
		select {
		case <-k.news:
		case <-late:
			t.Fatalf("it remarks %q", got)
		}
	}
}
