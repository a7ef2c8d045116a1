package config

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"bellhop/scheduler"
)

// retry reads the policy by which jobs of a type are tried again. What is not
// said is as in scheduler.DefaultRetry.
func (r *reader) retry(to **scheduler.RetryPolicy) func(node, string) {
	return func(n node, at string) {
		p := scheduler.DefaultRetry
		given := r.mapping(n, at, []field{
			{name: "attempts", read: r.count(&p.Attempts)},
			{name: "first", read: r.duration(&p.First, someTime)},
			{name: "most", read: r.duration(&p.Most, someTime)},
			{name: "factor", read: r.number(&p.Factor, 1, 100)},
			{name: "jitter", read: r.number(&p.Jitter, 0, 1)},
			{name: "not", read: r.notAgain(&p)},
			{name: "snooze", read: r.snooze(&p.Snooze)},
		})
		if at := join(at, "attempts"); given["attempts"] != nil && p.Attempts == 0 {
			r.problem(given["attempts"], "write 1 for no second try", "%s is 0: a job would never be tried", at)
		}
		if p.First > p.Most && p.Most > 0 {
			hint, of := "write most: "+p.First.String()+", or more", given["first"]
			if given["most"] != nil {
				of = given["most"]
			}
			r.problem(of, hint, "%s.most (%s) is shorter than the first pause (%s)", at, p.Most, p.First)
		}
		if !reflect.DeepEqual(p, scheduler.DefaultRetry) {
			*to = &p
		}
	}
}

// number reads any number between two.
func (r *reader) number(to *float64, least, most float64) func(node, string) {
	return func(n node, at string) {
		text := n.GetToken().Value
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case kind(n) != "a number" || err != nil:
			r.problem(n, "", "%s must be a number, not %s", at, kind(n))
		case !(v >= least && v <= most):
			r.problem(n, "", "%s is %s: it is %g to %g", at, text, least, most)
		default:
			*to = v
		}
	}
}

// endings are the outcomes that a policy can name, besides exit codes.
var endings = map[string]scheduler.Outcome{
	"failed": scheduler.OutcomeFailed, "died": scheduler.OutcomeDied, "timed_out": scheduler.OutcomeTimedOut,
}

// notAgain reads after what no other try is made: exit codes, and outcomes.
func (r *reader) notAgain(p *scheduler.RetryPolicy) func(node, string) {
	return func(n node, at string) {
		r.each(n, at, "write it like [2, 64, timed_out]", func(n node, at string) {
			if _, is := n.(*ast.IntegerNode); is {
				if code, ok := r.exitCode(n, at); ok {
					p.NotCodes = append(p.NotCodes, code)
				}
				return
			}
			names := []string{"died", "failed", "timed_out"}
			r.oneOf("outcome", names, func(s string) { p.NotOutcomes = append(p.NotOutcomes, endings[s]) })(n, at)
		})
	}
}

// exitCode reads one of a failure.
func (r *reader) exitCode(n node, at string) (code int, ok bool) {
	text := n.GetToken().Value
	code, err := strconv.Atoi(text)
	if err != nil || code < 1 || code > 255 {
		r.problem(n, "", "%s: %s is not an exit code of a failure: they are 1 to 255", at, text)
		return 0, false
	}
	return code, true
}

// snooze reads which exit codes put a job off, and for how long.
func (r *reader) snooze(to *map[int]time.Duration) func(node, string) {
	return func(n node, at string) {
		const example = "write it like {75: 10m}"
		m, ok := n.(ast.MapNode)
		if !ok {
			r.problem(n, example, "%s must hold exit codes and times, not %s", at, kind(n))
			return
		}
		pauses := map[int]time.Duration{}
		var codes []int
		for it := m.MapRange(); it.Next(); {
			code, ok := r.exitCode(it.Key(), at)
			if !ok {
				continue
			}
			if slices.Contains(codes, code) {
				r.problem(it.Key(), "", "duplicate key %d%s", code, in(at))
				continue
			}
			codes = append(codes, code)
			value := r.resolve(it.Value())
			if value == nil {
				r.problem(it.Key(), example, "%s: for how long?", join(at, strconv.Itoa(code)))
				continue
			}
			var d time.Duration
			if r.duration(&d, someTime)(value, join(at, strconv.Itoa(code))); d > 0 {
				pauses[code] = d
			}
		}
		if len(pauses) > 0 {
			*to = pauses
		}
	}
}
