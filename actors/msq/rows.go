package msq

import (
	"errors"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// readAhead bounds the rows that wait in memory for children, and readAheadBytes
// their size: nothing here grows with the number of rows.
const (
	readAhead      = 2000
	readAheadBytes = 1 << 20
	// Where rows name places, what waits for one of them keeps those of others
	// from being read only when it is so many, or that much.
	readAheadPlaced      = 20_000
	readAheadPlacedBytes = 8 << 20
	readAheadPlace       = 500
)

func (q *msq) open(c actor.Context) {
	q.reading = true
	h, ctx, text, self := q.Ports, q.ctx, q.job.MSQ, c.Self()
	go func() {
		rows, err := h.Queries.Open(ctx, text)
		if err == nil && ctx.Err() != nil { // no longer waited for
			rows.Close()
			return
		}
		h.Send(self, &opened{rows, err})
	}()
}

func (q *msq) onOpened(c actor.Context, m *opened) {
	q.reading = false
	if m.err != nil {
		q.cutOff(m.err)
		return
	}
	if q.ending != nil {
		m.rows.Close()
		return
	}
	q.rows = m.rows
}

// read asks for more rows when half of the read-ahead is used up.
func (q *msq) read(c actor.Context) {
	if q.reading || q.rows == nil || q.ended || q.full() {
		return
	}
	q.reading = true
	h, ctx, rows, self := q.Ports, q.ctx, q.rows, c.Self()
	go func() {
		list, err := rows.Next(ctx)
		h.Send(self, &read{list, err})
	}()
}

// full reports whether enough rows wait in memory.
func (q *msq) full() bool {
	if q.locks != nil && q.locks.full() {
		return true
	}
	if q.waiting.at == nil {
		return q.waiting.n > readAhead/2 || q.waiting.bytes() > readAheadBytes/2
	}
	return q.waiting.stuck(readAheadPlace) > readAhead/2 || q.waiting.n > readAheadPlaced ||
		q.waiting.bytes() > readAheadPlacedBytes
}

func (q *msq) onRead(m *read) {
	q.reading = false
	if q.ending != nil {
		q.closeRows()
		return
	}
	if m.err != nil {
		q.closeRows()
		q.cutOff(m.err)
		return
	}
	q.pause.Reset()
	if len(m.rows) == 0 {
		q.ended = true
		q.books.End()
		q.closeRows() // its snapshot ends as early as can be
		return
	}
	for _, columns := range m.rows {
		columns, locks, err := scheduler.TakeLocks(columns)
		line := scheduler.Line{
			Claim:    q.job.Claim,
			Instance: q.job.Instance,
			Attempt:  q.job.Attempt,
			Priority: q.job.Priority,
			HasArgs:  true,
			Args:     scheduler.Pairs(columns),
			Columns:  columns,
			Key:      q.job.Key,
			Vars:     q.job.Vars,
			Origin:   q.job.Origin,
			RunOn:    q.placeOf(columns),
		}
		if item, ok := q.books.Row(line.Args); ok {
			line.Item, line.Trace = item, q.job.Origin.TraceOfItem(q.job.Claim, q.job.Trace, item)
			if locks == nil && err == nil {
				q.waiting.add(line)
			} else {
				q.addLocked(line, locks, err)
			}
		}
	}
}

// placeOf is where an item runs: the row's own column run_on, else the job's,
// else what a FOSSology job's jq_runonpfile names in the row, where that means
// something here: a host serves it, or the user's query knows such names.
func (q *msq) placeOf(columns []scheduler.Column) string {
	file := ""
	for _, c := range columns {
		if c.Name == "run_on" && c.Value != "" {
			return c.Value
		}
		if q.file != "" && strings.EqualFold(c.Name, q.file) {
			file = c.Value
		}
	}
	if q.job.Places == "" && file != "" && q.MayName(file) {
		return file
	}
	return q.job.Places
}

// cutOff handles the end of a query before its last row: the query's own fault
// ends the job; a lost connection does not.
func (q *msq) cutOff(err error) {
	if errors.Is(err, scheduler.ErrQuery) {
		q.end(&ending{scheduler.OutcomeFailed, err.Error(), true}) // what children have in hand they may finish
		return
	}
	q.broken = err
}

func (q *msq) describe() scheduler.MSQReport {
	return scheduler.MSQReport{
		Claim:    q.job.Claim,
		Type:     q.job.Type,
		Round:    q.books.Round,
		Items:    q.books.Items,
		Waiting:  q.wanting(),
		Places:   q.waiting.count(q.retries.count(nil)),
		InFlight: len(q.inFlight),
		Reading:  q.reading,
		Ended:    q.ended,
		Query:    q.job.MSQ,
	}
}
