package agents

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
)

// table is a Database that answers `N` with N rows, `hang` never, and anything
// else with an error.
type table struct {
	mu     sync.Mutex
	asked  []string
	at     int // rows handed over of the statement under way
	closed bool
}

func (d *table) Ask(ctx context.Context, statement string, row func([]scheduler.Column) error) error {
	d.mu.Lock()
	d.asked = append(d.asked, statement)
	d.mu.Unlock()
	if statement == "hang" {
		<-ctx.Done()
		return ctx.Err()
	}
	n, err := strconv.Atoi(statement)
	if err != nil {
		return errors.New("db_error: no such\nstatement")
	}
	for i := range n {
		d.mu.Lock()
		d.at = i + 1
		d.mu.Unlock()
		if err := row([]scheduler.Column{{Name: "n", Value: strconv.Itoa(i + 1)},
			{Name: "t", Value: "a\n\"b\""}}); err != nil {
			return err
		}
	}
	return nil
}

func (d *table) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// asking is a bench whose agents may say DB:.
func asking(t *testing.T, text string, limits Answers) (*bench, *table) {
	t.Helper()
	spec := sh(t, text)
	spec.DB = true
	b := setup(t, spec)
	d := &table{}
	if limits.Timeout == 0 {
		limits.Timeout = time.Minute
	}
	b.launcher.database, b.launcher.answers = func() Database { return d }, limits
	return b, d
}

// asker asks what its line says, and tells all that it hears until OK.
const asker = `echo OK
while IFS= read -r line; do
 for q in $line; do echo "DB: $q"; done
 for q in $line; do while IFS= read -r row; do [ "$row" = OK ] && break; printf 'LOG %s\n' "$row"; done; done
 echo OK; done`

func TestDB_RowsComeAsPairsOneALineAndThenOK(t *testing.T) {
	t.Parallel()
	b, d := asking(t, asker, Answers{})
	c := b.launch()
	c.await(scheduler.EventReady)
	// The second line may not be written between the rows of the first one's answers.
	c.feed(line(1, "2 bad 0 1"), line(2, "1"))
	for range 2 {
		if ev := c.await(scheduler.EventAnswered); !ev.OK {
			t.Errorf("answer is %+v", ev)
		}
	}
	var said []string
	for _, e := range b.log() {
		if e.Level == scheduler.LevelInfo {
			said = append(said, strconv.Itoa(int(e.Claim.Job))+": "+e.Text)
		}
	}
	row := func(job, n int) string { return strconv.Itoa(job) + `: n="` + strconv.Itoa(n) + `" t="a\n\"b\""` }
	want := []string{row(1, 1), row(1, 2), "1: ERROR db_error: no such statement", row(1, 1), row(2, 1)}
	if strings.Join(said, "|") != strings.Join(want, "|") {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if e := b.logged("DB: db_error: no such"); len(e) != 1 || e[0].Level != scheduler.LevelError || e[0].Claim.Job != 1 {
		t.Errorf("log is %v", b.log())
	}
	c.Close()
	c.await(scheduler.EventExited)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		t.Error("its session outlives the agent")
	}
}

// A statement may come in whatever pieces a line on the way makes of it: it is
// taken when its newline is there, and not after some time.
func TestDB_AStatementInPiecesIsOne(t *testing.T) {
	t.Parallel()
	b, d := asking(t, `echo OK; IFS= read -r line; printf 'DB'; sleep 0.02; printf ': 0'; sleep 0.02; printf '0%.0s' $(seq 1 3000); sleep 0.02; printf '2;\n'
while IFS= read -r row; do [ "$row" = OK ] && break; done; echo OK; sleep 1000`, Answers{})
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	d.mu.Lock()
	defer d.mu.Unlock()
	if want := strings.Repeat("0", 3001) + "2;"; len(d.asked) != 1 || d.asked[0] != want {
		t.Errorf("asked %q", d.asked)
	}
}

