package config

import "bellhop/scheduler/workflow"

func (r *reader) sensor(n node, at string, spots map[spot]node) *workflow.Sensor {
	var s workflow.Sensor
	bad := len(r.problems)
	for name, n := range r.mapping(n, at, []field{
		{name: "cron", read: r.word(&s.Cron)},
		{name: "zone", read: r.word(&s.Zone)},
		{name: "catch_up", read: func(n node, at string) { r.word((*string)(&s.CatchUp))(n, at) }},
		{name: "queue", read: func(n node, at string) { r.word((*string)(&s.Queue))(n, at) }},
		{name: "every", read: r.long(&s.Every)},
		{name: "after_finish", read: r.flag(&s.AfterFinish)},
		{name: "at_most", read: r.count(&s.AtMost)},
		{name: "per", read: r.long(&s.Per)},
		{name: "workflow", read: r.word(&s.Workflow)},
		{name: "when", read: r.oneOrMore(&s.When, "[succeeded, failed]")},
		{name: "table", read: r.word(&s.Table)},
		{name: "event", read: r.word(&s.Event)},
		{name: "notify", read: r.word(&s.Notify)},
		{name: "http", read: r.flag(&s.HTTP)},
		{name: "file", read: r.word(&s.File)},
		{name: "host", read: r.word(&s.Host)},
		{name: "stable", read: r.long(&s.Stable)},
		{name: "kafka", read: r.word(&s.Kafka)},
		{name: "topic", read: r.word(&s.Topic)},
		{name: "match", read: r.pairs(&s.Match, "match: {kind: upload}")},
	}) {
		spots[spot{-1, "sensor." + name}] = n
	}
	if len(r.problems) > bad { // what is missing besides may be what could not be read
		return nil
	}
	return &s
}

// sensorPairs are the keys and values of a sensor as it is written.
func sensorPairs(s *workflow.Sensor) pairs {
	m := pairs{}
	m.add("cron", s.Cron, s.Cron != "")
	m.add("zone", s.Zone, s.Zone != "")
	m.add("every", s.Every.String(), s.Every > 0)
	m.add("after_finish", true, s.AfterFinish)
	m.add("workflow", s.Workflow, s.Workflow != "")
	m.add("when", s.When, len(s.When) > 0)
	m.add("table", s.Table, s.Table != "")
	m.add("notify", s.Notify, s.Notify != "")
	m.add("http", true, s.HTTP)
	m.add("file", s.File, s.File != "")
	m.add("host", s.Host, s.Host != "")
	m.add("stable", s.Stable.String(), s.Stable > 0)
	m.add("kafka", s.Kafka, s.Kafka != "")
	m.add("topic", s.Topic, s.Topic != "")
	m.add("match", s.Match, len(s.Match) > 0)
	m.add("event", s.Event, s.Event != "")
	m.add("catch_up", string(s.CatchUp), s.CatchUp != "")
	m.add("queue", string(s.Queue), s.Queue != "")
	m.add("at_most", s.AtMost, s.AtMost > 0)
	m.add("per", s.Per.String(), s.Per > 0)
	return m
}
