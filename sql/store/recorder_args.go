package store

import (
	"strings"
	"time"

	"bellhop/scheduler"
)

func succeededArgs(me scheduler.InstanceID, records []scheduler.Record, now time.Time) []any {
	ids, fences := claims(records)
	return []any{int64(me), ids, fences,
		column(records, func(r *scheduler.Record) string { return string(r.Result.Child) }),
		column(records, func(r *scheduler.Record) int32 { return int32(r.Result.Successes) }),
		column(records, func(r *scheduler.Record) int32 { return ago(r.Result.Ended, now) })}
}

// resultOf is what a job gave back; nil: nothing.
func resultOf(r *scheduler.Record) *string {
	given := r.Result.Given()
	if given == nil {
		return nil
	}
	text := string(given)
	return &text
}

// endedAs is how a job that succeeded says that it had nothing to do; nil: it does not.
func endedAs(r *scheduler.Record) *string {
	if as := r.EndedAs(); as != "" {
		return (*string)(&as)
	}
	return nil
}

func settleArgs(me scheduler.InstanceID, records []scheduler.Record, now time.Time) []any {
	ids, fences := claims(records)
	items := func(pick func(*scheduler.Items) int64) []int64 {
		return column(records, func(r *scheduler.Record) int64 {
			if r.Items == nil {
				return -1
			}
			return pick(r.Items)
		})
	}
	return []any{int64(me), ids, fences,
		column(records, func(r *scheduler.Record) string { return string(r.Verdict.State) }),
		column(records, func(r *scheduler.Record) *int32 {
			if r.Verdict.State == scheduler.Cancelled && r.Result.ExitCode == 0 {
				return nil
			}
			code := int32(r.Result.ExitCode)
			return &code
		}),
		column(records, func(r *scheduler.Record) *string {
			return textOrNull(r.Result.Told())
		}),
		column(records, func(r *scheduler.Record) *string {
			if r.Result.Child == "" {
				return nil
			}
			return (*string)(&r.Result.Child)
		}),
		column(records, func(r *scheduler.Record) int32 { return int32(r.Result.Successes) }),
		column(records, func(r *scheduler.Record) int64 { return r.Verdict.Delay.Milliseconds() }),
		column(records, func(r *scheduler.Record) bool { return r.Verdict.Death }),
		column(records, func(r *scheduler.Record) int32 { return ago(r.Result.Ended, now) }),
		items(func(i *scheduler.Items) int64 { return i.Total }),
		items(func(i *scheduler.Items) int64 { return i.Done }),
		items(func(i *scheduler.Items) int64 { return i.Failed }),
		column(records, func(r *scheduler.Record) *string {
			if r.Result.Message == "" {
				return nil
			}
			return textOrNull(r.Result.Error)
		}),
		column(records, resultOf),
		column(records, endedAs),
	}
}

func restArgs(me scheduler.InstanceID, records []scheduler.Record) []any {
	ids, fences := claims(records)
	return []any{int64(me), ids, fences,
		column(records, func(r *scheduler.Record) int64 { return r.Rest.Pause.Milliseconds() }),
		column(records, func(r *scheduler.Record) *string { return textOrNull(r.Rest.Event) }),
		column(records, func(r *scheduler.Record) bool { return r.Rest.KeepLocks }),
		column(records, func(r *scheduler.Record) *string { return textOrNull(r.Rest.Children) })}
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	s = text(s)
	return &s
}

func logArgs(entries []scheduler.Entry, now time.Time) []any {
	return []any{
		column(entries, func(e *scheduler.Entry) int64 { return int64(e.Claim.Job) }),
		column(entries, func(e *scheduler.Entry) int32 { return int32(e.Attempt) }),
		column(entries, func(e *scheduler.Entry) string { return string(e.Child) }),
		column(entries, func(e *scheduler.Entry) string { return string(e.Host) }),
		column(entries, func(e *scheduler.Entry) string { return string(e.Level) }),
		column(entries, func(e *scheduler.Entry) int64 { return int64(ago(e.At, now)) }),
		column(entries, func(e *scheduler.Entry) string { return text(e.Text) }),
	}
}

func itemArgs(items []scheduler.FailedItem) []any {
	return []any{
		column(items, func(i *scheduler.FailedItem) int64 { return int64(i.Job) }),
		column(items, func(i *scheduler.FailedItem) int64 { return int64(i.Fence) }),
		column(items, func(i *scheduler.FailedItem) int64 { return i.Item }),
		column(items, func(i *scheduler.FailedItem) string { return text(i.Line) }),
		column(items, func(i *scheduler.FailedItem) int32 { return int32(i.Tries) }),
		column(items, func(i *scheduler.FailedItem) int32 { return int32(i.ExitCode) }),
		column(items, func(i *scheduler.FailedItem) string { return text(i.Error) }),
	}
}

func progressArgs(me scheduler.InstanceID, p []scheduler.Progress) []any {
	return []any{int64(me),
		column(p, func(p *scheduler.Progress) int64 { return int64(p.Job) }),
		column(p, func(p *scheduler.Progress) int64 { return int64(p.Fence) }),
		column(p, func(p *scheduler.Progress) int64 { return p.Total }),
		column(p, func(p *scheduler.Progress) int64 { return p.Done }),
		column(p, func(p *scheduler.Progress) int64 { return p.Items.Failed }),
		column(p, func(p *scheduler.Progress) string { return text(p.Waits) }),
	}
}

func howFarArgs(me scheduler.InstanceID, list []scheduler.HowFar) []any {
	return []any{int64(me),
		column(list, func(h *scheduler.HowFar) int64 { return int64(h.Job) }),
		column(list, func(h *scheduler.HowFar) int64 { return int64(h.Fence) }),
		column(list, func(h *scheduler.HowFar) *float32 { return h.Done }),
		column(list, func(h *scheduler.HowFar) string { return text(h.Text) }),
	}
}

func claims(records []scheduler.Record) (ids, fences []int64) {
	return column(records, func(r *scheduler.Record) int64 { return int64(r.Claim.Job) }),
		column(records, func(r *scheduler.Record) int64 { return int64(r.Claim.Fence) })
}

func column[T, V any](rows []T, pick func(*T) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = pick(&rows[i])
	}
	return values
}

// ago is how long before now something was, in ms: the database turns it into
// a time on its own clock.
func ago(t, now time.Time) int32 {
	if t.IsZero() || t.After(now) {
		return 0
	}
	return int32(min(now.Sub(t).Milliseconds(), 1<<31-1))
}

// microseconds is how long before now something was; nil: not known.
func microseconds(t, now time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := max(0, now.Sub(t).Microseconds())
	return &n
}

// text is s as PostgreSQL can hold it: valid UTF-8 without NUL.
func text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
