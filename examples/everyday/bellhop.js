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
// With keys (`bellhop key new app.keys`) the database never has args and vars in plain text:
//
//   const keys = new bellhop.Keys('app.keys')
//   await bellhop.submit(client, 'invoice', { order: 42 }, { keys })
//   await bellhop.work(client, handlers, { keys })
//
// All of it is SQL that you may write yourself. Rights are the login's: grant it bellhop_submitter to submit, and
// bellhop_worker to work, with its types in bellhop.worker_type.
'use strict'

const crypto = require('node:crypto')
const fs = require('node:fs')

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

// NoKey: a text is sealed with a key that is not here; its id is in key.
class NoKey extends Error {
  constructor (key) { super(`sealed with key ${key}, which is not here`); this.key = key }
}

const SEALED = /^bellhop:sealed:([A-Za-z0-9._-]{1,64}):([A-Za-z0-9._-]{1,64}):([A-Za-z0-9+/]*={0,2})$/
const drawn = (key, salt, info, length) => Buffer.from(crypto.hkdfSync('sha256', key, salt, info, length))

// Keys are those of a file, as `bellhop key new` makes it: the first one seals, each of them opens. A place is args,
// vars.NAME, item.COLUMN, result or steps.NAME: a text is sealed for a type and a place, and opens there alone.
class Keys {
  #keys = new Map()

