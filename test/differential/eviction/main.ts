// Compares our eviction manager with upstream's on random cases, and records upstream's answers:
// `npx tsx test/differential/eviction/main.ts [CASES [SEED [ANSWERS-FILE]]]`.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { ensureOracle } from './build.ts';
import { makeCases } from './cases.ts';
import { play, type Answer } from './replay.ts';

const [count = '1000', seed = 'eviction', file] = process.argv.slice(2);
const oracle = ensureOracle((text) => console.error(text));
const cases = makeCases(seed, Number(count));
const output = execFileSync(oracle, {
  input: JSON.stringify(cases),
  maxBuffer: 2 ** 30,
  encoding: 'utf8',
  stdio: ['pipe', 'pipe', 'ignore'],
});
/** By case and step: all answers that upstream has given. */
const answers = JSON.parse(output) as readonly (readonly (readonly Answer[])[])[];
let steps = 0;
let evictions = 0;
let differences = 0;
for (const [index, one] of cases.entries()) {
  for (const [step, ours] of (await play(one)).entries()) {
    const theirs = answers[index]?.[step] ?? [];
    steps++;
    evictions += ours.Kills.length;
    if (theirs.some((answer) => isDeepStrictEqual(answer, ours))) continue;
    differences++;
    if (differences > 3) continue;
    process.stdout.write(`case ${index}, step ${step}:\nours: ${JSON.stringify(ours)}\n`);
    for (const answer of theirs) process.stdout.write(`upstream: ${JSON.stringify(answer)}\n`);
  }
}
process.stdout.write(
  `${cases.length} cases, ${steps} steps, ${evictions} evictions, ${differences} differences\n`,
);
if (file !== undefined) writeFileSync(file, `${JSON.stringify(answers)}\n`);
if (differences > 0) process.exitCode = 1;
