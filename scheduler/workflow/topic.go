package workflow

import (
	"fmt"
	"maps"
	"slices"
)

// Place is where a sensor stands in a topic of Kafka, and which topic that is: a
// name, and the offsets below it, begin again when the topic is deleted and made
// again, or when its cluster is restored.
type Place struct {
	Kafka   string          `json:"kafka"`             // the cluster, as the configuration calls it
	Cluster string          `json:"cluster,omitempty"` // and what that says it is
	Topic   string          `json:"topic"`
	ID      string          `json:"id,omitempty"`    // the topic's; empty: the cluster is too old to have such
	Epoch   int             `json:"epoch,omitempty"` // how often offsets have begun again
	Mark    string          `json:"mark,omitempty"`  // in the names of events; empty: they are of before there was one
	At      map[int32]int64 `json:"at"`              // the next offset, by partition
	// Leader is the leader epoch of the last record before that, by partition, as far as it is known.
	Leader map[int32]int32 `json:"leader,omitempty"`
}

// TopicSeen is what a cluster tells of a topic.
type TopicSeen struct {
	Cluster string
	ID      string
	Start   map[int32]int64 // the first offset that is kept, by partition
	End     map[int32]int64 // and the next one that will be written
	Group   map[int32]int64 // where the sensor's group stands, as far as the cluster remembers
	Leader  map[int32]int32 // the leader epoch at End, by partition
	// Whole is how far a partition can be what was read: the end of its leader epoch in Place.Leader. Records beyond it
	// are lost: a replica without them became the leader, and may have given their offsets to others. -1: the cluster
	// knows no such epoch.
	Whole map[int32]int64
}

// IsOf says whether a place is one in the sensor's topic.
func (p *Place) IsOf(s *Sensor) bool { return p != nil && p.Kafka == s.Kafka && p.Topic == s.Topic }

// Name is the name of the event that a record is.
func (p Place) Name(partition int32, offset int64) string {
	name := fmt.Sprintf("%s/%d/%d", p.Topic, partition, offset)
	if p.Mark != "" {
		name += "@" + p.Mark
	}
	return Named(name)
}

// begun starts another epoch of names.
func (p *Place) begun() {
	switch p.Epoch++; {
	case p.ID == "":
		p.Mark = fmt.Sprintf("%s.%d", p.Cluster, p.Epoch)
	default:
		p.Mark = fmt.Sprintf("%s.%d", p.ID, p.Epoch)
	}
}

// Begin is where a sensor begins to read its topic: where its group stands, or, where
// the cluster has forgotten that, where the sensor was. A new sensor begins at the end.
// A topic that was made again is read from its start, and so is a partition that has
// come. told is what is passed over, or begins again, in words.
func (s *Sensor) Begin(was *Place, seen TopicSeen) (now Place, told []string) {
	now = Place{Kafka: s.Kafka, Cluster: seen.Cluster, Topic: s.Topic, ID: seen.ID, Mark: seen.ID, At: map[int32]int64{}}
	if !was.IsOf(s) {
		was = nil
	}
	known := was != nil || len(seen.Group) > 0
	anew := beginsAnew(was, seen)
	if known {
		now.Mark = ""
	}
	if was != nil {
		now.Epoch, now.Mark = was.Epoch, was.Mark
		if now.ID == "" {
			now.ID = was.ID
		}
	}
	if anew != "" {
		now.begun()
		where := "its start"
		if s.CatchUp == CatchUpNone {
			where = "its end, as catch_up: none says"
		}
		told = append(told, fmt.Sprintf("topic %s %s: reading begins at %s", s.Topic, anew, where))
	}
	renamed := false
	for p := range seen.End {
		renamed = renamed || anew == "" && was.lost(p, seen)
	}
	if renamed { // what is written after the loss has offsets that were read before
		now.begun()
	}
	for _, p := range slices.Sorted(maps.Keys(seen.End)) {
		at, more := s.beginIn(p, was, seen, known, anew != "")
		if renamed && s.CatchUp != CatchUpNone && !was.lost(p, seen) { // it was read so far, under the names of before
			at = max(at, was.At[p])
		}
		now.At[p], told = at, append(told, more...)
		now.led(p, was, seen, anew != "")
	}
	return now, told
}

// end is where the part of a partition ends that can be what was read.
func (p *Place) end(partition int32, seen TopicSeen) int64 {
	end := seen.End[partition]
	if whole, known := seen.Whole[partition]; known && whole >= 0 {
		end = min(end, whole)
	}
	return end
}

