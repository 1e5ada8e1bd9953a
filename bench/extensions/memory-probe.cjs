// Loaded by Node into a server's process (--require, with --expose-gc): on SIGUSR2 collects
// garbage, and writes the remaining memory to a file. See memory.ts.
'use strict';
const { renameSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { isMainThread } = require('node:worker_threads');

if (isMainThread) {
  process.on('SIGUSR2', () => {
    for (let i = 0; i < 3; i++) globalThis.gc();
    const file = join(tmpdir(), `coxswain-memory-${process.pid}.json`);
    const { heapUsed, external, rss } = process.memoryUsage();
    // The rename makes the file appear whole.
    writeFileSync(
      `${file}.new`,
      JSON.stringify({ heapMB: (heapUsed + external) / 1e6, residentMB: rss / 1e6 }),
    );
    renameSync(`${file}.new`, file);
  });
}
