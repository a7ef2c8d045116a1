package main

import (
	"context"
	"strconv"
	"strings"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// named is a job as it was named on the command line.
type named struct {
	word string
	id   scheduler.JobID
}

// findJobs gives the jobs that words name, in the words' order, each once. A
// word of digits is an id, any other a key. What does not exist is in missing.
func findJobs(ctx context.Context, look store.Look, words []string) (jobs []named, missing error, err error) {
	var ids []scheduler.JobID
	var keys []string
	for _, word := range words {
		if !isID(word) {
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
		if f.Key != nil && !isID(*f.Key) {
			byWord[*f.Key] = f.ID
		}
	}
	var gone []string
	seen := map[scheduler.JobID]bool{}
	for _, word := range words {
		name := word
		if isID(word) { // 007 is 7
			name = strings.TrimLeft(word, "0")
		}
		id, ok := byWord[name]
		switch {
		case !ok:
			gone = append(gone, describe(word))
		case !seen[id]:
			seen[id] = true
			jobs = append(jobs, named{word, id})
		}
	}
	if gone != nil {
		missing = failed(exitNotFound, "not found", "bellhop ls", "there is no %s", strings.Join(gone, ", no "))
	}
	return jobs, missing, nil
}

// findJob gives the one job that a word names.
func findJob(ctx context.Context, look store.Look, word string) (scheduler.JobID, error) {
	jobs, missing, err := findJobs(ctx, look, []string{word})
	if err != nil {
		return 0, err
	}
	if missing != nil {
		return 0, missing
	}
	return jobs[0].id, nil
}

func isID(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

func describe(word string) string {
	if isID(word) {
		return "job " + word
	}
	return "job with the key " + strconv.Quote(word)
}
