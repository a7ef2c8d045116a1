package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTime is what all threads of a process have used so far.
func cpuTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no /proc/%d/task/*/schedstat: %w", pid, os.ErrNotExist)
	}
	var total time.Duration
	for _, name := range files {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // a thread that has just ended
		}
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ns)
	}
	return total, nil
}

// memory gives a line of /proc/PID/file in MB: VmRSS or VmHWM of status, Pss of
// smaps_rollup.
func memory(pid int, file, key string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/%d/%s", key, pid, file)
}

// threadsOf counts the threads of a process.
func threadsOf(pid int) (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return len(list), err
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var list []int
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		stat := string(text)
		rest := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		if len(rest) < 2 || rest[1] != strconv.Itoa(pid) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, nil
}

// machine describes where this runs.
func machine() string {
	model, kernel := "unknown processor", ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				model = strings.TrimSpace(v)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = ", Linux " + strings.TrimSpace(string(text))
	}
	return model + kernel
}
