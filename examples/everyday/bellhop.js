// bellhop for apps in Node: put this file beside yours. It needs pg (npm install pg; Debian: node-pg).
//
//   const bellhop = require('./bellhop')
//   await client.query('begin')                // the job exists if, and only if, this commits
//   await client.query('insert into orders …')
//   const id = await bellhop.submit(client, 'invoice', { order: 42 }, { key: 'invoice.42' })
//   await client.query('commit')
//   const job = await bellhop.wait(client, id, 60)
//   console.log(job.state, job.result)
//
// A worker does jobs, without an agent or an instance of bellhop:
//
//   await bellhop.work(client, {
//     async invoice (job) {                    // job.args, job.vars, job.attempt, job.signal, job.client
//       await job.client.query('begin')        // the rows and the outcome: both, or neither
//       await job.client.query('insert into invoices …')
//       await job.finish({ pages: 2 })
//       await job.client.query('commit')
//     }
//   }, { concurrency: 4 })                     // until SIGTERM
//
// All of it is SQL that you may write yourself. Rights are the login's: grant it bellhop_submitter to submit, and
// bellhop_worker to work, with its types in bellhop.worker_type.
'use strict'

// COLUMNS are what a job may be given: the arguments of bellhop.submit, and their types.
const COLUMNS = {
  type: 'text', args: 'text', msq: 'text', repeat: 'text', run_on: 'text', key: 'text', share: 'text',
  priority: 'integer', priority_name: 'text', run_at: 'timestamptz', held: 'boolean', vars: 'jsonb',
  locks: 'text[]', reasons: 'text[]', max_attempts: 'integer', timeout: 'interval', on_failure: 'text',
  traceparent: 'text', after: 'bigint[]', after_keys: 'text[]', wanted: 'text[]', once: 'text', per: 'interval',
  replace: 'boolean', not_after: 'timestamptz', batch: 'bigint'
}
const FINAL = ['succeeded', 'failed', 'cancelled', 'quarantined']

class NotFound extends Error {}

// submit gives the id. args is one line of text, or what becomes JSON. Columns are those of COLUMNS.
async function submit (client, type, args = null, columns = {}) {
  if (args !== null && typeof args !== 'string') args = JSON.stringify(args)
  const given = { type, args, ...columns }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(COLUMNS, name)) throw new Error(`a job has no column ${name}; it has ${Object.keys(COLUMNS).join(', ')}`)
  }
  if (given.vars && typeof given.vars !== 'string') given.vars = JSON.stringify(given.vars)
  const call = Object.keys(given).map((name, n) => `${name} => $${n + 1}::${COLUMNS[name]}`).join(', ')
  const { rows } = await client.query(`select bellhop.submit(${call}) as id`, Object.values(given))
  return rows[0].id // a text: ids may be larger than a number of JavaScript's holds exactly
}

async function look (client, id) {
  const { rows } = await client.query(`select id, state, progress, progress_text, result, exit_code, error, waiting_for
    from bellhop.job where id = $1`, [id])
  if (!rows.length) throw new NotFound(`there is no job ${id}, or none that this login may see`)
  return rows[0]
}

// watch yields the job whenever something has changed, until it is over, or for so many seconds. Not in a transaction.
async function * watch (client, id, timeout = Infinity) {
  const until = Date.now() + timeout * 1000
  for (let last; ;) {
    const job = await look(client, id)
    const now = JSON.stringify(job)
    if (now !== last) yield job
    last = now
    const left = Math.min(1, (until - Date.now()) / 1000)
    if (FINAL.includes(job.state) || left <= 0) return
    await client.query('select bellhop.wait($1, make_interval(secs => $2))', [id, left]) // comes back when it is over
  }
}

// wait waits until the job is over, or for so many seconds: its state tells.
async function wait (client, id, timeout) {
  let last
  for await (const job of watch(client, id, timeout)) last = job
  return last
}

// cancel gives the state that the job has now: one that runs is cancelled when its processes are gone.
async function cancel (client, id, now = false) {
  return (await client.query('select bellhop.cancel($1, $2) as state', [id, now])).rows[0].state
}

async function retry (client, id) {
  return (await client.query('select bellhop.retry($1) as state', [id])).rows[0].state
}

// retryAll retries all that this login may, a thousand a transaction, and gives how many.
function retryAll (client, { type = null, states = ['failed', 'quarantined'] } = {}) {
  return sweep(client, 'retry', type, states)
}

function cancelAll (client, { type = null, states = ['held', 'blocked', 'scheduled', 'ready', 'assigned', 'running'] } = {}) {
  return sweep(client, 'cancel', type, states)
}

async function sweep (client, order, type, states) {
  for (let behind = 0, count = 0; ;) {
    const { rows } = await client.query(`select id, bellhop.${order}(id) from (select id from bellhop.job j
      where id > $1 and state = any ($2) and ($3::text is null or type = $3) and bellhop.may_change(submitted_by)
      order by id limit 1000) j`, [behind, states, type])
    if (!rows.length) return count
    behind = rows.reduce((most, row) => BigInt(row.id) > most ? BigInt(row.id) : most, 0n).toString()
    count += rows.length
  }
}

// Run is a job that this worker has, for its handler. signal aborts when the job is to stop, or is lost.
class Run {
  constructor (client, row, lease) {
    Object.assign(this, row, { client, lease, ended: false, stop: new AbortController() })
    this.signal = this.stop.signal
    this.steps ??= {}
    this.calls = {}
    try { this.args = JSON.parse(row.args) } catch { /* a line of text */ }
  }

  // finish: the job has succeeded, if the transaction commits.
  async finish (result = null) {
    await this.client.query('select bellhop.finish($1, $2, $3)', [this.id, this.fence, result === null ? null : JSON.stringify(result)])
    this.ended = true
  }

