// `npm run torture`: tests the guarantees of the store. `-- --short` for the short form, `-- --seed
// TEXT` for other histories, `-- NAME…` for the parts whose names contain one of these. Ends with
// one line as the summary, and status 1 if anything is wrong.

import { Command } from 'commander';
import { systemClock } from '#machinery/clock.ts';
import { PARTS } from './suite.ts';

const program = new Command('npm run torture --')
  .description(
    'Proves that the store keeps its promises. Ends with one line that sums it up, and status 1 if anything is wrong.',
  )
  .argument('[parts...]', 'words: only the parts with one of them in their names')
  .option('--short', 'the short form, about a minute', false)
  .option('--seed <text>', 'other histories', 'torture')
  .addHelpText(
    'after',
    `\nParts:\n${PARTS.map(({ name }) => `  ${name}\n`).join('')}\nExample: npm run torture -- --short kill power`,
  )
  .parse();
const options = program.opts<{ readonly short: boolean; readonly seed: string }>();
const words = program.args;

const chosen = PARTS.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
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
  console.log(
    `${problems.length === 0 ? 'holds  ' : 'FAILED '}  ${part.name}: ${summary} (${seconds} s)`,
  );
  for (const problem of problems) console.log(`           ${problem}`);
  if (problems.length === 0) held++;
  else failed++;
}
console.log(
  `\ntorture: ${held} held, ${failed} failed, ${skipped} skipped (seed ` +
    `${options.seed}${options.short ? ', short form' : ''})`,
);
process.exit(failed === 0 ? 0 : 1);
