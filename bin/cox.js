#!/usr/bin/env -S node --max-semi-space-size=64
// The `cox` command. In a checkout that has not been built yet, it builds first.
// The flag: a cluster that works hard has more than 16 MB in the making, and what is not copied need not be collected. It is a limit: at
// rest nothing is taken.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const bundle = new URL('../dist/cox.js', import.meta.url);
if (existsSync(fileURLToPath(bundle))) {
  await import(bundle.href);
} else {
  process.argv.splice(2, 0, 'cox');
  await import(new URL('../tools/bootstrap.js', import.meta.url).href);
}
