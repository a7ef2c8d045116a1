package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"bellhop/config"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// Nearest is the known name that a mistyped one was most likely meant to be.
var Nearest = config.Nearest

// Named is a job as it was named on the command line.
type Named struct {
	Word string
	ID   scheduler.JobID
}

// FindJobs gives the jobs that words name, in the words' order, each once. A
// word of digits is an id, any other a key. What does not exist is in missing.
func FindJobs(ctx context.Context, look view.Look, words []string) (jobs []Named, missing error, err error) {
	var ids []scheduler.JobID
	var keys []string
	for _, word := range words {
		if !IsID(word) {
			keys = append(keys, word)
		} else if id, err := strconv.ParseInt(word, 10, 64); err == nil {
			ids = append(ids, scheduler.JobID(id))
		}
	}
	found, err := look.Find(ctx, ids, keys)
	if err != nil {
		return nil, nil, err
	}
	byWord := make(map[string]scheduler.JobID, 2*len(found))
	for _, f := range found {
		byWord[strconv.FormatInt(int64(f.ID), 10)] = f.ID
		if f.Key != nil && !IsID(*f.Key) {
			byWord[*f.Key] = f.ID
		}
	}
	var gone []string
	seen := map[scheduler.JobID]bool{}
	for _, word := range words {
		name := word
		if IsID(word) { // 007 is 7
			name = strings.TrimLeft(word, "0")
		}
		id, ok := byWord[name]
		switch {
		case !ok:
			gone = append(gone, Describe(word))
		case !seen[id]:
			seen[id] = true
			jobs = append(jobs, Named{word, id})
		}
	}
	if gone != nil {
		missing = Failed(ExitNotFound, "not found", "bellhop ls", "there is no %s", strings.Join(gone, ", no "))
	}
	return jobs, missing, nil
}

// FindJob gives the one job that a word names.
func FindJob(ctx context.Context, look view.Look, word string) (scheduler.JobID, error) {
	jobs, missing, err := FindJobs(ctx, look, []string{word})
	if err != nil {
		return 0, err
	}
	if missing != nil {
		return 0, missing
	}
	return jobs[0].ID, nil
}

// ReadJob reads the one job that a word names.
func ReadJob(ctx context.Context, look view.Look, word string) (job view.JobRow, err error) {
	id, err := FindJob(ctx, look, word)
	if err != nil {
		return job, err
	}
	job, ok, err := look.Job(ctx, id)
	if err == nil && !ok { // deleted since we looked
		err = Failed(ExitNotFound, "not found", "bellhop ls", "there is no %s", Describe(word))
	}
	return job, err
}

func IsID(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

func Describe(word string) string {
	if IsID(word) {
		return "job " + word
	}
	return "job with the key " + strconv.Quote(word)
}

func ParseStates(words []string) ([]scheduler.JobState, error) {
	states := make([]scheduler.JobState, 0, len(words))
	for _, w := range words {
		state := scheduler.JobState(w)
		if !state.Valid() {
			var valid []string
			for _, s := range scheduler.JobStates {
				valid = append(valid, string(s))
			}
			return nil, Usage("ls", fmt.Sprintf("there is no state %q; states are %s", w, strings.Join(valid, ", ")), "bellhop ls -s failed")
		}
		states = append(states, state)
	}
	return states, nil
}

// idWords are ids as they are typed.
func idWords(ids []scheduler.JobID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(int64(id), 10)
	}
	return strings.Join(words, " ")
}

// List names jobs, not too many.
func List(ids []scheduler.JobID) string {
	const most = 10
	var words []string
	for _, id := range ids[:min(len(ids), most)] {
		words = append(words, strconv.FormatInt(int64(id), 10))
	}
	if more := len(ids) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
