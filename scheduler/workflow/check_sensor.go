package workflow

import (
	"path"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler/cron"
	"bellhop/scheduler/grammar"
)

func (c *check) sensor() {
	s := c.Sensor
	if s == nil {
		return
	}
	kinds := s.kinds()
	if len(kinds) != 1 {
		last := len(Kinds) - 1
		c.fault(-1, "sensor", -1, "it has one of "+strings.Join(Kinds[:last], ", ")+" and "+Kinds[last],
			"the sensor has %s", orNothing(strings.Join(kinds, " and ")))
		return
	}
	kind := kinds[0]
	for _, f := range grammar.Sensor.Fields {
		if _, given := valueOf(*s, f.Name); given && f.Kinds != nil && !slices.Contains(f.Kinds, kind) {
			c.fault(-1, "sensor."+f.Name, -1, "leave it out", "%s belongs to a sensor of the kind %s, and this is one of %s",
				f.Name, strings.Join(f.Kinds, " or "), kind)
		}
	}
	if slices.Contains(grammar.Sensor.Field("per").Kinds, kind) && (s.AtMost > 0) != (s.Per > 0) {
		c.fault(-1, "sensor", -1, "write both, like at_most: 8, per: 1h", "at_most and per mean nothing without each other")
	}
	c.values(grammar.Sensor, -1, "sensor.", *s)
	switch kind {
	case "cron":
		c.cron()
	case "every":
		if s.Every < Duration(minEvery) {
			c.fault(-1, "sensor.every", -1, "write 1s or more", "every %s is too often", s.Every)
		} else if s.Every%Duration(time.Second) != 0 { // slots are named by their second
			c.fault(-1, "sensor.every", -1, "write whole seconds", "every %s does not fall on seconds", s.Every)
		}
	case "workflow":
		if s.Workflow == c.Name {
			c.fault(-1, "sensor.workflow", -1, "every: with after_finish: true starts it again", "a workflow cannot wait for itself")
		}
	case "notify":
		if s.Notify == "bellhop" || strings.HasPrefix(s.Notify, "bellhop_") {
			c.fault(-1, "sensor.notify", -1, "give it a name of its own", "channel %s is bellhop's own", s.Notify)
		}
	case "file":
		c.file()
	case "kafka":
		if s.Topic == "" {
			c.fault(-1, "sensor", -1, grammar.Sensor.Field("topic").Hint, "topic is missing")
		}
	}
	c.catchUp(kind)
}

func (c *check) cron() {
	field := "sensor.zone"
	_, err := cron.Zone(c.Sensor.Zone)
	if err == nil {
		field = "sensor.cron"
		_, err = c.Sensor.Schedule()
	}
	if err != nil {
		c.fault(-1, field, -1, "bellhop cron explain describes schedules", "%s", err)
	}
}

func (c *check) file() {
	s := c.Sensor
	// The lookout reads a pattern part by part.
	bad := slices.ContainsFunc(strings.Split(s.File, "/"), func(part string) bool {
		_, err := path.Match(part, "")
		return err != nil
	})
	switch {
	case bad:
		c.fault(-1, "sensor.file", -1, "* stands for any letters, ? for one, [a-z] for one of these", "%q is not a valid pattern", s.File)
	case !path.IsAbs(s.File) || path.Clean(s.File) != s.File:
		c.fault(-1, "sensor.file", -1, "write it like /srv/in/*.csv", "%q is not a valid pattern of whole paths", s.File)
	case strings.Contains(s.File, "**"):
		c.fault(-1, "sensor.file", -1, "write one * for each folder", "** is not known")
	}
	if s.Event != "" && s.Event != FileByPath && s.Event != FileByVersion {
		c.fault(-1, "sensor.event", -1, "known are path, version", "a file is not named by its %q", s.Event)
	}
}

func (c *check) catchUp(kind string) {
	switch s := c.Sensor; {
	case s.CatchUp != "" && s.AfterFinish:
		c.fault(-1, "sensor.catch_up", -1, "leave it out", "there are no slots here that could be missed")
	case s.CatchUp == CatchUpOne && kind == "kafka":
		c.fault(-1, "sensor.catch_up", -1, "known are all, none", "catch_up cannot be %q", s.CatchUp)
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing that would start it"
	}
	return s
}
