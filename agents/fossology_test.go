package agents

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler"
)

func TestFOSSology_Words(t *testing.T) {
	t.Parallel()
	anything := func(level scheduler.Level) said { return said{what: saysAnything, level: level} }
	for line, want := range map[string]said{
		"":                              {},
		" \t\r":                         {},
		"OK":                            {what: saysOK},
		"OK\r":                          {what: saysOK},
		"OKAY":                          anything(scheduler.LevelOut),
		"VERSION: 4.4.0.r1 a":           {what: saysVersion, text: []byte("4.4.0.r1 a")},
		"VERSION:4":                     anything(scheduler.LevelOut),
		"HEART: 5 1":                    {what: saysHeart, n: 5, on: true},
		"HEART: 5 0":                    {what: saysHeart, n: 5},
		"HEART: 5":                      {what: saysHeart, n: 5, on: true},
		"HEART: -1 1":                   anything(scheduler.LevelOut),
		"HEART: five":                   anything(scheduler.LevelOut),
		"BYE 0":                         {what: saysBye},
		"BYE -1":                        {what: saysBye, n: -1},
		"BYE":                           anything(scheduler.LevelOut),
		"BYE bye":                       anything(scheduler.LevelOut),
		"SPECIAL: 1 1":                  {what: saysSpecial, n: 1, on: true},
		"SPECIAL: 8 0":                  {what: saysSpecial, n: 8},
		"GETSPECIAL: 2":                 {what: saysGetSpecial, n: 2},
		"EMAIL all is  well":            {what: saysEmail, text: []byte("all is  well")},
		"FATAL a.c.7: x":                anything(scheduler.LevelError),
		"ERROR: a.c.7: x":               anything(scheduler.LevelError),
		"WARNING a.c.7: x":              anything(scheduler.LevelInfo),
		"NOTICE a.c.7: x":               anything(scheduler.LevelInfo),
		"DEBUG a.c.7: x":                anything(scheduler.LevelDebug),
		"cannot open /srv/x":            anything(scheduler.LevelOut),
		"{\"bellhop\":1}":               anything(scheduler.LevelOut),
		"heart: 1 1":                    anything(scheduler.LevelOut),
		"HEART: 1 1 1":                  anything(scheduler.LevelOut),
		"SPECIAL: 1":                    anything(scheduler.LevelOut),
		"HEART: 99999999999999999999 1": anything(scheduler.LevelOut),
	} {
		got := parseFOSSology([]byte(line))
		if got.what == saysAnything && string(got.text) == strings.TrimSuffix(line, "\r") {
			got.text = nil
		}
		if got.what != want.what || got.n != want.n || got.on != want.on || got.level != want.level ||
			string(got.text) != string(want.text) {
			t.Errorf("%q means %+v, want %+v", line, got, want)
		}
	}
}

func TestFOSSology_DataThatCannotBeToldFromACommandIsRefused(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"7": "7\nEND\n", "": "\nEND\n", "close": "close\nEND\n", " END": " END\nEND\n",
		"CLOSE": "", "CLOSED": "", "END": "", "ENDLESS": "", "VERBOSE 3": "", "VERSION": "", "a\nb": "",
	} {
		l := line(1, data)
		got, err := encodeFOSSology(&l, 0)
		if (err != nil) != (want == "") || string(got) != want {
			t.Errorf("%q becomes %q, %v", data, got, err)
		}
	}
	nothing := scheduler.Line{}
	if b, err := encodeFOSSology(&nothing, 2); err != nil || string(b) != "VERBOSE 2\nCLOSE\n" {
		t.Errorf("nothing becomes %q, %v", b, err)
	}
	item := scheduler.Line{Item: 1, HasArgs: true, Args: `pfile="17" name="a b"`, Columns: []scheduler.Column{{Name: "pfile", Value: "17"}, {Name: "name", Value: "a b"}}}
	if b, err := encodeFOSSology(&item, 0); err != nil || string(b) != "17\nEND\n" {
		t.Errorf("an item becomes %q, %v", b, err)
	}
}

func TestFOSSology_CommandLine(t *testing.T) {
	f := &FOSSology{}
	t.Setenv("FO_SYSCONFDIR", "/etc/scheduler")
	args, rest := f.commandLine(`{"jobId":"12","USERID":"3","groupid":"4","jq_cmd_args":"-a  --x=1","COLOUR":"blue"}`,
		[]string{"FO_SYSCONFDIR=/etc/fo"})
	if got := strings.Join(args, "|"); got != "--jobId=12|--config=/etc/fo|--userID=3|--groupID=4|--scheduler_start|-a|--x=1" ||
		len(rest) != 1 ||
		rest["COLOUR"] != "blue" {
		t.Errorf("got %s, rest %v", got, rest)
	}
	if args, _ = f.commandLine("", nil); strings.Join(args, "|") != "--jobId=0|--config=/etc/scheduler|--userID=0|--groupID=0|--scheduler_start" {
		t.Errorf("got %v", args)
	}
	for text, want := range map[string]string{
		`-a  --x=1 `: "-a|--x=1", `-n 'a b' -m "c  d" e`: `-n|'a b'|-m|"c  d"|e`, `--path='/srv/a b/'c d`: `--path='/srv/a b/'c|d`,
		`"it's here"`:       `"it's|here"`, // an apostrophe ends what a quote has begun: as it is there
		`'open to the  end`: `'open to the  end`, "": "",
	} {
		if got := strings.Join(quotedFields(text), "|"); got != want {
			t.Errorf("%s is cut to %s, want %s", text, got, want)
		}
	}
	f.Config = "/srv/fo"
	if args, _ = f.commandLine("", []string{"FO_SYSCONFDIR=/etc/fo"}); args[1] != "--config=/srv/fo" {
		t.Errorf("got %v", args)
	}
}

