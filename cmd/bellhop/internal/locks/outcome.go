package locks

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/lock"
)

// outcomeView is an outcome in seconds.
type outcomeView struct {
	Makespan    float64   `json:"makespan"`
	WaitMean    float64   `json:"wait_mean"`
	WaitP50     float64   `json:"wait_p50"`
	WaitP99     float64   `json:"wait_p99"`
	WaitMax     float64   `json:"wait_max"`
	Utilisation float64   `json:"utilisation"`
	Contention  float64   `json:"contention"`
	Broken      int       `json:"broken"`
	Slots       int       `json:"slots"`
	Busy        float64   `json:"busy"`
	Earlier     int       `json:"earlier"`
	Later       int       `json:"later"`
	By          []part    `json:"by,omitempty"`
	Starts      []float64 `json:"starts"`
}

// part is what became of a group of a history, in seconds.
type part struct {
	Name    string  `json:"name"`
	Jobs    int     `json:"jobs"`
	WaitP50 float64 `json:"wait_p50"`
	WaitP99 float64 `json:"wait_p99"`
	Busy    float64 `json:"busy"`
	Earlier int     `json:"earlier"`
	Later   int     `json:"later"`
}

// views are the outcomes by order.
func (o *simulation) views(jobs []lock.Arrival, outcomes []lock.Outcome) map[string]outcomeView {
	views := map[string]outcomeView{}
	for _, out := range outcomes {
		v := viewOf(out)
		v.Slots, v.Busy = o.room.Slots, out.Utilisation*float64(o.room.Slots)
		if o.was != nil {
			for _, p := range out.Parts(jobs, *o.was) {
				wait50, wait99 := p.WaitP50.Seconds(), p.WaitP99.Seconds()
				v.By = append(v.By, part{p.Group, p.Jobs, wait50, wait99, p.Busy, p.Earlier, p.Later})
				v.Earlier, v.Later = v.Earlier+p.Earlier, v.Later+p.Later
			}
		}
		views[strings.NewReplacer(", ", "_", " ", "_").Replace(string(out.Order))] = v
	}
	return views
}

// partTable is what became of each group, in each order.
func (o *simulation) partTable(jobs []lock.Arrival, outcomes []lock.Outcome) cli.Table {
	head, _, _ := strings.Cut(o.by, ".")
	if head == "vars" {
		head = strings.TrimPrefix(o.by, "vars.")
	}
	t := cli.Table{Header: []string{strings.ToUpper(head), "ORDER", "JOBS", "WAIT_P50", "WAIT_P99", "BUSY", "EARLIER", "LATER"}}
	parts := make([][]lock.Part, len(outcomes))
	for i, out := range outcomes {
		parts[i] = out.Parts(jobs, *o.was)
	}
	for g := range parts[0] {
		for i, out := range outcomes {
			p := parts[i][g]
			t.Add(p.Group, out.Order, p.Jobs, span(p.WaitP50), span(p.WaitP99), slotsBusy(p.Busy), p.Earlier, p.Later)
		}
	}
	return t
}

func slotsBusy(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func span(d time.Duration) string { s := d.Seconds(); return cli.Span(&s) }

func viewOf(out lock.Outcome) outcomeView {
	v := outcomeView{
		Makespan:    out.Makespan.Seconds(),
		WaitMean:    out.WaitMean.Seconds(),
		WaitP50:     out.WaitP50.Seconds(),
		WaitP99:     out.WaitP99.Seconds(),
		WaitMax:     out.WaitMax.Seconds(),
		Utilisation: out.Utilisation,
		Contention:  out.Contention,
		Broken:      out.Broken,
		Starts:      make([]float64, len(out.Starts)),
	}
	for i, s := range out.Starts {
		v.Starts[i] = s.Seconds()
	}
	return v
}

func outcomeTable(outcomes []lock.Outcome, slots int) cli.Table {
	t := cli.Table{Header: []string{"ORDER", "MAKESPAN", "WAIT_P50", "WAIT_P99", "WAIT_MAX", "WAIT_MEAN", "BUSY", "UTILISATION", "CONTENTION", "BROKEN"}}
	percent := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }
	for _, o := range outcomes {
		t.Add(o.Order, span(o.Makespan), span(o.WaitP50), span(o.WaitP99), span(o.WaitMax), span(o.WaitMean),
			slotsBusy(o.Utilisation*float64(slots)), percent(o.Utilisation), percent(o.Contention), o.Broken)
	}
	return t
}

// steps are how long jobs wait, as the plot tells them apart.
var steps = []struct {
	most time.Duration
	name string
}{
	{0, "at once"}, {10 * time.Second, "≤ 10 s"}, {time.Minute, "≤ 1 min"}, {10 * time.Minute, "≤ 10 min"}, {time.Hour, "≤ 1 h"}, {1<<63 - 1, "longer"},
}

// plot shows, for each order, which part of the jobs waited how long.
func plot(jobs []lock.Arrival, outcomes []lock.Outcome) string {
	const width = 16
	var out strings.Builder
	fmt.Fprintf(&out, "%-9s", "waited")
	for _, o := range outcomes {
		fmt.Fprintf(&out, " %-*s", width+8, o.Order)
	}
	for i, s := range steps {
		fmt.Fprintf(&out, "\n%-9s", s.name)
		for _, o := range outcomes {
			n := 0
			for k, j := range jobs {
				if w := o.Starts[k] - j.At; w <= s.most && (i == 0 || w > steps[i-1].most) {
					n++
				}
			}
			share := float64(n) / float64(len(jobs))
			bar := strings.Repeat("█", int(share*width+0.5))
			fmt.Fprintf(&out, " %6.2f%% %s%s", 100*share, bar, strings.Repeat(" ", width-len([]rune(bar))))
		}
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}
