package e2e

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// An instance that is started again goes on in a topic where the database says that the sensor was. The cluster has
// forgotten its group's offset, or has an old one; still each record is one event and one run.
func TestSensors_AnotherInstanceGoesOnInTheTopic(t *testing.T) {
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
	admin, sent := kadm.NewClient(client), 0
	produce := func(n int) {
		t.Helper()
		for range n {
			sent++
			r := &kgo.Record{Topic: "uploads", Value: fmt.Appendf(nil, `{"n":"record %d"}`, sent)}
			if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	allRan := func() {
		t.Helper()
		e.eventually("each record came to a run that is over",
			"select count(*) >= $1 and bool_and(state = 'succeeded') from bellhop.run", sent)
		const each = "select array[count(*), count(distinct args)] from bellhop.jobqueue where step = 'load'"
		if n := value[[]int](e, each); n[0] != sent || n[1] != sent {
			t.Errorf("of %d records %d jobs came, with %d different args", sent, n[0], n[1])
		}
		const at = "select (place -> 'at' ->> '0')::int from bellhop.sensor_place where workflow = 'load'"
		if n := value[int](e, at); n != sent {
			t.Errorf("after %d records the sensor stands at %d", sent, n)
		}
	}
	config := agents("type: sh, command: [sh, -c], mode: exec") +
		"sensors: {kafka: [{name: main, servers: [\"" + broker.ListenAddrs()[0] + "\"]}]}\n"
	first := e.serve(config)
	e.ok("workflow", "apply", e.file("load.yaml", "workflow: load\nsensor: {kafka: main, topic: uploads}\n"+
		"parameters: {N: \"\"}\nsteps: [{name: load, type: sh, args: \"echo ${N}\"}]\n", 0o600))
	e.waitOffset(client, "bellhop.load")
	produce(20)
	e.eventually("some have come", "select count(*) > 3 from bellhop.event")
	first.kill()
	if _, err := admin.DeleteGroup(t.Context(), "bellhop.load"); err != nil {
		t.Fatal(err)
	}
	produce(20)
	second := e.serve(config)
	allRan()
	second.stop()
	var old kadm.Offsets
	old.AddOffset("uploads", 0, 7, -1)
	if err := admin.CommitAllOffsets(t.Context(), "bellhop.load", old); err != nil {
		t.Fatal(err)
	}
	produce(5)
	e.serve(config)
	allRan()
}