// lost says whether records of a partition were read that the cluster does not have any more.
func (p *Place) lost(partition int32, seen TopicSeen) bool {
	return p != nil && p.At[partition] > p.end(partition, seen)
}

// led keeps which leader wrote what is before the place in a partition.
func (p *Place) led(partition int32, was *Place, seen TopicSeen, anew bool) {
	if was != nil && !anew && seen.Whole[partition] >= 0 && p.At[partition] <= was.At[partition] {
		if epoch := was.Led(partition); epoch >= 0 {
			p.Read(partition, p.At[partition], epoch)
			return
		}
	}
	if epoch, known := seen.Leader[partition]; known && p.At[partition] == seen.End[partition] {
		p.Read(partition, p.At[partition], epoch)
	}
}

// Read puts the place in a partition behind a record that a leader of this epoch wrote; -1: it is not known.
func (p *Place) Read(partition int32, next int64, epoch int32) {
	p.At[partition] = next
	if epoch < 0 {
		delete(p.Leader, partition)
		return
	}
	if p.Leader == nil {
		p.Leader = map[int32]int32{}
	}
	p.Leader[partition] = epoch
}

// Led is the epoch of the leader that wrote what was read last in a partition; -1: it is not known.
func (p *Place) Led(partition int32) int32 {
	if epoch, known := p.Leader[partition]; known {
		return epoch
	}
	return -1
}

// beginsAnew says in which way the topic is another one than it was; empty: it is the same.
func beginsAnew(was *Place, seen TopicSeen) string {
	beyond := func(at map[int32]int64) bool {
		for p, n := range at {
			if end, there := seen.End[p]; !there || n > end {
				return true
			}
		}
		return false
	}
	switch {
	case was == nil && beyond(seen.Group):
		return "ends before where its group stands, and was made again"
	case was == nil:
		return ""
	case was.ID != "" && seen.ID != "" && was.ID != seen.ID:
		return "was deleted and made again"
	case was.ID != "" && seen.ID != "":
		return ""
	case was.Cluster != "" && seen.Cluster != "" && was.Cluster != seen.Cluster:
		return "is in another cluster than before"
	case beyond(was.At):
		return "ends before where it was read, and was made again"
	}
	return ""
}

// goesOn is where reading goes on in a partition that has lost records: where the loss begins, if that is known.
func (p *Place) goesOn(partition int32, seen TopicSeen) (at int64, told []string) {
	if _, known := seen.Whole[partition]; !known || seen.Whole[partition] < 0 {
		end := seen.End[partition]
		return end, []string{fmt.Sprintf("partition %d of topic %s ends at %d, and was read up to %d: "+
			"the cluster has lost records, and reading goes on at the end", partition, p.Topic, end, p.At[partition])}
	}
	from := p.end(partition, seen)
	at = max(from, seen.Start[partition])
	return at, []string{fmt.Sprintf("partition %d of topic %s was read up to %d, and the cluster has lost its records "+
		"from %d on: reading goes on at %d", partition, p.Topic, p.At[partition], from, at)}
}

func (s *Sensor) beginIn(p int32, was *Place, seen TopicSeen, known, anew bool) (at int64, told []string) {
	start, end := seen.Start[p], seen.End[p]
	stood, remembered := seen.Group[p]
	switch {
	case s.CatchUp == CatchUpNone, !known:
		return end, nil
	case anew:
		return start, nil
	case was.lost(p, seen):
		return was.goesOn(p, seen)
	case remembered:
		at = stood
		if was != nil && was.At[p] > 0 && stood > was.At[p] {
			told = append(told, fmt.Sprintf("the group stands at %d of partition %d, and was at %d: %d records are passed over",
				stood, p, was.At[p], stood-was.At[p]))
		}
	default:
		at = start // the partition has come, unless it was read
		if was != nil {
			if n, there := was.At[p]; there {
				at = n
			}
		}
	}
	if was != nil && seen.Whole[p] < 0 {
		told = append(told, fmt.Sprintf("the cluster does not know leader epoch %d of partition %d of topic %s any more: "+
			"records that it has lost cannot be told, and reading goes on at %d", was.Led(p), p, s.Topic, at))
	}
	switch {
	case at > end:
		return end, append(told, fmt.Sprintf("partition %d of topic %s ends at %d, and was read up to %d: "+
			"the cluster has lost records, and reading goes on at the end", p, s.Topic, end, at))
	case at < start:
		return start, append(told, fmt.Sprintf("%d records of partition %d were deleted by the cluster before they were read",
			start-at, p))
	}
	return at, told
}