func TestDB_LimitsEndAnAnswerAndNotTheAgent(t *testing.T) {
	t.Parallel()
	for says, x := range map[string]struct {
		ask    string
		limits Answers
	}{
		"ERROR db_limit: more than 2 rows":             {"5", Answers{Rows: 2}},
		"ERROR db_limit: more than 0 rows or 30 bytes": {"5", Answers{Bytes: 30}},
		"ERROR db_timeout: not done within 2s (limits": {"hang", Answers{Timeout: 2 * time.Second}},
	} {
		b, _ := asking(t, asker, x.limits)
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(line(1, x.ask), line(2, "1"))
		for range 2 {
			if ev := c.await(scheduler.EventAnswered); !ev.OK {
				t.Errorf("answer is %+v", ev)
			}
		}
		if len(b.logged(says)) != 1 {
			t.Errorf("no %q in %v", says, b.log())
		}
	}
}

// A statement that never ends, and an agent that does not read its rows, keep
// themselves waiting and nobody else.
func TestDB_ASlowStatementOrReaderStopsNobody(t *testing.T) {
	t.Parallel()
	b, d := asking(t, `echo OK; IFS= read -r line; case $line in
hang) echo "DB: hang"; read -r row;;
deaf) echo "DB: 1000000"; sleep 1000;;
*) echo OK; sleep 1000;;
esac`, Answers{})
	hung, deaf, free := b.launch(), b.launch(), b.launch()
	for _, c := range []*child{hung, deaf, free} {
		c.await(scheduler.EventReady)
	}
	hung.feed(line(1, "hang"))
	deaf.feed(line(2, "deaf"))
	eventually(t, patience, "both have asked, and the pipe of one is full", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.asked) == 2 && d.at > 100
	})
	free.feed(line(3, "x"))
	if ev := free.await(scheduler.EventAnswered); !ev.OK {
		t.Errorf("answer is %+v", ev)
	}
	d.mu.Lock()
	if d.at == 1_000_000 {
		t.Error("all rows were taken though nobody reads them")
	}
	d.mu.Unlock()
	for _, c := range []*child{hung, deaf} {
		c.Kill()
		c.await(scheduler.EventExited)
	}
}

func TestDB_WhoDoesNotReadItsAnswerInTimeIsBroken(t *testing.T) {
	t.Parallel()
	b, _ := asking(t, `echo OK; IFS= read -r line; echo "DB: 1000000"; sleep 1000`,
		Answers{Timeout: 100 * time.Millisecond})
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "x"))
	if ev := c.await(scheduler.EventOutputClosed); !strings.Contains(ev.Told(), "did not read the answer to its DB:") {
		t.Errorf("event is %+v", ev)
	}
}

func TestDB_WhoAsksWithoutReadingIsBroken(t *testing.T) {
	t.Parallel()
	b, _ := asking(t, `echo OK; IFS= read -r line; for i in $(seq 1 200); do echo "DB: hang"; done; sleep 1000`, Answers{})
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "x"))
	if ev := c.await(scheduler.EventOutputClosed); !strings.Contains(ev.Told(), "without reading the answers") {
		t.Errorf("event is %+v", ev)
	}
}

func TestWarm_ItemsProcessedAddUpToTheJobsProgress(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; while read -r l; do echo "ItemsProcessed 3"; echo "ItemsProcessed: 4"; echo OK; done`))
	var mu sync.Mutex
	told := ""
	b.launcher.progress = func(p scheduler.Progress) {
		mu.Lock()
		defer mu.Unlock()
		told += strconv.Itoa(int(p.Job)) + "=" + strconv.Itoa(int(p.Done)) + " "
	}
	c := b.launch()
	c.await(scheduler.EventReady)
	item := line(3, "x")
	item.Item = 1
	c.feed(line(1, "x"), line(2, "x"), item)
	for range 3 {
		c.await(scheduler.EventAnswered)
	}
	mu.Lock()
	defer mu.Unlock()
	if told != "1=3 1=7 2=3 2=7 " { // an MSQ job counts its items itself
		t.Errorf("told %q", told)
	}
}