  constructor (file) {
    if (file === null) return // none: it opens nothing
    for (const line of fs.readFileSync(file, 'utf8').split('\n').map(line => line.trim())) {
      if (line === '' || line.startsWith('#')) continue
      const [, id, text] = /^([A-Za-z0-9._-]{1,64})\s+([A-Za-z0-9+/]{43}=)$/.exec(line) ?? []
      if (id === undefined || this.#keys.has(id)) throw new Error(`${file}: each line is KEYID BASE64, as bellhop key new writes it, and each id is there once`)
      this.#keys.set(id, Buffer.from(text, 'base64'))
    }
    if (this.#keys.size === 0) throw new Error(`${file}: there is no key; make one: bellhop key new FILE`)
  }

  // seal gives the envelope of a text. Two of one text differ, unless again names the key of a job that may come again.
  seal (type, place, text, again = null) {
    if (text.startsWith('bellhop:sealed:') || text.includes('\0') || (place === 'args' && /[\r\n]/.test(text))) {
      throw new Error(`${place} is sealed already, or has a zero byte or a line break: write that as JSON does (\\n)`)
    }
    if (Buffer.byteLength(text) > 16 << 20) throw new Error(`${place} has more than 16 MiB: put it where the agent can fetch it, and give its place`)
    const [id, key] = this.#keys.entries().next().value
    const salt = again === null
      ? crypto.randomBytes(24)
      : crypto.createHmac('sha256', drawn(key, '', 'bellhop sealed 1 repeat', 32)).update(`${again}\0${type}\0${place}\0${text}`).digest().subarray(0, 24)
    const from = drawn(key, salt, 'bellhop sealed 1', 44)
    const head = `bellhop:sealed:1:${id}`
    const gcm = crypto.createCipheriv('aes-256-gcm', from.subarray(0, 32), from.subarray(32)).setAAD(Buffer.from(`${head}\0${type}\0${place}`))
    return `${head}:${Buffer.concat([salt, gcm.update(text, 'utf8'), gcm.final(), gcm.getAuthTag()]).toString('base64')}`
  }

  // open gives the text of an envelope; any other text is given as it is. NoKey; another error when it cannot be opened.
  open (type, place, text) {
    if (typeof text !== 'string' || !text.startsWith('bellhop:sealed:')) return text
    const [, form, id, base64] = SEALED.exec(text) ?? []
    if (id !== undefined && (form !== '1' || !this.#keys.has(id))) throw new NoKey(id)
    try {
      const body = Buffer.from(base64, 'base64')
      if (body.length < 40 || body.toString('base64') !== base64) throw new Error()
      const from = drawn(this.#keys.get(id), body.subarray(0, 24), 'bellhop sealed 1', 44)
      const gcm = crypto.createDecipheriv('aes-256-gcm', from.subarray(0, 32), from.subarray(32), { authTagLength: 16 })
      gcm.setAAD(Buffer.from(`bellhop:sealed:1:${id}\0${type}\0${place}`)).setAuthTag(body.subarray(-16))
      return Buffer.concat([gcm.update(body.subarray(24, -16)), gcm.final()]).toString()
    } catch { // which of them tells nothing
      throw new Error('it cannot be opened: it was sealed for another type or place, or changed since')
    }
  }

  // sealJob gives args (a text, or what becomes JSON) and vars of a job, sealed but for the vars that plain names.
  sealJob (type, args = null, vars = null, plain = [], again = null) {
    if (args !== null) args = this.seal(type, 'args', typeof args === 'string' ? args : JSON.stringify(args), again)
    const missing = plain.find(name => !Object.hasOwn(vars ?? {}, name))
    if (missing !== undefined) throw new Error(`var ${missing} is to stay plain, and the job has no such var`)
    const sealed = ([name, text]) => [name, plain.includes(name) ? text : this.seal(type, 'vars.' + name, text, again)]
    return { args, vars: vars && Object.fromEntries(Object.entries(vars).map(sealed)) }
  }
}

const NO_KEYS = new Keys(null)

// submit gives the id. args is one line of text, or what becomes JSON. Columns are those of COLUMNS. With keys the
// database has args and vars sealed, but for the vars that plain names.
async function submit (client, type, args = null, columns = {}) {
  const { keys, plain = [], ...rest } = columns
  if (keys) {
    if (rest.msq != null) throw new Error('a query cannot be sealed: it runs in the database; submit it without keys')
    const again = (rest.once ?? 'ever') === 'ever' ? rest.key : null
    const vars = typeof rest.vars === 'string' ? JSON.parse(rest.vars) : rest.vars
    const sealed = keys.sealJob(type, args, vars, plain, again)
    args = sealed.args
    if (sealed.vars) rest.vars = sealed.vars
  } else if (plain.length) throw new Error('plain names vars that stay plain, and there are no keys')
  if (args !== null && typeof args !== 'string') args = JSON.stringify(args)
  const given = { type, args, ...rest }
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
  constructor (client, row, lease, keys) {
    Object.assign(this, row, { client, lease, keys, ended: false, renewed: Date.now(), stop: new AbortController() })
    this.signal = this.stop.signal
    this.steps ??= {}
    this.calls = {}
  }

  _open () {
    const keys = this.keys ?? NO_KEYS
    for (const [name, text] of Object.entries(this.vars ?? {})) this.vars[name] = keys.open(this.type, 'vars.' + name, text)
    this.args = keys.open(this.type, 'args', this.args)
    try { this.args = JSON.parse(this.args) } catch { /* a line of text */ }
  }

  // finish: the job has succeeded, if the transaction commits.
  async finish (result = null) {
    await this.client.query('select bellhop.finish($1, $2, $3)', [this.id, this.fence, result === null ? null : JSON.stringify(result)])
    this.ended = true
  }

  // fail: the attempt has failed: again after so many seconds, or as the type says; below 0: never again.
  async fail (error, retry = null) {
    const text = String(error).slice(0, 9000).replaceAll('\0', '\uFFFD') // a text of PostgreSQL's has no zero byte
    await this.client.query('select bellhop.fail($1, $2, $3, make_interval(secs => $4))', [this.id, this.fence, text, retry])
    this.ended = true
  }

  // step: what make gives, as JSON: once. Later runs get it from the first; its rows and the step are one transaction.
  async step (name, make) {
    if (!(name in this.steps)) {
      await this.client.query('begin')
      try {
        const said = JSON.stringify(await make() ?? null)
        await this.client.query('select bellhop.save_step($1, $2, $3, $4)', [this.id, this.fence, name, said])
        await this.client.query('commit')
        this.steps[name] = JSON.parse(said)
      } catch (e) { // which the handler may catch: what it does then is not in this transaction
        await this.client.query('rollback').catch(() => {}) // the connection is lost, and the transaction with it
        throw e
      }
    }
    return this.steps[name]
  }

  // sleep: this run ends, and the next one goes on from here after so many seconds.
  async sleep (seconds) {
    if (`sleep.${this.call('sleep')}` in this.steps) return
    await this.client.query('select bellhop.sleep($1, $2, make_interval(secs => $3))', [this.id, this.fence, seconds])
    throw new Rest()
  }

  // children: makes jobs, such as {type: 'resize', args: '1.jpg'}; how each has ended, in a later run. A worker with keys
  // seals their args and vars, but for the vars that the job's plain names.
  async children (...jobs) {
    if (jobs.length === 0) return []
    if (this.keys) {
      jobs = jobs.map(({ plain, ...job }) => {
        const { args, vars } = this.keys.sealJob(job.type, job.args, job.vars, plain)
        return { ...job, ...(args !== null && { args }), ...(vars && { vars }) }
      })
    }
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
// connections of its own, to where the client leads; connect may also be a function that makes a Client, which is not
// connected yet. keys open what is sealed; a job whose key is not there waits, and no attempt is counted.
async function work (connect, handlers, { concurrency = 1, lease = 60, stop, keys } = {}) {
  if (typeof connect !== 'function') {
    const { user, password, host, port, database, ssl, constructor: Client } = connect
    connect = () => new Client({ user, password, host, port, database, ssl })
  }
  const own = new AbortController()
  const signals = stop ? [] : ['SIGTERM', 'SIGINT'] // a stop of the caller's is the caller's to abort
  const abort = () => own.abort()
  for (const s of signals) process.once(s, abort)
  stop ??= own.signal
  const runs = new Set()
  const pauses = new Set()
  const endPauses = () => pauses.forEach(end => end())
  stop.addEventListener('abort', endPauses)
  const pause = client => { // of a second; a ring ends it, and end: then nothing of it is left
    let end
    const ended = new Promise(resolve => {
      end = () => { clearTimeout(timer); pauses.delete(end); client?.off('notification', end); resolve() }
      const timer = setTimeout(end, 1000)
      pauses.add(end)
      client?.once('notification', end)
    })
    return { ended, end }
  }
  const session = async (body, on = () => !stop.aborted) => {
    while (on()) {
      let client
      try {
        client = await connect()
        client.on('error', () => {}) // the query that waits tells
        await client.connect()
        await body(client)
        await client.end()
      } catch (e) { // the server is away, or refuses: the lease ends, and the job is done again
        console.error('bellhop:', e?.message ?? e)
        client?.end().catch(() => {}) // some versions of pg never tell the end of a connection that was lost
        await pause().ended
      }
    }
  }
  const run = async (job, state) => {
    runs.add(job)
    try {
      job._open()
      await handlers[job.type](job)
      if (state() !== 'I') throw new Error('the handler has left a transaction open') // all that follows would be in it
      if (!job.ended) await job.finish()
    } catch (e) {
      await job.client.query('rollback')
      if (e instanceof Rest) return
      const told = e instanceof NoKey
        ? job.client.query('select bellhop.lacks_key($1, $2, $3)', [job.id, job.fence, e.key])
        : job.fail(e?.stack ?? e) // a handler may throw anything, and undefined
      await told.catch(e => { if (e.code !== 'BH004') throw e }) // another run has it by now
    } finally {
      runs.delete(job)
    }
  }
  let working = true
  const renewer = session(async client => {
    await client.query("set lock_timeout = '1 s'") // a handler that has locked its job's row delays no other
    while (working) {
      let failed
      for (const job of runs) {
        const now = Date.now()
        if (job.renewed + lease * 333 > now) continue
        try {
          await job.renew(client)
          job.renewed = now
        } catch (e) {
          if (e.code === 'BH004') job.stop.abort() // another run has it by now
          else if (e.code !== '55P03') failed = e
        }
      }
      if (failed) throw failed // a new connection tries again, when the others have been renewed
      await new Promise(resolve => setTimeout(resolve, Math.min(lease / 3, 1) * 1000))
    }
  }, () => working)
  await Promise.all(Array.from({ length: concurrency }, () => session(async client => {
    let state = 'I' // no transaction, as PostgreSQL says after each query
    client.connection?.on('readyForQuery', ready => { state = ready.status })
    await client.query('listen bellhop_work')
    while (!stop.aborted) {
      const rung = pause(client) // from before the look, so that no ring is missed
      try {
        const { rows } = await client.query('select id, fence, attempt, type, args, key, vars, deadline, steps from bellhop.take($1, 1, make_interval(secs => $2))', [Object.keys(handlers), lease])
        if (rows.length === 0) await rung.ended // until it rings, or for a second
        else {
          rung.end()
          await run(new Run(client, rows[0], lease, keys), () => state)
        }
      } finally {
        rung.end()
      }
    }
  })))
  working = false
  await renewer
  stop.removeEventListener('abort', endPauses)
  for (const s of signals) process.off(s, abort)
}

module.exports = { COLUMNS, submit, look, watch, wait, cancel, retry, retryAll, cancelAll, work, Run, NotFound, Keys, NoKey }
