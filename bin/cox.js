#!/usr/bin/env -S node --max-semi-space-size=64 --use-largepages=silent
// The `cox` command. In a checkout that has not been built yet, it builds first.
// The flags: a cluster that works hard has more than 16 MB in the making, and what is not copied need not be collected. It is a limit: at
// rest nothing is taken. And Node's own code lies in large pages where the system has them: it is more than a processor remembers the
// places of, above all a virtual one.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const bundle = new URL('../dist/cox.js', import.meta.url);
if (existsSync(fileURLToPath(bundle))) {
  await import(bundle.href);
} else {
  process.argv.splice(2, 0, 'cox');
  await import(new URL('../tools/bootstrap.js', import.meta.url).href);
}
