package lookout

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler/workflow"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// kept is where a watch tells what it sees.
type kept struct {
	mu   sync.Mutex
	list []workflow.Happening
	news chan struct{}
	well chan struct{}
	err  error
	lags chan int64
	// of a topic
	place  *workflow.Place
	remark string
	whole  map[string]int // the names of all events
}

func (k *kept) happened(_ context.Context, seen workflow.Sight) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	k.list = append(k.list, seen.Events...)
	for _, h := range seen.Events {
		k.whole[h.Event]++
	}
	if seen.Place != nil {
		k.place = seen.Place
	}
	if seen.Remark != nil {
		k.remark = *seen.Remark
	}
	select {
	case k.news <- struct{}{}:
	default:
	}
	return nil
}

// take waits for so many events, and gives their names, without the mark of a topic.
func (k *kept) take(t *testing.T, n int) (names []string) {
	t.Helper()
	late := time.After(patience)
	for {
		k.mu.Lock()
		if len(k.list) >= n {
			for _, h := range k.list {
				name, _, _ := strings.Cut(h.Event, "@")
				names = append(names, name)
			}
			k.list = nil
		}
		k.mu.Unlock()
		if names != nil {
			return names
		}
		select {
		case <-k.news:
		case <-late:
			t.Fatalf("%d events did not come", n)
		}
	}
}

// watch begins to watch; the end of it is awaited by the test.
func watch(t *testing.T, l *Lookout, s workflow.Sensor) (*kept, context.CancelFunc, <-chan error) {
	t.Helper()
	return watchFrom(t, l, s, nil)
}

// watchFrom begins where another watch stood.
func watchFrom(t *testing.T, l *Lookout, s workflow.Sensor, place *workflow.Place) (
	*kept, context.CancelFunc, <-chan error) {
	t.Helper()
	k := &kept{
		news:  make(chan struct{}, 1),
		well:  make(chan struct{}, 1),
		lags:  make(chan int64, 1000),
		whole: map[string]int{},
		place: place,
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- l.Watch(ctx, workflow.Watch{Workflow: "w", Sensor: s, Place: place}, func() { k.well <- struct{}{} },
			func(_ context.Context, n int64) { k.lags <- n }, k.happened)
	}()
	return k, cancel, over
}

func (k *kept) sees(t *testing.T, over <-chan error) {
	t.Helper()
	select {
	case <-k.well:
	case err := <-over:
		t.Fatal(err)
	case <-time.After(patience):
		t.Fatal("it does not see")
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFiles_AreToldWhenTheyAreWrittenWholly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in := filepath.Join(root, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "secret.csv"), "x")
	old := filepath.Join(in, "old.csv")
	write(t, old, "x")
	hour := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(old, hour, hour); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "far.csv"), "x")
	if err := os.Symlink(filepath.Join(outside, "far.csv"), filepath.Join(in, "far.csv")); err != nil {
		t.Fatal(err)
	}
	l := &Lookout{Roots: []string{root}}
	stable := workflow.Duration(1500 * time.Millisecond)
	k, cancel, over := watch(t, l, workflow.Sensor{File: filepath.Join(root, "in", "*.csv"), Stable: stable})
	if got := k.take(t, 1); len(got) != 1 || got[0] != workflow.FileEvent(old, 1, hour, "") {
		t.Fatalf("%q", got)
	}
	k.sees(t, over)
	// One that grows is told when it has not for a while, and once.
	grows := filepath.Join(in, "grows.csv")
	for i := range 4 {
		write(t, grows, strings.Repeat("x", i+1))
		time.Sleep(700 * time.Millisecond) // the program that writes it is slow
	}
	write(t, filepath.Join(in, "other.txt"), "x")
	got := k.take(t, 1)
	if len(got) != 1 || !strings.HasPrefix(got[0], grows+" 4 ") {
		t.Errorf("%q", got)
	}
	// Written anew it is another event.
	write(t, grows, "12345")
	if got := k.take(t, 1); len(got) != 1 || !strings.HasPrefix(got[0], grows+" 5 ") {
		t.Errorf("%q", got)
	}
	cancel()
	<-over
}

func TestFiles_LieWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := &Lookout{Roots: []string{root, filepath.Join(root, "gone")}}
	for pattern, want := range map[string]string{"/etc/*": "lies in no folder that this instance may look at",
		filepath.Join(root, "gone", "*"): "no such file or directory", root + "x/*": "lies in no folder"} {
		_, cancel, over := watch(t, l, workflow.Sensor{File: pattern})
		if err := <-over; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
		cancel()
	}
}
