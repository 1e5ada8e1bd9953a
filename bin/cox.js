#!/usr/bin/env -S node --max-semi-space-size=64 --use-largepages=silent
// The `cox` command. In a checkout it first builds what is missing or older than the sources, as `npm run up` does. COXSWAIN_BUILT=1
// runs what was built last: tests set it, so that an edit during a run does not change the program under test.
// The flags: a cluster that works hard has more than 16 MB in the making, and what is not copied need not be collected. It is a limit: at
// rest nothing is taken. And Node's own code lies in large pages where the system has them: it is more than a processor remembers the
// places of, above all a virtual one.
// This file is CommonJS (package.json beside it): loading an ES module starts libuv's thread pool, whose size is then fixed.
'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

// Files, DNS lookups, compression and the signatures of tokens share libuv's pool. Half of it may be held by files and names that
// pods control (src/machinery/files/thread-pool.ts): of libuv's four threads that would leave two. A thread that waits costs
// its stack, some tens of kilobytes.
process.env.UV_THREADPOOL_SIZE ??= '16';

const bundle = join(__dirname, '..', 'dist', 'cox.js');
// An installed package has no tools/.
const bootstrap = join(__dirname, '..', 'tools', 'bootstrap.js');
const isCurrent = process.env.COXSWAIN_BUILT === '1' && existsSync(bundle);
if (isCurrent || !existsSync(bootstrap)) {
  void import(pathToFileURL(bundle).href);
} else {
  process.argv.splice(2, 0, 'cox');
  void import(pathToFileURL(bootstrap).href);
}