  // fail: the attempt has failed: again after so many seconds, or as the type says; below 0: never again.
  async fail (error, retry = null) {
    await this.client.query('select bellhop.fail($1, $2, $3, make_interval(secs => $4))', [this.id, this.fence, String(error).slice(0, 9000), retry])
    this.ended = true
  }

  // step: what make gives, as JSON: once. Later runs get it from the first; its rows and the step are one transaction.
  async step (name, make) {
    if (!(name in this.steps)) {
      await this.client.query('begin')
      const said = JSON.stringify(await make() ?? null)
      await this.client.query('select bellhop.save_step($1, $2, $3, $4)', [this.id, this.fence, name, said])
      await this.client.query('commit')
      this.steps[name] = JSON.parse(said)
    }
    return this.steps[name]
  }

  // sleep: this run ends, and the next one goes on from here after so many seconds.
  async sleep (seconds) {
    if (`sleep.${this.call('sleep')}` in this.steps) return
    await this.client.query('select bellhop.sleep($1, $2, make_interval(secs => $3))', [this.id, this.fence, seconds])
    throw new Rest()
  }

  // children: makes jobs, such as {type: 'resize', args: '1.jpg'}; how each has ended, in a later run.
  async children (...jobs) {
    if (jobs.length === 0) return []
    const name = `children.${this.call('children')}`
    if (name in this.steps) return this.steps[name]
    await this.client.query('select bellhop.children($1, $2, $3)', [this.id, this.fence, JSON.stringify(jobs)])
    throw new Rest()
  }

  // waitFor: the event's payload, perhaps in a later run; an error with the code TIMEDOUT when it has not come in so many seconds.
  async waitFor (event, timeout = null) {
    const name = 'event.' + event
    const n = this.call(event)
    if (!('payload' in (this.steps[name] ?? {}))) {
      if (this.steps[name]?.timed_out >= n) throw Object.assign(new Error(`event ${event} has not come`), { code: 'TIMEDOUT' })
      const { rows } = await this.client.query('select * from bellhop.await_event($1, $2, $3, make_interval(secs => $4))', [this.id, this.fence, event, timeout])
      if (!rows[0].came) throw new Rest()
      this.steps[name] = { payload: rows[0].payload }
    }
    return this.steps[name].payload
  }

  call (of) { return (this.calls[of] = (this.calls[of] ?? 0) + 1) }

  async renew (client = this.client, progress = null, text = null) {
    const { rows } = await client.query('select cancel from bellhop.renew($1, $2, make_interval(secs => $3), $4, $5)', [this.id, this.fence, this.lease, progress, text])
    if (rows[0].cancel) this.stop.abort()
  }
}

// Rest ends a handler whose job sleeps, or awaits an event: the next run goes on from there.
class Rest extends Error {}

// work does jobs of these types until stop (without one: SIGTERM or SIGINT) aborts, then ends those that run. It makes
// connections of its own, to where the client leads; connect may also be a function that makes a Client.
async function work (connect, handlers, { concurrency = 1, lease = 60, stop } = {}) {
  if (typeof connect !== 'function') {
    const { user, password, host, port, database, ssl, constructor: Client } = connect
    connect = () => new Client({ user, password, host, port, database, ssl })
  }
  const own = new AbortController()
  stop ??= own.signal
  for (const s of ['SIGTERM', 'SIGINT']) process.once(s, () => own.abort())
  const runs = new Set()
  const pause = (client, seconds) => new Promise(resolve => {
    const end = () => { clearTimeout(timer); stop.removeEventListener('abort', end); client?.off('notification', end); resolve() }
    const timer = setTimeout(end, seconds * 1000)
    stop.addEventListener('abort', end)
    client?.once('notification', end)
  })
  const session = async (body, on = () => !stop.aborted) => {
    while (on()) {
      const client = connect()
      client.on('error', () => {}) // the query that waits tells
      try {
        await client.connect()
        await body(client)
      } catch (e) { // the server is away: the lease ends, and the job is done again
        console.error('bellhop:', e.message)
        await pause(null, 1)
      } finally {
        await client.end().catch(() => {})
      }
    }
  }
  const run = async job => {
    runs.add(job)
    try {
      await handlers[job.type](job)
      if (!job.ended) await job.finish()
    } catch (e) {
      await job.client.query('rollback')
      if (e instanceof Rest) return
      if (e.code !== 'BH004') await job.fail(e.stack ?? e).catch(e => { if (e.code !== 'BH004') throw e })
    } finally {
      runs.delete(job)
    }
  }
  let working = true
  const renewer = session(async client => {
    while (working) {
      await new Promise(resolve => setTimeout(resolve, Math.min(lease / 3, 1) * 1000))
      for (const job of runs) {
        if ((job.renewed ??= Date.now()) + lease * 333 > Date.now()) continue
        job.renewed = Date.now()
        await job.renew(client).catch(e => { if (e.code !== 'BH004') throw e; job.stop.abort() })
      }
    }
  }, () => working)
  await Promise.all(Array.from({ length: concurrency }, () => session(async client => {
    await client.query('listen bellhop_work')
    while (!stop.aborted) {
      const rung = pause(client, 1) // from before the look, so that no ring is missed
      const { rows } = await client.query('select id, fence, attempt, type, args, key, vars, deadline, steps from bellhop.take($1, 1, make_interval(secs => $2))', [Object.keys(handlers), lease])
      if (rows.length) await run(new Run(client, rows[0], lease))
      else await rung // until it rings, or for a second
    }
  })))
  working = false
  await renewer
}

module.exports = { COLUMNS, submit, look, watch, wait, cancel, retry, retryAll, cancelAll, work, Run, NotFound }
