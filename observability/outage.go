package observability

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The pause before the next line about the same outage: longer each time.
const (
	outageFirst = time.Second
	outageMost  = time.Minute
)

// outageSettle is how long the database has to answer without an error before an
// outage is over. Tries that began during the outage fail for a while after the
// first answer; without this pause each of them would begin a second story.
const outageSettle = time.Second

// Outage makes one story of what every part of the program logs while the
// database is away: a line when it goes, then one now and then, one when it is
// back. Without it each part tells each of its tries.
type Outage struct {
	away func(error) bool // whether an error says that the database is out of reach
	now  func() time.Time

	mu      sync.Mutex
	since   time.Time     // the first error of this outage; zero: the database answers
	told    bool          // a line told of this outage
	last    time.Time     // the last error
	answer  time.Time     // the first answer since the last error; zero: none
	partly  bool          // an answer came since the last line
	quiet   time.Time     // before this time nothing is said
	pause   time.Duration // how long nothing is said after the next line
	unsaid  int           // lines that were left out since the last
	onward  slog.Handler
	written context.Context
}

// NewOutage gives one that knows such errors by away.
func NewOutage(away func(error) bool) *Outage {
	return &Outage{away: away, now: time.Now, pause: outageFirst, written: context.Background()}
}

// Through makes a log whose lines go through o.
func (o *Outage) Through(log *slog.Logger) *slog.Logger {
	o.onward = log.Handler()
	return slog.New(&outageHandler{o, log.Handler()})
}

// Back says that the database has answered a heartbeat. Each heartbeat calls it:
// the outage ends when answers have come for outageSettle, and no error between them.
func (o *Outage) Back() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	now := o.now()
	if o.partly = true; o.answer.IsZero() {
		o.answer = now
	}
	if now.Sub(o.answer) < outageSettle {
		return
	}
	away, told := o.answer.Sub(o.since), o.told
	o.since, o.told, o.answer, o.partly = time.Time{}, false, time.Time{}, false
	if told {
		r := slog.NewRecord(o.now(), slog.LevelInfo, "the database is back", 0)
		r.AddAttrs(slog.Duration("away", away))
		_ = o.onward.Handle(o.written, r) // a failure here cannot be reported
	}
}

// tell gives the line that stands for r, if one is due.
func (o *Outage) tell(r slog.Record, err error) (line slog.Record, due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if now.Sub(o.last) > outageMost { // it is long ago that there was trouble
		o.pause, o.quiet = outageFirst, time.Time{}
	}
	o.last, o.answer = now, time.Time{}
	if o.since.IsZero() {
		o.since, o.unsaid = now, 0
	}
	if now.Before(o.quiet) {
		o.unsaid++
		return line, false
	}
	line = slog.NewRecord(now, slog.LevelWarn, "the database is away: what agents do is kept, and nothing new begins", 0)
	if o.told {
		line.Message = "the database is still away"
		if o.partly { // heartbeats get through, another connection does not
			line.Message = "the database answers some connections and not others"
		}
		line.AddAttrs(slog.Duration("for", now.Sub(o.since)), slog.Int("tries", o.unsaid+1))
	}
	line.AddAttrs(slog.String("what", r.Message), slog.Any("error", err))
	o.told, o.unsaid, o.partly = true, 0, false
	o.quiet, o.pause = now.Add(o.pause), min(2*o.pause, outageMost)
	return line, true
}

// outageHandler is o before a handler with attributes of its own.
type outageHandler struct {
	o *Outage
	slog.Handler
}

func (h *outageHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		var err error
		r.Attrs(func(a slog.Attr) bool {
			if e, is := a.Value.Resolve().Any().(error); is && h.o.away(e) {
				err = e
			}
			return err == nil
		})
		if err != nil {
			line, due := h.o.tell(r, err)
			if !due {
				return nil
			}
			r = line
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h *outageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &outageHandler{h.o, h.Handler.WithAttrs(attrs)}
}

func (h *outageHandler) WithGroup(name string) slog.Handler {
	return &outageHandler{h.o, h.Handler.WithGroup(name)}
}
