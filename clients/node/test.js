// The package as a user gets it: node test.js. No network is needed.
'use strict'
const assert = require('assert')
const { execFileSync } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { build, types } = require('./build.js')

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bellhop-node-'))
try {
  const first = build(path.join(dir, 'a'))
  const second = build(path.join(dir, 'b'))
  assert.deepStrictEqual(fs.readFileSync(first), fs.readFileSync(second), 'built twice, its bytes differ')

  // As npm install lays it, where npm itself is not needed.
  const home = path.join(dir, 'node_modules', 'bellhop-client')
  fs.mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', first, '-C', home, '--strip-components=1'])
  const said = execFileSync(process.execPath, ['-e', "console.log(Object.keys(require('bellhop-client')).join())"],
    { cwd: dir, encoding: 'utf8' })
  const code = require('../../examples/everyday/bellhop.js')
  assert.strictEqual(said.trim(), Object.keys(code).join())
  assert.deepStrictEqual(fs.readdirSync(home).sort(), ['README.md', 'bellhop.d.ts', 'bellhop.js', 'package.json'])

  for (const name of Object.keys(code)) {
    assert.match(types(code), new RegExp(`^export (function|class|const) ${name}\\b`, 'm'))
  }
  assert.match(types(code), /function work\(connect: Client \| \(\(\) => Client \| Promise<Client>\)/) // it may be either
  let npm = true
  try {
    execFileSync('npm', ['--version'], { stdio: 'ignore' })
  } catch {
    npm = false
    console.log('SKIPPED: npm is not here, so that npm itself does not install the package')
  }
  if (npm) {
    fs.writeFileSync(path.join(dir, 'package.json'), '{"private":true}')
    execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', '--legacy-peer-deps', first], { cwd: dir, stdio: 'pipe' })
    assert.ok(require(path.join(home, 'bellhop.js')).submit)
  }
  console.log('ok: ' + path.basename(first))
} finally {
  fs.rmSync(dir, { recursive: true })
}
