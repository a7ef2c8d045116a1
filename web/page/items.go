package page

import (
	"net/url"
	"strconv"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// itemGroup is failed items of a job that failed with the same error, numbers aside.
type itemGroup struct {
	N      int64
	Sample string
	Items  []view.GroupedItemRow // five at most
	All    string                // the address of all of them
}

// groupItems puts rows together that stand beside each other.
func groupItems(job scheduler.JobID, rows []view.GroupedItemRow) (list []itemGroup) {
	masked := ""
	for _, r := range rows {
		if len(list) == 0 || r.Masked != masked {
			masked = r.Masked
			list = append(list, itemGroup{N: r.N, Sample: words.Text(r.Error), All: itemsAt(job, url.Values{"error": {masked}})})
		}
		g := &list[len(list)-1]
		g.Items = append(g.Items, r)
	}
	return list
}

func itemsAt(job scheduler.JobID, q url.Values) string {
	at := "/jobs/" + strconv.FormatInt(int64(job), 10) + "/items"
	if q.Get("error") == "" {
		q.Del("error")
	}
	if len(q) == 0 {
		return at
	}
	return at + "?" + q.Encode()
}

// itemGroupsMost is how many errors a page tells apart.
const itemGroupsMost = 20

// bar is how far the items of a job are, drawn on a width of 1000.
type itemBar struct {
	Done, Failed float64
	Unknown      bool   // how many there are: the last row was not read yet
	Says         string // "1,988 done, 159 failed, 12 left"
	Rest         string // how fast it goes, and how long it will take
}

// itemsOf tells how far the items of a job are; nil: it has none.
func itemsOf(j view.JobRow, now time.Time) *itemBar {
	if j.ItemsDone == nil {
		return nil
	}
	done, failed := float64(*j.ItemsDone), 0.0
	b := itemBar{Says: words.Grouped(*j.ItemsDone) + " done", Unknown: j.ItemsTotal == nil}
	if j.ItemsFailed != nil && *j.ItemsFailed > 0 {
		failed = float64(*j.ItemsFailed)
		b.Says += ", " + words.Grouped(*j.ItemsFailed) + " failed"
	}
	whole := done + failed
	if !b.Unknown {
		whole = max(whole, float64(*j.ItemsTotal))
		b.Says += " of " + words.Grouped(*j.ItemsTotal)
	} else if !j.State.Final() {
		whole *= 1.25 // some are left
		b.Says += ", total unknown until the query's last row is read"
	}
	if whole > 0 {
		b.Done, b.Failed = done/whole*1000, failed/whole*1000
	}
	if j.State == scheduler.Running && j.StartedAt != nil && done+failed > 0 {
		pace := (done + failed) / max(now.Sub(*j.StartedAt).Seconds(), 1)
		b.Rest = rate(pace)
		if left := whole - done - failed; !b.Unknown && left > 0 {
			b.Rest += ", done in about " + words.Lasting(left/pace)
		}
	}
	return &b
}

type itemsData struct {
	ID    scheduler.JobID
	Type  scheduler.TypeName
	Error string // masked; empty: of any
	Items []view.SeenItemRow
	Next  string
	First string
}

// itemsMost is how many items a page lists.
const itemsMost = 100

// items is the page of the failed items of a job.
func items(r *request) (content, error) {
	n, err := strconv.ParseInt(r.arg, 10, 64)
	if err != nil || n <= 0 {
		return content{}, errNotFound
	}
	id := scheduler.JobID(n)
	row, ok, err := r.Look.Job(r, id)
	if err != nil || !ok {
		return content{}, orNotFound(err)
	}
	d := itemsData{ID: id, Type: row.Type, Error: r.query.Get("error")}
	var behind *view.ItemPlace
	fence, err := strconv.ParseInt(r.query.Get("fence"), 10, 64)
	if item, e := strconv.ParseInt(r.query.Get("item"), 10, 64); err == nil && e == nil {
		behind = &view.ItemPlace{Fence: fence, Item: item}
		d.First = itemsAt(id, url.Values{"error": {d.Error}})
	}
	if d.Items, err = r.Look.ItemPage(r, id, behind, d.Error, itemsMost+1); err != nil {
		return content{}, err
	}
	if len(d.Items) > itemsMost {
		d.Items = d.Items[:itemsMost]
		last := d.Items[itemsMost-1]
		d.Next = itemsAt(id, url.Values{"error": {d.Error}, "fence": {strconv.FormatInt(last.Fence, 10)},
			"item": {strconv.FormatInt(last.Item, 10)}})
	}
	return content{Title: "Failed items of #" + r.arg, Template: "items", Data: d}, nil
}

func orNotFound(err error) error {
	if err != nil {
		return err
	}
	return errNotFound
}
