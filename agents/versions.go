package agents

import (
	"fmt"
	"sync"

	"bellhop/scheduler"
)

// versions is what the processes of each type of FOSSology agent called
// themselves: all of them the same, on every host, or results of different
// programs would stand side by side.
type versions struct {
	trouble func(scheduler.TypeName, scheduler.HostName, string)

	mu    sync.Mutex
	first map[scheduler.TypeName]version
	bad   map[typeOn]bool // where a type was found to be another, or none
}

type version struct {
	text string
	host scheduler.HostName
}

type typeOn struct {
	typ  scheduler.TypeName
	host scheduler.HostName
}

// compare keeps the first text of a type. It returns why another is refused; a
// good one heals what a bad one has left.
func (v *versions) compare(typ scheduler.TypeName, host scheduler.HostName, text string) (why string) {
	v.mu.Lock()
	known, ok := v.first[typ]
	if !ok {
		known = version{text, host}
		if v.first == nil {
			v.first = map[scheduler.TypeName]version{}
		}
		v.first[typ] = known
	}
	healed := known.text == text && v.bad[typeOn{typ, host}]
	if healed {
		delete(v.bad, typeOn{typ, host})
	}
	v.mu.Unlock()
	if known.text != text {
		return fmt.Sprintf("it says VERSION: %s, and the first one, on %s, said VERSION: %s", text, known.host, known.text)
	}
	if healed {
		v.tell(typ, host, "")
	}
	return ""
}

// invalid marks a type on a host.
func (v *versions) invalid(typ scheduler.TypeName, host scheduler.HostName, why string) {
	v.mu.Lock()
	if v.bad == nil {
		v.bad = map[typeOn]bool{}
	}
	v.bad[typeOn{typ, host}] = true
	v.mu.Unlock()
	v.tell(typ, host, "invalid_agent: "+why)
}

func (v *versions) tell(typ scheduler.TypeName, host scheduler.HostName, words string) {
	if v.trouble != nil {
		v.trouble(typ, host, words)
	}
}