// What an agent that follows its protocol says never makes it be killed, and
// time alone kills one that says nothing.
func TestFOSSology_TheConversationInVirtualTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := FOSSology{}.withDefaults()
		now := time.Unix(1000, 0)
		c := newConversation(f, time.Minute, []byte("7\nEND\n"), now)
		c.hear([]byte("VERSION: 1"), now)
		c.hear([]byte("OK"), now)
		alive := rapid.Bool().Draw(t, "alive")
		end := now.Add(time.Duration(rapid.IntRange(0, 3600).Draw(t, "seconds")) * time.Second)
		beat := time.Duration(rapid.IntRange(1, 179).Draw(t, "beat")) * time.Second
		nextBeat := now.Add(beat)
		for now.Before(end) {
			at := c.next()
			if !at.After(now) {
				t.Fatalf("the next look, %s, is not after %s", at, now)
			}
			if nextBeat.Before(at) {
				now = nextBeat
				nextBeat = now.Add(beat)
				word := "HEART: 1 0"
				if alive {
					word = "HEART: 1 1"
				}
				c.hear([]byte(word), now)
				continue
			}
			now = at
			if d := c.tick(now); d.kill != "" {
				if alive {
					t.Fatalf("killed at %s: %s", now, d.kill)
				}
				if now.Before(c.began.Add(5 * f.Check)) {
					t.Fatalf("killed after %s", now.Sub(c.began))
				}
				return
			}
		}
		if !alive && now.Sub(c.began) > 10*f.Check+beat {
			t.Fatalf("it lives after %s without getting on", now.Sub(c.began))
		}
	})
}

func TestFOSSology_SilenceIsCountedFromTheSpawnAndStartHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	f := FOSSology{}.withDefaults()
	for _, x := range []struct {
		start time.Duration
		after time.Duration
		kill  string
	}{
		{0, 179 * time.Second, ""}, {0, 180 * time.Second, "not a line for 3m0s"},
		{time.Minute, 59 * time.Second, ""}, {time.Minute, 60 * time.Second, "no OK within 1m0s"},
	} {
		c := newConversation(f, x.start, nil, began)
		if d := c.tick(began.Add(x.after)); !strings.Contains(d.kill, x.kill) || (x.kill == "") != (d.kill == "") {
			t.Errorf("after %s: %q, want %q", x.after, d.kill, x.kill)
		}
	}
	f.NoKill = true
	c := newConversation(f, 0, nil, began)
	if d := c.tick(began.Add(time.Hour)); d.kill != "" {
		t.Errorf("killed though nokill: %q", d.kill)
	}
}

// NOKILL that is taken back counts from then on, and not from the next look at
// ALIVE.
func TestFOSSology_NoKillTakenBackCountsAtOnce(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	f := FOSSology{Check: time.Hour}.withDefaults()
	c := newConversation(f, 0, nil, began)
	c.hear([]byte("VERSION: 1"), began)
	c.hear([]byte("SPECIAL: 1 1"), began)
	if at := c.next(); !at.Equal(began.Add(time.Hour)) {
		t.Errorf("under NOKILL it looks after %s", at.Sub(began))
	}
	back := began.Add(10 * time.Minute)
	if d := c.hear([]byte("SPECIAL: 1 0"), back); !d.sooner {
		t.Error("nothing looks sooner now")
	}
	if at := c.next(); !at.Equal(back.Add(f.Silence)) {
		t.Errorf("it looks after %s", at.Sub(back))
	}
	if d := c.tick(back.Add(f.Silence)); !strings.HasPrefix(d.kill, "no_heartbeat") {
		t.Errorf("silent, it is %+v", d)
	}
}

func FuzzFOSSology(f *testing.F) {
	for _, s := range []string{"OK", "VERSION: x", "HEART: 1 1", "BYE 0", "GETSPECIAL: 1", "SPECIAL: 1 0", "EMAIL", "\x00",
		"HEART:", "BYE 0 0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newConversation(FOSSology{}.withDefaults(), 0, []byte("7\nEND\n"), time.Unix(1, 0))
		c.hear([]byte("VERSION: 1"), time.Unix(1, 0))
		d := c.hear(text, time.Unix(2, 0))
		if c.bye && !strings.HasPrefix(string(text), "BYE ") {
			t.Errorf("%q is taken for BYE", text)
		}
		if d.write != nil && string(d.write) != "7\nEND\n" && string(d.write) != "VALUE: 0\n" && string(d.write) != "VALUE: 1\n" {
			t.Errorf("%q is answered with %q", text, d.write)
		}
		if code := c.exitCode(); c.bye && (code == 0) != (c.result == 0) {
			t.Errorf("BYE %d gives exit code %d", c.result, code)
		}
	})
}
