// `npm run torture`: proves that the store keeps its promises. `-- --short` for the short form, `-- --seed TEXT` for other
// histories, `-- NAME…` for the parts whose names contain one of these. Ends with one line that sums it up, and status 1 if
// anything is wrong.

import { parseArgs } from 'node:util';
import { systemClock } from '../../src/machinery/clock.ts';
import { PARTS } from './suite.ts';

const { values: options, positionals } = parseArgs({
  options: { short: { type: 'boolean', default: false }, seed: { type: 'string', default: 'torture' } },
  allowPositionals: true,
});

const chosen = PARTS.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (chosen.length === 0) {
  console.error(`no part is called that; there are: ${PARTS.map(({ name }) => name).join(', ')}`);
  process.exit(1);
}
let held = 0;
let skipped = 0;
let failed = 0;
for (const part of chosen) {
  const missing = part.missing?.();
  if (missing !== undefined) {
    skipped++;
    console.log(`skipped  ${part.name}: ${missing}`);
    continue;
  }
  const began = systemClock.monotonic();
  const { summary, problems } = await part.run(options);
  const seconds = ((systemClock.monotonic() - began) / 1000).toFixed(1);
  console.log(`${problems.length === 0 ? 'holds  ' : 'FAILED '}  ${part.name}: ${summary} (${seconds} s)`);
  for (const problem of problems) console.log(`           ${problem}`);
  if (problems.length === 0) held++;
  else failed++;
}
console.log(
  `\ntorture: ${held} held, ${failed} failed, ${skipped} skipped (seed ${options.seed}${options.short ? ', short form' : ''})`,
);
process.exit(failed === 0 ? 0 : 1);
