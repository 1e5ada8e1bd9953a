// Loaded by Node into every thread of a server's process (--require, with --expose-gc): on SIGUSR2
// each thread collects its garbage and reports its remaining heap to the main thread, which writes
// all reports to a file. See heap.ts.
/* oxlint-disable unicorn/require-post-message-target-origin -- threads have no origin */
'use strict';
const { renameSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { BroadcastChannel, isMainThread, threadId } = require('node:worker_threads');

/** A collection of ten gigabytes takes a minute. */
const TIMEOUT_MS = 240_000;
const channel = new BroadcastChannel('coxswain-heap-probe');
channel.unref();

function remaining() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return { heapMB: heapUsed / 1e6, externalMB: external / 1e6 };
}

if (isMainThread) {
  const workers = new Set();
  let reports = new Map();
  let finish = () => undefined;
  channel.addEventListener('message', ({ data }) => {
    if (data.kind === 'begun') workers.add(data.threadId);
    if (data.kind !== 'report') return;
    reports.set(data.threadId, data.memory);
    if ([...workers].every((id) => reports.has(id))) finish();
  });
  process.on('SIGUSR2', () => {
    reports = new Map();
    const main = remaining();
    let timer;
    finish = () => {
      clearTimeout(timer);
      finish = () => undefined;
      const file = join(tmpdir(), `coxswain-heaps-${process.pid}.json`);
      const threads = [...reports.values()];
      writeFileSync(
        `${file}.new`,
        JSON.stringify({ main, threads, residentMB: process.memoryUsage.rss() / 1e6 }),
      );
      // The rename makes the file appear whole.
      renameSync(`${file}.new`, file);
    };
    // A thread that has ended does not report.
    timer = setTimeout(() => finish(), TIMEOUT_MS);
    if (workers.size === 0) finish();
    else channel.postMessage({ kind: 'measure' });
  });
} else {
  channel.addEventListener('message', ({ data }) => {
    if (data.kind === 'measure')
      channel.postMessage({ kind: 'report', threadId, memory: remaining() });
  });
  channel.postMessage({ kind: 'begun', threadId });
}
