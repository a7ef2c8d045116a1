package port

import (
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// AgentType is what the tree needs to know of an agent; how it is started is
// the launcher's business.
type AgentType struct {
	Name         scheduler.TypeName
	Max          int // children at once over all instances; 0: as many as there are slots
	MaxPerHost   int
	Weight       int             // of its share of a host's slots while other types wait; 0: 1
	Takes        scheduler.Takes // what a child takes of its host
	Exec         bool            // one process per job: an idle child has none
	Local        bool            // not on hosts that are Far
	Exclusive    bool            // nothing else runs on this instance beside it
	Locked       bool            // it says which locks all its jobs need
	Timeout      time.Duration
	StartTimeout time.Duration
	Retry        *scheduler.RetryPolicy // nil: Config.Retry
}

// HostSpec is a place where children run.
type HostSpec struct {
	Name            scheduler.HostName
	Slots           int
	Serves          []string // patterns of the locality keys it answers to
	scheduler.Terms          // a host that is Far has to be reached first, and may be lost
	// Takes is what it takes of the types that it does not refuse; nil: every job.
	Takes *scheduler.Only
	// Engine: what is given to it runs elsewhere, and takes no slots; nil: in children.
	Engine *EngineSpec
}

// EngineSpec says of a host that its jobs run elsewhere: commands submit, find, poll and kill them.
type EngineSpec struct {
	Engine  string // as it is shown
	Type    scheduler.TypeName
	Rules   engine.Rules
	Poll    time.Duration // how often it is asked
	Submits int           // calls of submit at once
	Logs    bool          // what jobs wrote is fetched
	Ends    scheduler.Ends
}

// Setup is the part of a Config that may change while the tree runs. Its readers read it again each time.
type Setup struct {
	Hosts     []HostSpec // the same ones: none comes or goes
	Agents    []AgentType
	Respawn   scheduler.RespawnPolicy
	Idle      time.Duration
	MinReady  time.Duration
	KillAfter time.Duration
}
