package agents

import (
	"fmt"
	"sync"
	"time"

	"bellhop/scheduler"
)

// versions is what the processes of each type of FOSSology agent called
// themselves: all of them the same, on every host, or results of different
// programs would stand side by side. A host whose processes say another text
// than before has been given a new program, and the others are to follow.
type versions struct {
	trouble func(scheduler.TypeName, scheduler.HostName, scheduler.Account)

	mu    sync.Mutex
	known map[scheduler.TypeName]version // what counts; only what came to an OK
	said  map[typeOn]string              // by the last start on each host that came to an OK
	bad   map[typeOn]bool                // where a type was found to be another, or none
}

type version struct {
	text string
	host scheduler.HostName
	at   time.Time // when it was said last
}

type typeOn struct {
	typ  scheduler.TypeName
	host scheduler.HostName
}

// staleVersion: a version that no process has said for that long does not count any more.
const staleVersion = 10 * time.Minute

// compare returns why a text is refused: it is not the one that counts, and its
// host is not one that has been given a new program.
func (v *versions) compare(
	typ scheduler.TypeName, host scheduler.HostName, text string, now time.Time,
) (why scheduler.Account) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.known[typ]
	before := v.said[typeOn{typ, host}]
	if !ok || known.text == text || before != "" && before != text || now.Sub(known.at) > staleVersion {
		return scheduler.Account{}
	}
	return scheduler.Account{
		Reason:  "its VERSION is not that of the last one, on " + string(known.host),
		Message: fmt.Sprintf("it says VERSION: %s, and the last one, on %s, said VERSION: %s", text, known.host, known.text),
	}
}

// confirm: a start that said this text has come to its OK. It counts from now
// on, and heals what a bad one has left. It returns the text that counted before
// when that was another.
func (v *versions) confirm(
	typ scheduler.TypeName, host scheduler.HostName, text string, now time.Time,
) (before string) {
	where := typeOn{typ, host}
	v.mu.Lock()
	if v.known == nil {
		v.known, v.said = map[scheduler.TypeName]version{}, map[typeOn]string{}
	}
	if known := v.known[typ]; known.text != text {
		before = known.text
	}
	v.known[typ], v.said[where] = version{text, host, now}, text
	healed := v.bad[where]
	delete(v.bad, where)
	v.mu.Unlock()
	if healed {
		v.tell(typ, host, scheduler.Account{})
	}
	return before
}

// invalid marks a type on a host.
func (v *versions) invalid(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account) {
	v.mu.Lock()
	if v.bad == nil {
		v.bad = map[typeOn]bool{}
	}
	v.bad[typeOn{typ, host}] = true
	v.mu.Unlock()
	v.tell(typ, host, why)
}

func (v *versions) tell(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account) {
	if v.trouble != nil {
		v.trouble(typ, host, why)
	}
}
