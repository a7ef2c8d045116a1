package torture

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	recordSQL   = statement("record")
	recordedSQL = statement("recorded")
)

// stepped is more than a clock that is adjusted slowly can be off within a history.
const stepped = 20 * time.Millisecond

// record writes what was seen of each job to a file: the states of its row, and the starts and ends of its agents.
// The models of scheduler/model replay it. A line has the job, the seconds since the beginning, the state or begin
// or end, the fence and the instance. PostgreSQL and the witnesses read the same clock; if that was set meanwhile,
// nothing tells the order, and there is no recording: missing says why.
func (s *stage) record(ctx context.Context, h history, journal []entry) (missing string, err error) {
	if len(journal) == 0 {
		return "no job ran", nil
	}
	least, most := journal[0].wall-journal[0].at, journal[0].wall-journal[0].at
	for _, e := range journal {
		least, most = min(least, e.wall-e.at), max(most, e.wall-e.at)
	}
	if most-least > int64(stepped) {
		return fmt.Sprintf("the machine's clock was set by %s meanwhile", time.Duration(most-least)), nil
	}
	begin := time.Unix(0, journal[0].wall)
	var text bytes.Buffer
	fmt.Fprintf(&text, "fault %s\n", h.fault.name)
	jobs := map[int64]bool{}
	var job, fence, instance int64
	var at float64
	var state string
	found, err := s.admin.Query(ctx, recordedSQL, begin)
	if err != nil {
		return "", err
	}
	if _, err := pgx.ForEachRow(found, []any{&job, &at, &state, &fence, &instance}, func() error {
		jobs[job] = true
		if state == "assigned" {
			state = "running"
		}
		_, err := fmt.Fprintf(&text, "%d %.6f %s %d %d\n", job, at, state, fence, instance)
		return err
	}); err != nil {
		return "", err
	}
	said := map[string]string{begun: "begin", overlapped: "begin", done: "end", failed: "end", rested: "end"}
	for _, e := range journal {
		if word := said[e.what]; word != "" && jobs[e.job] {
			fmt.Fprintf(&text, "%d %.6f %s %d 0\n", e.job, time.Unix(0, e.wall).Sub(begin).Seconds(), word, e.fence)
		}
	}
	return "", os.WriteFile(s.dir+".recording", text.Bytes(), 0o600)
}
