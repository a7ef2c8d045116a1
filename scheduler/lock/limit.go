package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bucket is an ad-hoc limit that a job's reason names: at most Limit jobs run
// at once that name the same limit and the same label.
type Bucket struct {
	Limit int
	Label string
}

func (b Bucket) String() string { return fmt.Sprintf("rate-limit:%d:%s", b.Limit, b.Label) }

// Buckets are those of a job's reasons, each once, in their order: of
// "rate-limit:N:LABEL", with N a whole number from 1 on. The label may hold colons and
// blanks, and may be empty; one that is too long for an index is told by its hash. Anything else is an ordinary reason
// (Ganeti's ad-hoc rate limiting). A job needs a free slot in all of its buckets.
func Buckets(reasons []string) []Bucket {
	var buckets []Bucket
	for _, reason := range reasons {
		text, is := strings.CutPrefix(reason, "rate-limit:")
		number, label, two := strings.Cut(text, ":")
		if !is || !two || strings.TrimLeft(number, "0123456789") != "" {
			continue
		}
		n, err := strconv.Atoi(number)
		if len(label) > MaxName {
			sum := sha256.Sum256([]byte(label))
			label = "sha256:" + hex.EncodeToString(sum[:])
		}
		if b := (Bucket{n, label}); err == nil && n > 0 && !slices.Contains(buckets, b) {
			buckets = append(buckets, b)
		}
	}
	return buckets
}

// Wait is until when no other job may start under a limit of n per time, where
// starts are the times of those that did. Now or earlier: one may.
func Wait(starts []time.Time, n int, per time.Duration) time.Time {
	if len(starts) < n {
		return time.Time{}
	}
	sorted := slices.SortedFunc(slices.Values(starts), time.Time.Compare)
	return sorted[len(sorted)-n].Add(per)
}

// Place is the name under which a job counts for a limit: the rule's id, and where the limit is one for each value of
// a var, or for each share, what that hashes to. The value itself may be long, and not for every reader.
// bellhop.filter_place is the same in SQL.
func (r *Rule) Place(j Job) RuleID {
	key := j.Share
	switch {
	case r.Action.By != "":
		key = j.Vars[r.Action.By]
	case !r.Action.ByShare:
		return r.ID
	}
	sum := sha256.Sum256([]byte(key))
	return RuleID(string(r.ID) + " " + hex.EncodeToString(sum[:16]))
}

// each says with what a job shares its limit.
func (a Action) each(j Job) string {
	switch {
	case a.By != "":
		return " with the same vars." + a.By
	case a.ByShare && j.Share == "":
		return " without a share"
	case a.ByShare:
		return fmt.Sprintf(" with share %q", j.Share)
	}
	return ""
}

// gates count what runs and what has started under limits.
type gates struct {
	rules   []Rule // sorted
	starts  map[RuleID][]time.Time
	running map[RuleID]int
	buckets map[Bucket]int
	now     time.Time
}

func newGates(in Input) *gates {
	g := &gates{rules: Sorted(in.Rules), starts: map[RuleID][]time.Time{}, running: map[RuleID]int{},
		buckets: map[Bucket]int{}, now: in.Now}
	for id, starts := range in.Starts {
		g.starts[id] = slices.Clone(starts)
	}
	for _, j := range in.Running {
		if r := Applying(g.rules, j); r != nil && r.Action.Kind == RateLimit {
			g.running[r.Place(j)]++
		}
		for _, b := range Buckets(j.Reasons) {
			g.buckets[b]++
		}
	}
	return g
}

// holds says which filter or limit keeps a job from starting now; false: none does.
func (g *gates) holds(j Job) (Reason, bool) {
	// Filters come first: a paused job takes no place in a bucket that others could
	// have (in Ganeti it does).
	if r := Applying(g.rules, j); r != nil {
		switch r.Action.Kind {
		case Pause:
			return Reason{Code: FilterPaused, Rule: r.ID}, true
		case Reject:
			return Reason{Code: FilterRejected, Rule: r.ID}, true
		case RateLimit:
			if until, full := g.full(r, j); full {
				return Reason{Code: RateLimited, Rule: r.ID, Place: r.Place(j), Each: r.Action.each(j),
					Until: until}, true
			}
		}
	}
	for _, b := range Buckets(j.Reasons) {
		if g.buckets[b] >= b.Limit {
			return Reason{Code: RateLimited, Bucket: b}, true
		}
	}
	return Reason{}, false
}

func (g *gates) full(r *Rule, j Job) (until time.Time, full bool) {
	if r.Action.Per == 0 {
		return time.Time{}, g.running[r.Place(j)] >= r.Action.Limit
	}
	until = Wait(g.starts[r.Place(j)], r.Action.Limit, r.Action.Per)
	return until, until.After(g.now)
}

// take tells that a job starts.
func (g *gates) take(j Job) {
	if r := Applying(g.rules, j); r != nil && r.Action.Kind == RateLimit {
		place := r.Place(j)
		g.running[place]++
		if r.Action.Per > 0 {
			g.starts[place] = append(g.starts[place], g.now)
		}
	}
	for _, b := range Buckets(j.Reasons) {
		g.buckets[b]++
	}
}
