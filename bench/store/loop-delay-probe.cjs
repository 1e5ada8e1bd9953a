// Loaded by Node into a server's process (--require): measures the delay of its event loop, and on
// SIGUSR2 writes the figures since the last signal to a file. See loop-delay.ts.
'use strict';
const { renameSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { isMainThread } = require('node:worker_threads');

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  process.on('SIGUSR2', () => {
    const file = join(tmpdir(), `coxswain-loop-delay-${process.pid}.json`);
    const [p50Ms, p99Ms, maxMs] = [delay.percentile(50), delay.percentile(99), delay.max].map(
      (ns) => ns / 1e6,
    );
    delay.reset();
    // The rename makes the file appear whole.
    writeFileSync(`${file}.new`, JSON.stringify({ p50Ms, p99Ms, maxMs }));
    renameSync(`${file}.new`, file);
  });
}
