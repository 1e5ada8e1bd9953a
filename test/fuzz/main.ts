// `npm run fuzz`: sends random objects through every encoding, and invalid bodies through the API
// server. Prints the problems; fails if there are any.

import { parseFlags } from '../../tools/flags.ts';
import { sendBodies } from './bodies.ts';
import { roundTrips } from './round-trips.ts';
import { sendLongTexts } from './texts.ts';

const usage = `usage: npm run fuzz -- [flags]
  --fills N    random objects of each kind, through JSON, protobuf and conversion and back (default 1000)
  --bodies N   wrong bodies (JSON, YAML, protobuf, each kind of patch) sent to an API server (default 10000)
  --every N    one of so many fields has long texts and lists (default 1)
  --minutes N  ends the long texts and lists after so many minutes; 0: when all were sent (default 0)
  --seed TEXT  the same text gives the same run (default long)
`;
const values = parseFlags('fuzz', usage, {
  fills: { type: 'string', default: '1000' },
  bodies: { type: 'string', default: '10000' },
  every: { type: 'string', default: '1' },
  minutes: { type: 'string', default: '0' },
  seed: { type: 'string', default: 'long' },
});

const count = (name: 'fills' | 'bodies' | 'every' | 'minutes'): number => {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${name} must be a number of at least 0, not '${values[name]}'`);
  process.exit(2);
};

const terminal = process.stderr.isTTY;
const progress = (text: string): void => {
  if (terminal) process.stderr.write(`\r\u001b[K${text}`);
};

const trips = roundTrips({
  fills: count('fills'),
  seed: values.seed,
  progress: (kind) => progress(`round trips: ${kind}`),
});
progress('');
console.log(
  `${trips.objects} objects of ${trips.kinds} kinds, ${trips.conversions} conversions: ` +
    `${trips.problems.length} came back changed`,
);
for (const problem of trips.problems) console.log(problem);

const bodies = await sendBodies({
  count: count('bodies'),
  seed: values.seed,
  progress: (sent) => progress(`bodies: ${sent}`),
});
progress('');
const codes = [...bodies.codes]
  .sort(([a], [b]) => a - b)
  .map(([code, times]) => `${code}: ${times}`);
console.log(
  `bodies answered with ${codes.join(', ')}; the longest turn took ` +
    `${bodies.slowestMs.toFixed(0)} ms; ${bodies.problems.length} problems`,
);
for (const problem of bodies.problems) console.log(problem);

const texts = await sendLongTexts({
  every: count('every'),
  progress: (sent) => progress(`long texts: ${sent}`),
  onProblem: (problem) => {
    progress('');
    console.log(problem);
  },
  ...(count('minutes') > 0 && { limitMs: count('minutes') * 60_000 }),
});
progress('');
console.log(
  `${texts.sent} long texts and lists${texts.isPartial ? ', not all' : ''}; the longest turn ` +
    `took ${texts.slowestMs.toFixed(0)} ms; ${texts.problems.length} problems`,
);

process.exitCode =
  trips.problems.length + bodies.problems.length + texts.problems.length > 0 ? 1 : 0;
