package agents

import (
	"fmt"
	"sync"

	"bellhop/scheduler"
)

// limited reports whether a child's memory or CPU time is to be limited.
func (s *Spec) limited() bool { return s.Memory > 0 || s.CPU > 0 }

// sizeOf writes an amount of memory as the configuration does.
func sizeOf(bytes int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 40, "TB"}, {1 << 30, "GB"}, {1 << 20, "MB"}} {
		if bytes >= u.size && bytes%u.size == 0 {
			return fmt.Sprintf("%d%s", bytes/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dkB", bytes>>10)
}

// limitless are the types whose children are not limited, although they are to be. Each is told once for a host.
type limitless struct {
	tell func(scheduler.TypeName, scheduler.HostName, string)
	told sync.Map
}

func (l *limitless) note(typ scheduler.TypeName, host scheduler.HostName, why string) {
	if _, was := l.told.LoadOrStore([2]string{string(typ), string(host)}, true); !was && l.tell != nil {
		l.tell(typ, host, why)
	}
}
