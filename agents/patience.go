package agents

import (
	"syscall"
	"time"

	"bellhop/agents/guard"
)

// kill has the guard kill the tree, and does it without the guard when that
// does not answer.
func (g *guarded) kill() {
	g.send(guard.Kill, 0)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && !g.killing {
		patience := guardPatience
		if g.far != "" { // it may have to wait until the far side is surely dead
			patience += farPatience
		}
		g.killing = true
		g.await(patience, g.force)
	}
}

// await is called with mu held.
func (g *guarded) await(d time.Duration, then func()) {
	if g.patience != nil {
		g.patience.Stop()
	}
	g.patience = time.AfterFunc(d, then)
}

// doubt is for an agent that will say no more. Its end should be told soon; if
// it is not, the guard is asked whether it lives.
func (g *guarded) doubt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && !g.killing && g.shared != nil {
		g.await(guardPatience, g.ask)
	}
}

func (g *guarded) ask() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && !g.killing {
		g.write(guard.Command{Op: guard.Ask})
		g.await(guardPatience, g.force)
	}
}

// living: the guard knows its ward, which is not dead yet.
func (g *guarded) living() {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.patience == nil:
	case g.killing:
		g.patience.Reset(guardPatience)
	default:
		g.patience.Stop()
	}
}

func (g *guarded) force() {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
	case g.shared != nil:
		g.shared.strike()
	default:
		guard.KillTree(g.line)
		_ = syscall.Kill(g.line, syscall.SIGKILL)
	}
}
