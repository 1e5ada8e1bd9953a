// `npm run nightly`: runs everything that `npm test` does not, one step after the other, and writes
// one page with what changed since each step's last run. A failing step does not end the run.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';
import { parseFlags } from '../flags.ts';
import { mergeResults, nightPage, type StepResult } from './report.ts';
import { runStep } from './run-step.ts';
import { NETWORK_FLAG, steps } from './steps.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run nightly -- [flags]
  --only REGEX    only steps whose name matches; the others keep the results of their last run
  --short         each step in its short form, some minutes each; nothing is recorded in docs/
  --network N     from 0 to 3 (default 0): the addresses of conformance runs, if others run beside them
  --list          print the steps and their commands, and end
  --output DIR    where the page, its data and the logs go (default .cache/nightly,
                  or .cache/nightly-short)

It takes a night on two cores, and needs a machine of its own: upstream's programs are built with Go, and
containers, network namespaces and etcd are used. What is missing fails its step.
`;
const GRACE_MS = 300_000;

/** Ends the process if the text is no regular expression. */
function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    process.stderr.write(`nightly: --only: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

const flags = parseFlags('nightly', usage, {
  only: { type: 'string' },
  list: { type: 'boolean', default: false },
  short: { type: 'boolean', default: false },
  network: { type: 'string', default: '0' },
  output: { type: 'string' },
});
const only = patternOf(flags.only ?? '');
if (!/^[0-3]$/.test(flags.network)) {
  process.stderr.write('nightly: --network: a number from 0 to 3 was expected\n');
  process.exit(2);
}
const chosen = steps
  .filter(({ name }) => only.test(name))
  .map((step) => ({
    ...step,
    command: [
      ...(flags.short ? step.short : step.command),
      ...(step.takesNetwork === true ? [NETWORK_FLAG, flags.network] : []),
    ],
  }));
const output = flags.output ?? join(root, '.cache', flags.short ? 'nightly-short' : 'nightly');
if (chosen.length === 0) {
  process.stderr.write(`nightly: no step has a name that matches ${flags.only}\n`);
  process.exitCode = 2;
} else if (flags.list)
  for (const { name, command } of chosen) process.stdout.write(`${name}\t${command.join(' ')}\n`);
else {
  mkdirSync(output, { recursive: true });
  const data = join(output, 'steps.json');
  const page = join(output, 'nightly.md');
  const earlier = existsSync(data) ? (JSON.parse(readFileSync(data, 'utf8')) as StepResult[]) : [];
  const results: StepResult[] = [];
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const git = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' });
  for (const { name, command, minutes } of chosen) {
    if (stop.signal.aborted) break;
    process.stderr.write(`${name} …\n`);
    const outcome = await runStep({
      command,
      cwd: root,
      logFile: join(output, `${name.replaceAll(/\W+/g, '-')}.log`),
      limitMs: minutes * 60_000,
      graceMs: GRACE_MS,
      signal: stop.signal,
    });
    // A step that the user has ended has no result.
    if (stop.signal.aborted) break;
    const date = new Date(systemClock.now()).toISOString();
    results.push({ name, date, commit: (git.stdout ?? '').trim(), ...outcome });
    // Written after each step: a run that is interrupted has a page, too.
    const names = steps.map((step) => step.name);
    writeFileSync(page, nightPage(names, results, earlier));
    writeFileSync(data, JSON.stringify(mergeResults(earlier, results), undefined, 2));
  }
  if (results.length > 0) process.stdout.write(readFileSync(page, 'utf8'));
  if (stop.signal.aborted || results.some(({ status }) => status !== 0)) process.exitCode = 1;
}
