#!/usr/bin/env node
// The `cox` command. In a checkout that has not been built yet, it builds first.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const bundle = new URL('../dist/cox.js', import.meta.url);
if (existsSync(fileURLToPath(bundle))) {
  await import(bundle.href);
} else {
  process.argv.splice(2, 0, 'cox');
  await import(new URL('../tools/bootstrap.js', import.meta.url).href);
}
