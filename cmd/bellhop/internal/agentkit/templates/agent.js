#!/usr/bin/env node
// An agent for Node, in bellhop's json dialect. It needs nothing but Node 18.
//
//     bellhop agent check ./agent.js               # keeps it to the protocol? No database is needed
//     bellhop agent try ./agent.js 'some words'    # one line, and all that is said
//
// In bellhop.yaml:
//
//     agents:
//       - {type: TYPE, command: [./agent.js]}
//
// The part to change is work(). What is below it is the protocol.
'use strict'
const fs = require('node:fs')
const readline = require('node:readline')
const timers = require('node:timers/promises')

// work does one job. What it returns is the job's result; undefined is none.
async function work (job) {
  const words = job.text().split(/\s+/).filter(Boolean)
  for (const [n, word] of words.entries()) {
    if (word === 'later') throw new Snooze('10m') // not now: again in ten minutes, and that is no attempt
    if (word === 'bad') throw new Fail('bad input', { retry: false }) // another try gives the same; '10m': not sooner
    if (word === 'slow') await timers.setTimeout(30000, null, { signal: job.signal }) // throws when the job is cancelled
    job.log(`word ${n + 1}: ${word}`) // kept with the job: bellhop logs ID
    job.progress((n + 1) / words.length, word) // bellhop ls, show, top
  }
  return { words: words.length } // bellhop wait ID; select result from bellhop.wait(ID)
}

// Fail fails the attempt; the process goes on. So does any other error.
class Fail extends Error {
  constructor (reason, { exitCode = 1, retry } = {}) {
    super(reason)
    Object.assign(this, { exitCode, retry })
  }
}

// Snooze puts the job off: '90s', '10m', '1h30m', or a number of seconds.
class Snooze extends Error {
  constructor (time) {
    super(`not now: again in ${time}`)
    this.time = time
  }
}

const stopping = new AbortController()

class Job {
  constructor ({ id, attempt, fence, args = null, item = null, vars = {}, key = null, traceparent = null }) {
    Object.assign(this, { id, attempt, fence }) // of the job's row; the try this is, from 1; grows with each claim
    Object.assign(this, { args, item }) // the one line, or the columns of an item of a query, all strings
    Object.assign(this, { vars, key })
    this.traceparent = traceparent // the W3C trace context of this run
    this.signal = stopping.signal // aborted when the job is to stop; soon after, the process is killed
  }

  text () { return this.item ? Object.values(this.item).join(' ') : this.args ?? '' }
  log (text, level = 'info') { say({ log: text, level }) } // or debug, or error
  progress (done, text = '') { // from 0 to 1; written once a second at the most
    this.signal.throwIfAborted() // in long work, ask this signal now and then
    say({ progress: { done, text } })
  }
}

// say writes one message, at once: what is buffered when the process ends would be lost.
function say (message) {
  const line = Buffer.from(JSON.stringify(message) + '\n')
  for (let at = 0; at < line.length;) {
    try {
      at += fs.writeSync(1, line, at)
    } catch (err) {
      if (err.code !== 'EAGAIN') throw err // a full pipe, which node has made non-blocking: it is read soon
    }
  }
}

async function answer (job) {
  // What the job starts finds its trace. With OpenTelemetry in this process,
  // propagation.extract(context.active(), { traceparent: job.traceparent }) is the parent of your spans.
  if (job.traceparent) process.env.TRACEPARENT = job.traceparent
  else delete process.env.TRACEPARENT
  try {
    const result = await work(job)
    if (result !== undefined) say({ result })
    say({ ok: true })
  } catch (err) {
    if (err instanceof Snooze) say({ snooze: err.time })
    else if (err instanceof Fail) say({ fail: err.message || 'failed', exit_code: err.exitCode, retry: err.retry })
    else if (stopping.signal.aborted) job.log('stopped')
    else { // it fails this job, and no other
      job.log(err?.stack ?? String(err), 'error')
      say({ fail: String(err), exit_code: 1 })
    }
  }
}

// console.log would write into the protocol: what is printed is kept with the job.
console.log = console.info = console.error

let busy = Promise.resolve()
function stop () {
  stopping.abort()
  busy.then(() => process.exit(0))
}
for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT']) process.on(signal, stop)
say({ bellhop: 1, type: 'TYPE' })
readline.createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on('line', line => { busy = busy.then(() => answer(new Job(JSON.parse(line)))) })
  .on('close', stop) // the end of stdin, also while a job runs, means stop
