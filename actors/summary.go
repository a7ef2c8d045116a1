package actors

import (
	"context"
	"strings"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// Summary asks all actors what they are doing. An actor that does not answer before ctx ends is left out: a summary
// is asked for when something is wrong.
func (s *System) Summary(ctx context.Context) scheduler.Summary {
	sum := scheduler.Summary{At: time.Now(), Instance: s.inst.ID()}
	var asked []string
	for _, role := range s.Roles() {
		if role == message.RoleDispatcher || strings.HasPrefix(role, "child/") || strings.HasPrefix(role, "host/") ||
			strings.HasPrefix(role, "msq/") {
			asked = append(asked, role)
		}
	}
	answers := make(chan any, len(asked)) // so that no actor ever waits to answer
	for _, role := range asked {
		s.inst.Tell(role, &message.Describe{Answers: answers})
	}
	for range asked {
		select {
		case <-ctx.Done():
			return sum
		case a := <-answers:
			switch a := a.(type) {
			case *scheduler.ChildReport:
				if a.State != scheduler.Free {
					sum.Children = append(sum.Children, *a)
				}
			case scheduler.HostReport:
				sum.Hosts = append(sum.Hosts, a)
			case scheduler.MSQReport:
				sum.MSQs = append(sum.MSQs, a)
			case message.Holding:
				sum.Held = int(a)
			}
		}
	}
	return sum
}

// Alive reports whether the dispatcher answers before ctx ends. It does while
// the database is away: nothing blocks in Receive.
func (s *System) Alive(ctx context.Context) bool {
	answers := make(chan any, 1)
	s.inst.Tell(message.RoleDispatcher, &message.Describe{Answers: answers})
	select {
	case <-answers:
		return true
	case <-ctx.Done():
		return false
	}
}
