// Builds bellhop's package for Node: node build.js DIR writes bellhop-client-VERSION.tgz, as npm pack would.
//
// The code is examples/everyday/bellhop.js, the file that an app may also just copy. Types are made from it: what a
// name means is in MEANS, a parameter of another name is any. Built twice, the package has the same bytes.
// BELLHOP_VERSION is the version, as `bellhop version` prints it.
'use strict'
const fs = require('fs')
const path = require('path')
const zlib = require('zlib')

const SOURCE = path.join(__dirname, '..', '..', 'examples', 'everyday', 'bellhop.js')
const MEANS = {
  client: 'Client', connect: 'Client | (() => Client | Promise<Client>)', id: 'number | string', type: 'string', args: 'any',
  columns: 'Columns', timeout: 'number', now: 'boolean', handlers: 'Record<string, (job: Run) => any>'
}
const GIVES = {
  submit: 'Promise<any>', look: 'Promise<Job>', watch: 'AsyncGenerator<Job>', wait: 'Promise<Job>',
  retryAll: 'Promise<number>', cancelAll: 'Promise<number>', work: 'Promise<void>'
}
const HEAD = `/** A client of pg, or anything that queries like one. */
export interface Client { query(text: any, values?: any[]): Promise<any>; [name: string]: any }
export interface Job {
  id: any; state: string; progress: number | null; progress_text: string | null; result: any
  exit_code: number | null; error: string | null; waiting_for: string | null
}
`

// parameters are those of a function, one by one: an object's braces hold commas too.
function parameters (f) {
  const text = f.toString()
  let depth = 0
  let word = ''
  const list = []
  for (const c of text.slice(text.indexOf('(') + 1)) {
    if (c === ')' && depth === 0) break
    if ('({['.includes(c)) depth++
    if (')}]'.includes(c)) depth--
    if (c === ',' && depth === 0) {
      list.push(word)
      word = ''
    } else word += c
  }
  return list.concat(word).map(p => p.trim()).filter(p => p)
}

function typed (p) {
  if (p.startsWith('{')) return 'options?: { [name: string]: any }'
  if (p.startsWith('...')) return p + ': any[]'
  const [name, value] = p.split('=').map(s => s.trim())
  return `${name}${value === undefined && name !== 'timeout' ? '' : '?'}: ${MEANS[name] || 'any'}`
}

function types (code) {
  const out = [HEAD, `export interface Columns { ${Object.keys(code.COLUMNS).map(c => c + '?: any').join('; ')}; keys?: Keys; plain?: string[] }`]
  for (const [name, value] of Object.entries(code)) {
    if (typeof value !== 'function') out.push(`export const ${name}: any`)
    else if (value.toString().startsWith('class')) {
      const above = /^class \w+ extends Error/.test(value.toString()) ? ' extends Error' : ''
      const own = Object.getOwnPropertyNames(value.prototype).filter(m => m !== 'constructor' && !m.startsWith('_'))
      const methods = own.map(m => {
        const get = Object.getOwnPropertyDescriptor(value.prototype, m).get
        return get ? `  readonly ${m}: any` : `  ${m}(...given: any[]): any`
      })
      out.push(`export class ${name}${above} {\n${methods.concat(above ? [] : ['  [name: string]: any']).join('\n')}\n}`)
    } else {
      const gives = GIVES[name] || 'Promise<any>'
      out.push(`export function ${name}(${parameters(value).map(typed).join(', ')}): ${gives}`)
    }
  }
  return out.join('\n') + '\n'
}

// tar is an archive of ustar: names and texts, all of one time.
function tar (files) {
  const blocks = []
  for (const [name, text] of files) {
    const body = Buffer.from(text)
    const head = Buffer.alloc(512)
    const put = (at, s) => head.write(s, at, 'latin1')
    put(0, 'package/' + name)
    put(100, '0000644\0')
    put(108, '0000000\0')
    put(116, '0000000\0')
    put(124, body.length.toString(8).padStart(11, '0') + '\0')
    put(136, '00000000000\0')
    put(148, '        ')
    put(156, '0')
    put(257, 'ustar\x0000')
    put(148, head.reduce((sum, b) => sum + b, 0).toString(8).padStart(6, '0') + '\0 ')
    blocks.push(head, body, Buffer.alloc((512 - body.length % 512) % 512))
  }
  return Buffer.concat(blocks.concat(Buffer.alloc(1024)))
}

function build (dir) {
  const about = JSON.parse(fs.readFileSync(path.join(__dirname, 'package.json')))
  about.version = (process.env.BELLHOP_VERSION || '0.1.0-dev').replace(/^v/, '')
  fs.mkdirSync(dir, { recursive: true })
  const file = path.join(dir, `${about.name}-${about.version}.tgz`)
  fs.writeFileSync(file, zlib.gzipSync(tar([
    ['package.json', JSON.stringify(about, null, 2) + '\n'],
    ['README.md', fs.readFileSync(path.join(__dirname, 'README.md'))],
    ['bellhop.js', fs.readFileSync(SOURCE)],
    ['bellhop.d.ts', types(require(SOURCE))]
  ])))
  return file
}

module.exports = { build, types }
if (require.main === module) {
  if (process.argv.length !== 3) {
    console.error('usage: node build.js DIR')
    process.exit(2)
  }
  console.log(path.basename(build(process.argv[2])))
}
