package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Every kind of sensor that no clock moves starts a run, once for each event, and goes on when its owner is killed.
// The broker speaks Kafka's protocol, and is none: nothing is replicated, and nothing fails over.
func TestSensors_OfEveryKind(t *testing.T) {
	t.Parallel()
	e := setup(t)
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "uploads"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	in := filepath.Join(e.dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	config := agents("type: sh, command: [sh, -c], mode: exec") +
		"sensors:\n  files: [" + in + "]\n  kafka: [{name: main, servers: [\"" + broker.ListenAddrs()[0] + "\"]}]\n"
	e.sql("create table uploads (id int primary key, what text)")
	steps := "parameters: {WHAT: none, FILE: none}\nsteps: [{name: a, type: sh, args: \"echo '${WORKFLOW} ${WHAT} ${FILE}' >> " +
		e.dir + "/did\"}]\n---\n"
	e.file("all.yaml", "workflow: table\nsensor: {table: uploads}\n"+steps+
		"workflow: said\nsensor: {notify: uploads}\n"+steps+
		"workflow: file\nsensor: {file: \""+in+"/*.csv\", stable: 100ms}\n"+steps+
		"workflow: kafka\nsensor: {kafka: main, topic: uploads, match: {kind: csv}}\n"+steps+
		"workflow: http\nsensor: {http: true}\n"+steps+
		"workflow: nowhere\nsensor: {file: \"/nowhere/*\"}\n"+strings.TrimSuffix(steps, "---\n"), 0o600)
	first := e.serve(config)
	e.ok("workflow", "apply", filepath.Join(e.dir, "all.yaml"))
	e.eventually("all but one have an owner", "select count(instance) = 5 from bellhop.workflow")
	has(t, e.ok("workflow", "show", "nowhere"), "no live instance can see that")
	const ears = "select from pg_stat_activity where application_name = 'bellhop channels' and datname = current_database()"
	event := func(n string) {
		t.Helper()
		e.sql("insert into uploads values ($1::text::int, 'row')", n)
		e.eventually("somebody listens", "select exists ("+ears+" and state = 'idle' and query <> '')") // LISTEN is its first
		e.sql("select pg_notify('uploads', format('{\"event\":\"%s\",\"what\":\"said\"}', $1::text))", n)
		e.file("part", "text", 0o600)
		if err := os.Rename(filepath.Join(e.dir, "part"), filepath.Join(in, n+".csv")); err != nil {
			t.Fatal(err)
		}
		r := &kgo.Record{Topic: "uploads", Value: []byte(`{"kind":"csv","what":"record"}`)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			e.sql("select bellhop.workflow_http('http', $1, '{\"what\":\"posted\"}')", n)
		}
		e.eventually("each came to a run, and the runs are over",
			"select count(*) = 5 * $1::text::int and bool_and(state = 'succeeded') from bellhop.run", n)
	}
	e.waitOffset(client, "bellhop.kafka")
	e.eventually("it is known how far it is behind", "select exists (select from bellhop.sensor where workflow = 'kafka' and lag = 0)")
	has(t, e.ok("workflow", "show", "kafka"), "has read all")
	event("1")
	got := e.lines("did")
	for _, want := range []string{"table row none", "said said none", "file none " + in + "/1.csv", "kafka record none", "http posted none"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	first.kill()
	e.eventually("the server has noticed that", "select not exists ("+ears+")")
	second := e.serve(config)
	e.eventually("another one has them", "select count(*) = 5 from bellhop.workflow where instance = $1", second.id)
	event("2")
	// The topic is made again, and its records have the numbers of old ones.
	admin := kadm.NewClient(client)
	if _, err := admin.DeleteTopics(t.Context(), "uploads"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "uploads"); err != nil {
		t.Fatal(err)
	}
	client.PurgeTopicsFromClient("uploads")
	event("3")
	e.workflowBecause("kafka", "sensor_remark", "was deleted and made again: reading begins at its start")
	if n := value[int](e, "select count(*) from bellhop.event"); n != 15 {
		t.Errorf("%d events: %q", n, column[string](e, "select workflow || ' ' || event from bellhop.event order by at"))
	}
}

// waitOffset waits until a group of the cluster has an offset: from then on no record is missed.
func (e *env) waitOffset(client *kgo.Client, group string) {
	e.t.Helper()
	admin := kadm.NewClient(client)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if list, err := admin.FetchOffsets(e.t.Context(), group); err == nil && len(list) > 0 {
			return
		} else if time.Now().After(end) {
			e.t.Fatal("no offset is committed: ", err)
		}
	}
}
